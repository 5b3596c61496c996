// OpenGL's memory as messages: rectangles of textures, renderbuffers and framebuffers, between ranks. The library
// dcgn::pixels has it.
//
//   dcgn::pixels::ImageComm images(comm);
//   const dcgn::pixels::Pixels frame{dcgn::pixels::Image::texture(texture), GL_RGBA, GL_UNSIGNED_BYTE};
//   if (comm.rank() == 0) images.send(frame, 1);
//   if (comm.rank() == 1) images.recv(frame, 0);
//
// A message is the rectangle's pixels, rows one after the other, of elements that the GL type says (a type that packs
// components: of its words). So the other end may be any of Comm's calls: memory of a datatype, a slot. Source: Lawlor,
// "cudaMPI and glMPI: Message Passing for GPGPU Clusters", 2009, whose glMPI_Send and glMPI_Recv these are.
#pragma once

#include <dcgn/comm.hpp>
#include <dcgn/element.hpp>
#include <dcgn/error.hpp>
#include <dcgn/pixels/compression.hpp>
#include <dcgn/pixels/image.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace dcgn::pixels {

// How pixels come from an image into memory that messages know, and back.
enum class Path {
  automatic,  // interop, where it can be; else pinned
  copy,       // read into and drawn from memory of the host
  pinned,     // by a pixel buffer object that GL and the host both reach, while others are on their way
  interop,    // by a pixel buffer object of the context's CUDA device, which sends it from its memory
};
std::string to_string(Path path);

// Of an ImageComm.
struct Options {
  Path path = Path::automatic;
  // Of sends and receives longer than this: they go as several messages of whole rows, of no more bytes if a row has
  // no more, so that reading, sending and drawing overlap. 0: as one. Both ends must say the same.
  std::int64_t tile_bytes = 0;
  // Of sends and receives; both ends must use some. What comes then is no longer the pixels, so both must be of
  // ImageComms. Nothing is compressed by calls of all ranks.
  Compression compression = Compression::none;
  int jpeg_quality = 0;         // 1 .. 100 allows what loses; 0: nothing is lost
  double link_bytes_per_s = 0;  // for Compression::automatic; or from measure_link()
};

// What came of a call.
struct Moved : Status {
  Path path = Path::automatic;                  // the one taken
  Compression compression = Compression::none;  // likewise; of the most bytes, where parts differ
  std::int64_t wire_bytes = 0;                  // that were sent, or came
};

// A send or receive that has begun, of the ImageComm that began it.
class ImageRequest {
 public:
  ImageRequest() = default;

 private:
  friend class ImageComm;
  explicit ImageRequest(std::uint64_t number) : number_(number) {}
  std::uint64_t number_ = 0;
};

// A Comm whose buffers are pixels. It belongs to the thread of the Comm and to the OpenGL context that is current where
// it is made; both must last longer. All state of GL is as it was after each call; nothing is drawn with the program's
// own. Calls throw Error besides what Comm's throw:
//   device        no context is current, or another one; GL reports an error, or had one to report before
//   invalid_size  the rectangle is not all inside the image
//   invalid_type  no such format and type, or not of what the image holds; elements that a reduction cannot combine
//   truncated     the message has more bytes than the rectangle
//   mismatch      it has fewer
//   unsupported   several samples, compressed textures; a path that is not there
class ImageComm {
 public:
  // Throws Error(device) unless a context of OpenGL 4.5 or newer is current, unsupported where the path asked for, or
  // the compression, cannot be.
  explicit ImageComm(Comm& comm, const Options& options = {});
  ImageComm(const ImageComm&) = delete;
  ImageComm& operator=(const ImageComm&) = delete;
  // Waits for what was begun; with its context current, its buffers go.
  ~ImageComm();

  Comm& comm() const noexcept;
  const Options& options() const noexcept;
  // The path that calls take.
  Path path() const noexcept;

  // Comm::send() and recv(). The image may be drawn to when send() returns. A receive fills the rectangle alone.
  Moved send(const Pixels& from, int to, int tag = 0);
  Moved recv(const Pixels& into, int from, int tag = 0);

  // Begun: what is read is what the image holds now, and it may be drawn to at once; what is received is in the image
  // when it has been waited for. Sends of an ImageComm overtake each other no more than Comm's do, but those of the
  // Comm itself may overtake them: they leave when their pixels have been read and this rank is in a call here, or of
  // another ImageComm of the same context.
  ImageRequest isend(const Pixels& from, int to, int tag = 0);
  ImageRequest irecv(const Pixels& into, int from, int tag = 0);
  std::optional<Moved> test(const ImageRequest& request);
  // A request that has been waited for is complete: nothing has moved.
  Moved wait(const ImageRequest& request);

  // ---- by all ranks, in the same order
  // Ranks may give images and rectangles of any kind, with as many elements of one kind. Each says which path it took.
  Path broadcast(const Pixels& image, int root);
  // Rank r's pixels come into into[r] of the root, which alone needs `into`; each rank may have a size of its own.
  // Throws Error(invalid_size) unless the root names one for each rank.
  Path gather(const Pixels& from, const std::vector<Pixels>& into, int root);

  // Elements are combined by `op`, which takes uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, half or float as
  // the type says: Sum wraps around for integers. Only the root needs `into`. Computed on the host.
  // Throws Error(invalid_type) for types that pack components, and for elements that `op` does not take.
  template <class Op>
  void reduce(const Pixels& from, const Pixels& into, const Op& op, int root) {
    constexpr const char* name = "pixels::reduce";
    with_elements(name, from, comm().rank() == root ? &into : nullptr, [&]<class T>(std::vector<T>& values) {
      if constexpr (takes<Op, T>)
        comm().reduce(values, values, op, root);
      else
        refuse_elements(name, Datatype::of<T>());
    });
  }
  template <class Op>
  void all_reduce(const Pixels& from, const Pixels& into, const Op& op) {
    constexpr const char* name = "pixels::all_reduce";
    with_elements(name, from, &into, [&]<class T>(std::vector<T>& values) {
      if constexpr (takes<Op, T>)
        comm().all_reduce(values, op);
      else
        refuse_elements(name, Datatype::of<T>());
    });
  }
  template <class Op>
  void all_reduce(const Pixels& image, const Op& op) {
    all_reduce(image, image, op);
  }

  // Of sort-last rendering: at each pixel of the rectangle the color of the rank whose depth is least, that of the
  // lowest rank where several are, and this depth, at the root. Colors travel as 4 unsigned bytes, depths as floats.
  void composite(const Image& color, const Image& depth, const Rectangle& rectangle, int root);

  // By two ranks, each naming the other: what a second carries between them, in bytes, which Compression::automatic
  // weighs compressing against from then on.
  double measure_link(int peer);
  // What Compression::automatic chose from, as last measured.
  const CompressionCost& cost(Compression compression) const;

 private:
  // Reads the pixels as elements of the kind, has `act` change them, and fills `into`, if given, with them.
  template <class Act>
  void with_elements(const char* operation, const Pixels& from, const Pixels* into, const Act& act) {
    switch (element_kind(operation, from, into)) {
      case ElementKind::uint8: return with<std::uint8_t>(operation, from, into, act);
      case ElementKind::int8: return with<std::int8_t>(operation, from, into, act);
      case ElementKind::uint16: return with<std::uint16_t>(operation, from, into, act);
      case ElementKind::int16: return with<std::int16_t>(operation, from, into, act);
      case ElementKind::uint32: return with<std::uint32_t>(operation, from, into, act);
      case ElementKind::int32: return with<std::int32_t>(operation, from, into, act);
      case ElementKind::float16: return with<half>(operation, from, into, act);
      case ElementKind::float32: return with<float>(operation, from, into, act);
      case ElementKind::byte:
      case ElementKind::boolean:
      case ElementKind::int64:
      case ElementKind::uint64:
      case ElementKind::bf16:
      case ElementKind::float64:
      case ElementKind::complex64:
      case ElementKind::complex128: break;  // GL has none
    }
  }
  template <class T, class Act>
  void with(const char* operation, const Pixels& from, const Pixels* into, const Act& act) {
    std::vector<T> values(static_cast<std::size_t>(byte_count(operation, from)) / sizeof(T));
    read(operation, from, values.data());
    act(values);
    if (into) write(operation, *into, values.data());
  }
  template <class Op, class T>
  static constexpr bool takes = std::is_invocable_r_v<T, const Op&, const T&, const T&>;
  [[noreturn]] static void refuse_elements(const char* operation, const Datatype& element);
  // Throws unless both have as many elements of one kind, not packed.
  static ElementKind element_kind(const char* operation, const Pixels& from, const Pixels* into);
  static std::int64_t byte_count(const char* operation, const Pixels& pixels);
  void read(const char* operation, const Pixels& from, void* memory);
  void write(const char* operation, const Pixels& into, const void* memory);

  class State;
  std::unique_ptr<State> state_;
};

}  // namespace dcgn::pixels
