#include "pixels/src/jpeg.hpp"

#include <dcgn/error.hpp>

#include <memory>
#include <string>

#if defined(DCGN_HAS_JPEG)
#include <turbojpeg.h>
#endif

namespace dcgn::pixels {

#if defined(DCGN_HAS_JPEG)

namespace {

class Handle {
 public:
  explicit Handle(tjhandle handle) : handle_(handle) {
    if (!handle) throw Error(Code::out_of_resources, "pixels::jpeg", "libjpeg-turbo could not be set up");
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { tjDestroy(handle_); }
  operator tjhandle() const { return handle_; }

 private:
  tjhandle handle_;
};

int format_of(JpegColors colors) {
  switch (colors) {
    case JpegColors::rgb: return TJPF_RGB;
    case JpegColors::bgr: return TJPF_BGR;
    case JpegColors::rgba: return TJPF_RGBA;
    case JpegColors::bgra: return TJPF_BGRA;
  }
  return TJPF_UNKNOWN;
}

}  // namespace

void append_jpeg(const std::byte* memory, const JpegImage& image, int quality, std::vector<std::byte>& out) {
  thread_local const Handle handle(tjInitCompress());
  const std::size_t before = out.size();
  unsigned long bytes = tjBufSize(image.width, image.height, TJSAMP_420);
  out.resize(before + bytes);
  auto* packed = reinterpret_cast<unsigned char*>(out.data() + before);
  if (tjCompress2(handle, reinterpret_cast<const unsigned char*>(memory), image.width, 0, image.height,
                  format_of(image.colors), &packed, &bytes, TJSAMP_420, quality, TJFLAG_NOREALLOC) != 0)
    throw Error(Code::out_of_resources, "pixels::compress", std::string("libjpeg-turbo: ") + tjGetErrorStr2(handle));
  out.resize(before + bytes);
}

bool expand_jpeg(const std::byte* packed, std::size_t packed_bytes, const JpegImage& image, std::byte* memory) {
  thread_local const Handle handle(tjInitDecompress());
  const auto* const bytes = reinterpret_cast<const unsigned char*>(packed);
  int width = 0, height = 0, subsampling = 0, space = 0;
  if (tjDecompressHeader3(handle, bytes, packed_bytes, &width, &height, &subsampling, &space) != 0 ||
      width != image.width || height != image.height)
    return false;
  return tjDecompress2(handle, bytes, packed_bytes, reinterpret_cast<unsigned char*>(memory), width, 0, height,
                       format_of(image.colors), 0) == 0;
}

#else

void append_jpeg(const std::byte*, const JpegImage&, int, std::vector<std::byte>&) {
  throw Error(Code::unsupported, "pixels::compress",
              "this build has no libjpeg-turbo: scripts/install-packages pixels");
}
bool expand_jpeg(const std::byte*, std::size_t, const JpegImage&, std::byte*) {
  throw Error(Code::unsupported, "pixels::decompress",
              "this build has no libjpeg-turbo: scripts/install-packages pixels");
}

#endif

}  // namespace dcgn::pixels
