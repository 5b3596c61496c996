// Copies and fills: where they write a buffer of all GPUs or a constant, the virtual GPU hears of it; long ones of such
// buffers are made by all GPUs, each for its own pages.
#include "vgpu/src/driver/program.hpp"
#include "vgpu/src/driver/real.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

// Both forms of a function of the driver: for a null stream that means the legacy default stream, and the thread's own.
// In the body, `real` is the driver's, and meant(s) the stream that s means; `suffix` is _ptds where there is none.
#define DCGN_BOTH(name, suffix, parameters, ...)                     \
  CUresult name parameters {                                         \
    [[maybe_unused]] static constexpr bool own_thread = false;       \
    const auto real = DCGN_REAL(name);                               \
    __VA_ARGS__                                                      \
  }                                                                  \
  CUresult name##suffix parameters {                                 \
    [[maybe_unused]] static constexpr bool own_thread = true;        \
    const auto real = DCGN_REAL_AS(decltype(::name), #name #suffix); \
    __VA_ARGS__                                                      \
  }

namespace {

using namespace dcgn::virtual_gpu::driver;
using dcgn::virtual_gpu::Gpu;

// The stream that null means.
CUstream none(bool own_thread) { return own_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY; }
CUstream meant(bool own_thread, CUstream stream) { return stream ? stream : none(own_thread); }

const void* pointer(CUdeviceptr address) { return reinterpret_cast<const void*>(address); }

// Whether all buffers lie on the first GPU, so that a call needs nothing but itself. In flight.
bool needs_nothing(Program& program, CUstream stream) {
  if (!program.measured().local()) return false;
  thread_local bool noted = false;
  if (const bool own = stream == CU_STREAM_PER_THREAD && !noted; own || !program.on_first_device()) {
    const Call call;
    if (own) program.measured().note_thread_stream();
    noted = noted || own;
    if (program.on_other_device()) program.note_other_device();
  }
  return true;
}

// Behind the real call that writes these bytes. Whether constants were among them, which now go to the other parts.
bool note(Program& program, const void* to, const void* from, std::size_t bytes, CUstream stream) {
  Gpu& gpu = *program.gpu_if_made();
  gpu.note_written(to, program.stream(stream));
  if (from) program.report().note_copy(gpu.bytes_between_parts(to, from, bytes));
  return !captures(stream) && program.repeat_constants(stream, to, bytes);
}

// Whether the bytes are of a buffer whose pages there are on several GPUs.
bool spans(const Gpu& gpu, const void* memory, std::size_t bytes) {
  const std::byte* begin = nullptr;
  const auto* const buffer = gpu.buffer_with(memory, begin);
  if (!buffer) return false;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(memory) - begin);
  const auto& extent = buffer->pages.extent_of(offset);
  return offset + bytes > extent.offset + extent.bytes;
}

bool applies(Program& program) {
  if (!program.gpu_if_made()) return false;
  if (program.on_first_device()) return true;
  program.note_other_device();
  return false;
}

// Behind a real call, which is made without a Call: it may wait for work that another thread of the program lets go.
template <class Note>
CUresult after(CUresult result, CUstream stream, Note&& note) {
  if (result != CUDA_SUCCESS) return result;
  bool unfinished = false;
  {
    Call call;
    unfinished = applies(call.program()) && note(call.program());
  }
  return unfinished ? DCGN_REAL(cuStreamSynchronize)(stream) : result;
}

// Whether a copy reads or writes memory that is not pinned, so that the driver waits for the stream before it.
bool is_pageable(const Gpu& gpu, const void* memory) {
  const std::byte* begin = nullptr;
  return memory && !gpu.buffer_with(memory, begin) &&
         gpu.machine().memory_at(reinterpret_cast<std::uintptr_t>(memory)) == dcgn::virtual_gpu::MemoryKind::none;
}

// A copy in the order of a stream. `from` is null where it does not matter.
template <class Real>
CUresult copy(const void* to, const void* from, std::size_t bytes, CUstream stream, bool waits, Real&& real) {
  const InFlight here(Program::get());
  std::optional<Waiting> waiting;
  if (waits) waiting.emplace();
  if (needs_nothing(Program::get(), stream)) return real();
  const CUresult result = guarded("copy", [&] {
    bool by_parts = false, pageable = false;
    {
      Call call;
      Program& program = call.program();
      if (applies(program)) {
        const Gpu& gpu = *program.gpu();
        by_parts = !captures(stream) && (spans(gpu, to, bytes) || spans(gpu, from, bytes));
        pageable = by_parts && (is_pageable(gpu, to) || is_pageable(gpu, from));
      }
    }
    if (!by_parts)
      return after(real(), stream, [&](Program& program) {
        const bool constants = note(program, to, from, bytes, stream);
        return waits && constants;
      });
    if (pageable) {
      const CUresult before = DCGN_REAL(cuStreamSynchronize)(stream);
      if (before != CUDA_SUCCESS) return before;
    }
    {
      Call call;
      Program& program = call.program();
      program.gpu()->copy_beside(program.stream(stream), const_cast<void*>(to), from, bytes);
      note(program, to, from, bytes, stream);
    }
    return waits ? DCGN_REAL(cuStreamSynchronize)(stream) : CUDA_SUCCESS;
  });
  return waits && result == CUDA_SUCCESS ? error_of_others() : result;
}

// A call that writes from there on, somehow. `waits`: until it has, as the driver's does.
template <class Real>
CUresult write(const void* to, std::size_t bytes, CUstream stream, bool waits, Real&& real) {
  const InFlight here(Program::get());
  std::optional<Waiting> waiting;
  if (waits) waiting.emplace();
  if (needs_nothing(Program::get(), stream)) return real();
  return guarded("fill", [&] {
    return after(real(), stream, [&](Program& program) {
      const bool constants = note(program, to, nullptr, bytes, stream);
      return waits && constants;
    });
  });
}

// One that reads alone.
template <class Real>
CUresult read(CUstream stream, Real&& real) {
  const InFlight here(Program::get());
  static_cast<void>(needs_nothing(Program::get(), stream));
  return real();
}

template <class Real>
CUresult fill(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream, Real&& real) {
  const InFlight here(Program::get());
  if (needs_nothing(Program::get(), stream)) return real();
  return guarded("fill", [&] {
    {
      Call call;
      Program& program = call.program();
      if (applies(program) && !captures(stream) && spans(*program.gpu(), pointer(to), bytes)) {
        program.gpu()->fill_beside(program.stream(stream), reinterpret_cast<void*>(to), value, bytes);
        return CUDA_SUCCESS;
      }
    }
    return after(real(), stream, [&](Program& program) {
      note(program, pointer(to), nullptr, bytes, stream);
      return false;
    });
  });
}

// Rows lie `pitch` bytes apart.
std::size_t extent_of(std::size_t pitch, std::size_t width, std::size_t height) {
  return height == 0 ? 0 : pitch * (height - 1) + width;
}

template <class Copy2D, class Real>
CUresult copy_rows(const Copy2D* copy, CUstream stream, bool waits, Real&& real) {
  const bool to_memory =
      copy && (copy->dstMemoryType == CU_MEMORYTYPE_DEVICE || copy->dstMemoryType == CU_MEMORYTYPE_UNIFIED);
  if (!to_memory) return read(stream, std::forward<Real>(real));
  const CUdeviceptr to = copy->dstDevice + copy->dstY * copy->dstPitch + copy->dstXInBytes;
  return write(pointer(to), extent_of(copy->dstPitch, copy->WidthInBytes, copy->Height), stream, waits,
               std::forward<Real>(real));
}

template <class Copy3D, class Real>
CUresult copy_planes(const Copy3D* copy, CUstream stream, bool waits, Real&& real) {
  const bool to_memory =
      copy && (copy->dstMemoryType == CU_MEMORYTYPE_DEVICE || copy->dstMemoryType == CU_MEMORYTYPE_UNIFIED);
  if (!to_memory) return read(stream, std::forward<Real>(real));
  const std::size_t plane = copy->dstPitch * copy->dstHeight;
  const CUdeviceptr to = copy->dstDevice + copy->dstZ * plane + copy->dstY * copy->dstPitch + copy->dstXInBytes;
  const std::size_t bytes =
      copy->Depth == 0 ? 0 : plane * (copy->Depth - 1) + extent_of(copy->dstPitch, copy->WidthInBytes, copy->Height);
  return write(pointer(to), bytes, stream, waits, std::forward<Real>(real));
}

// Calls that write wherever they are told to.
template <class Real>
CUresult write_anything(CUstream stream, Real&& real) {
  const InFlight here(Program::get());
  if (needs_nothing(Program::get(), stream)) return real();
  return guarded("copy", [&] {
    return after(real(), stream, [&](Program& program) {
      program.gpu()->note_all_written(program.stream(stream));
      if (!captures(stream)) program.repeat_all_constants(stream);
      return false;
    });
  });
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

DCGN_BOTH(cuMemcpy, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes), {
  return copy(pointer(to), pointer(from), bytes, none(own_thread), true, [&] { return real(to, from, bytes); });
})
DCGN_BOTH(cuMemcpyAsync, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), {
  return copy(pointer(to), pointer(from), bytes, meant(own_thread, stream), false,
              [&] { return real(to, from, bytes, stream); });
})
DCGN_BOTH(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr to, const void* from, size_t bytes),
          { return copy(pointer(to), from, bytes, none(own_thread), true, [&] { return real(to, from, bytes); }); })
DCGN_BOTH(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream), {
  return copy(pointer(to), from, bytes, meant(own_thread, stream), false,
              [&] { return real(to, from, bytes, stream); });
})
DCGN_BOTH(cuMemcpyDtoH_v2, _ptds, (void* to, CUdeviceptr from, size_t bytes),
          { return copy(to, pointer(from), bytes, none(own_thread), true, [&] { return real(to, from, bytes); }); })
DCGN_BOTH(cuMemcpyDtoHAsync_v2, _ptsz, (void* to, CUdeviceptr from, size_t bytes, CUstream stream), {
  return copy(to, pointer(from), bytes, meant(own_thread, stream), false,
              [&] { return real(to, from, bytes, stream); });
})
DCGN_BOTH(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes), {
  return copy(pointer(to), pointer(from), bytes, none(own_thread), false, [&] { return real(to, from, bytes); });
})
DCGN_BOTH(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), {
  return copy(pointer(to), pointer(from), bytes, meant(own_thread, stream), false,
              [&] { return real(to, from, bytes, stream); });
})
DCGN_BOTH(cuMemcpyPeer, _ptds, (CUdeviceptr to, CUcontext its, CUdeviceptr from, CUcontext other, size_t bytes), {
  return write(pointer(to), bytes, none(own_thread), true, [&] { return real(to, its, from, other, bytes); });
})
DCGN_BOTH(cuMemcpyPeerAsync, _ptsz,
          (CUdeviceptr to, CUcontext its, CUdeviceptr from, CUcontext other, size_t bytes, CUstream stream), {
            return write(pointer(to), bytes, meant(own_thread, stream), false,
                         [&] { return real(to, its, from, other, bytes, stream); });
          })

DCGN_BOTH(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* its),
          { return copy_rows(its, none(own_thread), true, [&] { return real(its); }); })
DCGN_BOTH(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* its),
          { return copy_rows(its, none(own_thread), true, [&] { return real(its); }); })
DCGN_BOTH(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* its, CUstream stream),
          { return copy_rows(its, meant(own_thread, stream), false, [&] { return real(its, stream); }); })
DCGN_BOTH(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* its),
          { return copy_planes(its, none(own_thread), true, [&] { return real(its); }); })
DCGN_BOTH(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* its, CUstream stream),
          { return copy_planes(its, meant(own_thread, stream), false, [&] { return real(its, stream); }); })
DCGN_BOTH(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER* its),
          { return copy_planes(its, none(own_thread), true, [&] { return real(its); }); })
DCGN_BOTH(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER* its, CUstream stream),
          { return copy_planes(its, meant(own_thread, stream), false, [&] { return real(its, stream); }); })
DCGN_BOTH(cuMemcpyAtoD_v2, _ptds, (CUdeviceptr to, CUarray from, size_t offset, size_t bytes),
          { return write(pointer(to), bytes, none(own_thread), true, [&] { return real(to, from, offset, bytes); }); })
DCGN_BOTH(cuMemcpyDtoA_v2, _ptds, (CUarray to, size_t offset, CUdeviceptr from, size_t bytes),
          { return read(none(own_thread), [&] { return real(to, offset, from, bytes); }); })
DCGN_BOTH(cuMemcpyBatchAsync_v2, _ptsz,
          (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t count, CUmemcpyAttributes* attributes,
           size_t* indices, size_t attribute_count, CUstream stream),
          {
            return write_anything(meant(own_thread, stream), [&] {
              return real(to, from, bytes, count, attributes, indices, attribute_count, stream);
            });
          })
DCGN_BOTH(cuMemcpy3DBatchAsync_v2, _ptsz,
          (size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, unsigned long long flags, CUstream stream),
          { return write_anything(meant(own_thread, stream), [&] { return real(count, operations, flags, stream); }); })
// The forms before CUDA 13.
#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync
CUresult cuMemcpyBatchAsync(CUdeviceptr*, CUdeviceptr*, size_t*, size_t, CUmemcpyAttributes*, size_t*, size_t, size_t*,
                            CUstream);
CUresult cuMemcpy3DBatchAsync(size_t, CUDA_MEMCPY3D_BATCH_OP*, size_t*, unsigned long long, CUstream);
DCGN_BOTH(cuMemcpyBatchAsync, _ptsz,
          (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t count, CUmemcpyAttributes* attributes,
           size_t* indices, size_t attribute_count, size_t* failed, CUstream stream),
          {
            return write_anything(meant(own_thread, stream), [&] {
              return real(to, from, bytes, count, attributes, indices, attribute_count, failed, stream);
            });
          })
DCGN_BOTH(cuMemcpy3DBatchAsync, _ptsz,
          (size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed, unsigned long long flags, CUstream stream),
          {
            return write_anything(meant(own_thread, stream),
                                  [&] { return real(count, operations, failed, flags, stream); });
          })
DCGN_BOTH(cuStreamWriteValue32_v2, _ptsz, (CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned flags), {
  return write(pointer(to), sizeof value, meant(own_thread, stream), false,
               [&] { return real(stream, to, value, flags); });
})
DCGN_BOTH(cuStreamWriteValue64_v2, _ptsz, (CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned flags), {
  return write(pointer(to), sizeof value, meant(own_thread, stream), false,
               [&] { return real(stream, to, value, flags); });
})
DCGN_BOTH(cuStreamBatchMemOp_v2, _ptsz,
          (CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned flags),
          { return write_anything(meant(own_thread, stream), [&] { return real(stream, count, operations, flags); }); })

DCGN_BOTH(cuMemsetD8_v2, _ptds, (CUdeviceptr to, unsigned char value, size_t count),
          { return fill(to, value, count, none(own_thread), [&] { return real(to, value, count); }); })
DCGN_BOTH(cuMemsetD8Async, _ptsz, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
          { return fill(to, value, count, meant(own_thread, stream), [&] { return real(to, value, count, stream); }); })
DCGN_BOTH(cuMemsetD16_v2, _ptds, (CUdeviceptr to, unsigned short value, size_t count),
          { return write(pointer(to), 2 * count, none(own_thread), false, [&] { return real(to, value, count); }); })
DCGN_BOTH(cuMemsetD16Async, _ptsz, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream), {
  return write(pointer(to), 2 * count, meant(own_thread, stream), false,
               [&] { return real(to, value, count, stream); });
})
DCGN_BOTH(cuMemsetD32_v2, _ptds, (CUdeviceptr to, unsigned value, size_t count),
          { return write(pointer(to), 4 * count, none(own_thread), false, [&] { return real(to, value, count); }); })
DCGN_BOTH(cuMemsetD32Async, _ptsz, (CUdeviceptr to, unsigned value, size_t count, CUstream stream), {
  return write(pointer(to), 4 * count, meant(own_thread, stream), false,
               [&] { return real(to, value, count, stream); });
})
DCGN_BOTH(cuMemsetD2D8_v2, _ptds, (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height), {
  return write(pointer(to), extent_of(pitch, width, height), none(own_thread), false,
               [&] { return real(to, pitch, value, width, height); });
})
DCGN_BOTH(cuMemsetD2D8Async, _ptsz,
          (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream), {
            return write(pointer(to), extent_of(pitch, width, height), meant(own_thread, stream), false,
                         [&] { return real(to, pitch, value, width, height, stream); });
          })
DCGN_BOTH(cuMemsetD2D16_v2, _ptds, (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height), {
  return write(pointer(to), extent_of(pitch, 2 * width, height), none(own_thread), false,
               [&] { return real(to, pitch, value, width, height); });
})
DCGN_BOTH(cuMemsetD2D16Async, _ptsz,
          (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream), {
            return write(pointer(to), extent_of(pitch, 2 * width, height), meant(own_thread, stream), false,
                         [&] { return real(to, pitch, value, width, height, stream); });
          })
DCGN_BOTH(cuMemsetD2D32_v2, _ptds, (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height), {
  return write(pointer(to), extent_of(pitch, 4 * width, height), none(own_thread), false,
               [&] { return real(to, pitch, value, width, height); });
})
DCGN_BOTH(cuMemsetD2D32Async, _ptsz,
          (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream), {
            return write(pointer(to), extent_of(pitch, 4 * width, height), meant(own_thread, stream), false,
                         [&] { return real(to, pitch, value, width, height, stream); });
          })

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
