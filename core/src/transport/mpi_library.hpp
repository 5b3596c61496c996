// The MPI of a process: which one, and the shared library of ours that speaks to it, loaded when it is needed.
#pragma once

#include "mpi_calls.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dcgn::transport {

// What a launcher (mpirun, mpiexec, srun, torchrun) has told this process in its environment.
struct Launch {
  int rank = 0;
  int size = 1;
  std::string mpi;  // "openmpi", "mpich", or "tcp": none
};

// By one for that MPI, or "tcp"; empty: by any. Nothing where the process was started by none. Throws
// Error(configuration) where what it said makes no sense.
std::optional<Launch> find_launch(const std::string& mpi);

// The number that an environment variable has. Throws Error(configuration) where it is none.
std::optional<int> environment_number(const char* variable);

// The MPI that the program itself is linked with, empty where it is with none.
std::string linked_mpi();

// The calls of that MPI, or "tcp". Loads the library for it; once loaded it stays. Throws Error(unsupported) that says
// where it was looked for.
const MpiCalls& load_mpi(const std::string& mpi);

// The names of those that can be loaded here, with the versions that they tell of themselves; for `dcgn info`.
struct FoundMpi {
  std::string mpi, library, version;  // `version` says why where `library` is empty
};
std::vector<FoundMpi> find_mpis();

// Throws Error(device) where an MPI call has failed: `what` is its name.
void check_mpi(const MpiCalls& mpi, int error, const char* what);

}  // namespace dcgn::transport
