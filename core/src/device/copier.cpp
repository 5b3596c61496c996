#include "copier.hpp"

#include "emulated/emulated_copier.hpp"
#if defined(DCGN_HAS_CUDA)
#include "cuda/cuda_copier.hpp"
#endif

namespace dcgn::device {

std::unique_ptr<Copier> make_copier(const std::vector<Device>& devices, bool p2p, std::size_t kept) {
#if defined(DCGN_HAS_CUDA)
  if (!devices.empty() && devices.front().kind() == DeviceKind::cuda) return make_cuda_copier(devices, p2p, kept);
#endif
  return make_emulated_copier(devices, p2p, kept);  // of no devices, too: host memory only
}

}  // namespace dcgn::device
