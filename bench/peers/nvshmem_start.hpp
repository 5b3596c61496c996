// How a process of NVSHMEM's starts, with MPI to tell the others of it.
#pragma once

#include "bench/peers/mpi_app.hpp"

#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace dcgn::bench::peer {

inline void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}

// Before all else: NVLink multicast can put the GPUs of a shared machine out of service; and there is but this machine.
inline bool without_multicast() {
  return ::setenv("NVSHMEM_DISABLE_NVLS", "1", 1) == 0 && ::setenv("NVSHMEM_REMOTE_TRANSPORT", "none", 1) == 0;
}

inline std::string nvshmem_library() {
  int major = 0, minor = 0, patch = 0;
  nvshmemx_vendor_get_version_info(&major, &minor, &patch);
  return "NVSHMEM " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

inline void start_nvshmem(int rank, int ranks) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices < ranks)
    throw std::runtime_error(std::to_string(devices) + " GPUs: expected " + std::to_string(ranks) + " or more");
  check(cudaSetDevice(rank), "cudaSetDevice");
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  if (rank == 0) check(nvshmemx_get_uniqueid(&id), "nvshmemx_get_uniqueid");
  check(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  check(nvshmemx_set_attr_uniqueid_args(rank, ranks, &id, &attributes), "nvshmemx_set_attr_uniqueid_args");
  check(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes), "nvshmemx_init_attr");
}

}  // namespace dcgn::bench::peer
