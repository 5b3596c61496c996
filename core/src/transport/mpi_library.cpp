#include "mpi_library.hpp"

#include "tcp/tcp_calls.hpp"

#include <dcgn/error.hpp>

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace dcgn::transport {

namespace {

constexpr std::array known = {"openmpi", "mpich"};

std::string file_of(const std::string& mpi) { return "libdcgn_mpi_" + mpi + ".so"; }

// Where the shared library may be: beside a shared libdcgn or the program, where they are installed, and where built.
std::vector<std::string> places_of(const std::string& mpi) {
  namespace fs = std::filesystem;
  std::vector<std::string> places;
  const auto add = [&](const fs::path& folder) {
    const std::string place = (folder / file_of(mpi)).lexically_normal().string();
    for (const std::string& other : places)
      if (other == place) return;
    places.push_back(place);
  };
  if (const char* folder = std::getenv("DCGN_MPI_PATH")) {
    add(folder);
    return places;
  }
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&load_mpi), &own) && own.dli_fname)
    add(fs::absolute(own.dli_fname).parent_path());  // a program is named as it was called
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  if (!program.empty()) {
    add(program);
    add(program / ".." / DCGN_LIBRARY_FOLDER);
  }
  add(DCGN_MPI_BUILT);
  add(DCGN_MPI_INSTALLED);
  places.push_back(file_of(mpi));  // as the dynamic linker looks
  return places;
}

// Whether any of the folders has it.
bool is_there(const std::string& mpi) {
  std::error_code ignored;
  for (const std::string& place : places_of(mpi))
    if (place != file_of(mpi) && std::filesystem::exists(place, ignored)) return true;
  return false;
}

struct Loaded {
  const MpiCalls* calls = nullptr;
  std::string library, tried;
};

// Stays loaded.
Loaded load(const std::string& mpi, int scope) {
  Loaded l;
  for (const std::string& place : places_of(mpi)) {
    void* const library = dlopen(place.c_str(), RTLD_NOW | scope);
    const char* const why = library ? nullptr : dlerror();
    const auto entry = library ? reinterpret_cast<const MpiCalls* (*)()>(dlsym(library, "dcgn_mpi_calls")) : nullptr;
    const MpiCalls* const calls = entry ? entry() : nullptr;
    if (calls && calls->version == MpiCalls::current_version && calls->name == mpi) {
      l.calls = calls;
      l.library = place;
      return l;
    }
    l.tried += "\n  " + (why ? std::string(why) : place + ": not the library of this version of dcgn");
  }
  return l;
}

}  // namespace

std::optional<int> environment_number(const char* variable) {
  const char* const text = std::getenv(variable);
  if (!text) return std::nullopt;
  const std::string_view all(text);
  int value = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc() || end != all.data() + all.size())
    throw Error(Code::configuration, "launch", std::string(variable) + "=" + text + ": expected a whole number");
  return value;
}

std::optional<Launch> find_launch(const std::string& mpi) {
  struct Launcher {
    const char *rank, *size, *also, *mpi;
  };
  // mpirun of Open MPI; mpiexec of MPICH and its kin; srun, which says by which protocol it speaks to the MPI;
  // torchrun, which starts programs that may know nothing of MPI.
  constexpr std::array launchers = {Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr, "openmpi"},
                                    Launcher{"PMI_RANK", "PMI_SIZE", nullptr, "mpich"},
                                    Launcher{"PMIX_RANK", "SLURM_NTASKS", nullptr, "openmpi"},
                                    Launcher{"RANK", "WORLD_SIZE", "MASTER_ADDR", "tcp"}};
  for (const Launcher& l : launchers) {
    if ((mpi == "tcp") != (l.mpi == std::string_view("tcp")) && !mpi.empty()) continue;
    if (l.also && !std::getenv(l.also)) continue;
    if (!std::getenv(l.rank) || !std::getenv(l.size)) continue;
    const int rank = environment_number(l.rank).value(), size = environment_number(l.size).value();
    if (size < 1 || rank < 0 || rank >= size)
      throw Error(Code::configuration, "launch",
                  std::string(l.rank) + "=" + std::to_string(rank) + " with " + l.size + "=" + std::to_string(size) +
                      ": expected a rank below the size");
    return Launch{rank, size, l.mpi};
  }
  if (mpi == "tcp")
    throw Error(
        Code::configuration, "launch",
        "MPI tcp, which is none, where RANK, WORLD_SIZE and MASTER_ADDR are not set; expected what torchrun sets");
  return std::nullopt;
}

std::string linked_mpi() {
  if (dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world")) return "openmpi";
  return dlsym(RTLD_DEFAULT, "MPI_Init") ? "mpich" : "";
}

const MpiCalls& load_mpi(const std::string& mpi) {
  if (mpi == "tcp") return tcp_calls();
  const Loaded l = load(mpi, RTLD_GLOBAL);  // because an MPI loads parts of its own that look for its symbols
  if (l.calls) return *l.calls;
  const std::string what = file_of(mpi) + ", which speaks to " + mpi;
  if (is_there(mpi))
    throw Error(Code::unsupported, "MPI",
                what + ", cannot be loaded; DCGN_MPI_PATH names its folder, DCGN_MPI=openmpi, mpich or off another " +
                    "MPI. Tried:" + l.tried);
  if (const char* folder = std::getenv("DCGN_MPI_PATH"))
    throw Error(Code::unsupported, "MPI",
                what + ", is not in DCGN_MPI_PATH=" + folder + "; expected its folder, or no such variable");
  std::string folders;
  for (const std::string& place : places_of(mpi))
    if (place != file_of(mpi)) folders += std::filesystem::path(place).parent_path().string() + ", ";
  throw Error(Code::unsupported, "MPI",
              what + ", is neither in " + folders + "nor where the dynamic linker looks; the build's target dcgn_mpi_" +
                  mpi + " makes it, where the mpicc of " + mpi +
                  " is; DCGN_MPI_PATH names another folder, DCGN_MPI=openmpi, mpich or off another MPI");
}

std::vector<FoundMpi> find_mpis() {
  std::vector<FoundMpi> found;
  for (const char* mpi : known) {
    if (!is_there(mpi)) {
      found.push_back({mpi, "", file_of(mpi) + " is not there"});
      continue;
    }
    const Loaded l = load(mpi, RTLD_LOCAL);  // so that one MPI does not get calls that are meant for another
    char version[256] = {};
    if (l.calls) l.calls->describe(version, sizeof version);
    found.push_back({mpi, l.library, l.calls ? version : "cannot be loaded:" + l.tried});
  }
  char text[256] = {};
  tcp_calls().describe(text, sizeof text);
  found.push_back({"tcp", "built in", text});
  return found;
}

void check_mpi(const MpiCalls& mpi, int error, const char* what) {
  if (!error) return;
  char text[512] = {};
  mpi.error_text(error, text, sizeof text);
  throw Error(Code::device, "MPI", std::string(what) + ": " + text);
}

}  // namespace dcgn::transport
