// The MPI of a process: which one, and the shared library of ours that speaks to it, loaded when it is needed.
#pragma once

#include "mpi_calls.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dcgn::transport {

// What a launcher (mpirun, mpiexec, srun) has told this process in its environment.
struct Launch {
  int rank = 0;
  int size = 1;
  std::string mpi;  // "openmpi" or "mpich"; empty: by what it said one cannot tell
};

// Nothing where the process was started by none. Throws Error(configuration) where what it said makes no sense.
std::optional<Launch> find_launch();

// The MPI that the program itself is linked with, empty where it is with none.
std::string linked_mpi();

// Loads the library for that MPI; once loaded it stays. Throws Error(unsupported) that says where it was looked for.
const MpiCalls& load_mpi(const std::string& mpi);

// The names of those that can be loaded here, with the versions that they tell of themselves; for `dcgn info`.
struct FoundMpi {
  std::string mpi, library, version;  // `version` says why where `library` is empty
};
std::vector<FoundMpi> find_mpis();

// Throws Error(device) where an MPI call has failed: `what` is its name.
void check_mpi(const MpiCalls& mpi, int error, const char* what);

}  // namespace dcgn::transport
