// PyTorch's tensors, by methods of theirs that are written in C: what __cuda_array_interface__ says of one is put
// together in Python, which takes longer than a short message.
#pragma once

#include <dcgn/pack.hpp>

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>

namespace dcgn::python {

struct TorchTensor {
  void* memory;
  std::int64_t elements, item_bytes;
  ElementKind kind;
  bool on_gpu;
};

// Of a torch.Tensor without gaps in memory of the host or a CUDA device that is no more than numbers. None of anything
// else, of what keeps a gradient and of subclasses too: other ways have to say what becomes of those.
std::optional<TorchTensor> torch_tensor(nanobind::handle array);

}  // namespace dcgn::python
