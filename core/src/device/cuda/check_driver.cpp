#include "cuda_driver.hpp"

namespace dcgn::device {

void check_driver(CUresult result, const char* operation, const char* call, int device, Code code) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  if (driver().get_error_name(result, &name) != CUDA_SUCCESS || !name) name = "an error that it does not know";
  throw DriverError(code, operation, std::string(call) + " on device " + std::to_string(device) + ": " + name, result);
}

}  // namespace dcgn::device
