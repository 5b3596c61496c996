// MPI for the GPU-as-slave versions of applications: a process for each GPU, which drives it, and copies between it and
// what MPI sends.
#pragma once

#include "bench/app_row.hpp"
#include "bench/peers/app_program.hpp"

#include <dcgn/device.hpp>

#include <mpi.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace dcgn::bench::peer {

inline void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw std::runtime_error(std::string(call) + " failed with code " + std::to_string(code));
}

inline int mpi_rank() {
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  return rank;
}
inline int mpi_size() {
  int size = 0;
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  return size;
}

// "Open MPI 4.1.4, GPU as slave".
inline std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  check(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  std::string name(text, static_cast<std::size_t>(length));
  name = name.substr(0, name.find_first_of(",\n"));
  if (const std::size_t v = name.find(" v"); v != std::string::npos) name.erase(v + 1, 1);
  return name + ", GPU as slave";
}

// Pinned memory of the host, which a GPU copies from and to at full speed.
template <class T>
class Pinned {
 public:
  Pinned(const Device& device, std::size_t count)
      : device_(device), data_(static_cast<T*>(device.allocate_host(count * sizeof(T)))) {}
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { device_.free_host(data_); }
  T* data() const { return data_; }

 private:
  Device device_;
  T* data_;
};

// Runs work(arguments) between MPI_Init and MPI_Finalize; the first process prints the row that it gives.
template <class Work>
int run_mpi_app(int argc, char** argv, const char* program, const Work& work) {
  check(MPI_Init(&argc, &argv), "MPI_Init");
  try {
    const auto row = work(AppArguments(argc, argv));
    if (mpi_rank() == 0) {
      std::puts(("[" + to_json(row).dump() + "]").c_str());
      std::fflush(stdout);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", program, e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}

}  // namespace dcgn::bench::peer
