#include "tool/doctor_checks.hpp"

#include "apps/pingpong/pingpong.hpp"
#include "dcgn_parts.hpp"
#include "tool/settings.hpp"
#include "tool/table.hpp"
#include "transport/mpi_library.hpp"

#include <dcgn/config.hpp>
#include <dcgn/device.hpp>
#include <dcgn/error.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace dcgn::tool {

namespace {

using State = Finding::State;
using Findings = std::vector<Finding>;

// The first word of a file, empty where there is none.
std::string word_in(const char* file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

// Where a program of this name is on PATH; empty: nowhere.
std::string find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::string_view folders = path ? path : "";
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    std::string file = std::string(folders.substr(0, end)) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return {};
}

bool has_library(std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [](const char* name) {
    void* const library = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library) ::dlclose(library);
    return library != nullptr;
  });
}

bool is_on(std::string_view part) {
  return std::any_of(std::begin(build_parts), std::end(build_parts),
                     [&](const Part& p) { return part == p.name && std::string_view(p.state).starts_with("on"); });
}

bool has_real_gpus() { return Device::count() > 0 && Device(0).kind() == DeviceKind::cuda; }

Findings look_at_settings() {
  int set = 0;
  for (const Setting& s : settings_in_force()) set += s.from != "default";
  return {{"settings", State::ok, set ? fmt::format("{} set, see dcgn info", set) : "none set", ""}};
}

Findings look_at_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int usable = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  const auto all = static_cast<int>(std::thread::hardware_concurrency());
  std::string found = fmt::format("{} of {}", usable, std::max(all, usable));
  if (usable > 1) return {{"processors", State::ok, found, ""}};
  return {{"processors", State::note, found + ": ranks on threads take turns",
           "give it more, as mpirun --bind-to none does; --cpus and --slots say how many ranks there are"}};
}

Findings look_at_driver() {
  const bool built = is_on("CUDA"), there = has_library({"libcuda.so.1"});
  const bool nodes = std::filesystem::exists("/dev/nvidiactl");
  if (!built)
    return {{"driver", there && nodes ? State::note : State::ok, "this build drives emulated GPUs only",
             there && nodes ? "configure again with -DDCGN_CUDA=ON where CUDA's nvcc is on PATH" : ""}};
  if (!there)
    return {{"driver", nodes ? State::problem : State::note, "no libcuda.so.1",
             nodes ? "install the user part of NVIDIA's driver; start containers with --gpus all"
                   : "on a machine with NVIDIA GPUs install their driver; without, GPUs are emulated"}};
  void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  const auto init = reinterpret_cast<int (*)(unsigned)>(::dlsym(library, "cuInit"));
  const auto version = reinterpret_cast<int (*)(int*)>(::dlsym(library, "cuDriverGetVersion"));
  int number = 0;
  if (!init || !version || version(&number) != 0)
    return {{"driver", State::problem, "libcuda.so.1 is none of a driver: it has no cuInit, or no version",
             "take stubs/ out of LD_LIBRARY_PATH"}};
  const std::string text = fmt::format("CUDA {}.{}", number / 1000, number % 1000 / 10);
  const int error = init(0);
  constexpr int no_device = 100;
  if (error == no_device)
    return {{"driver", State::note, text + ", which finds no GPU",
             "look at nvidia-smi -L and CUDA_VISIBLE_DEVICES; without GPUs they are emulated"}};
  if (error != 0)
    return {{"driver", State::problem, fmt::format("{}: cuInit failed with error {}", text, error),
             "see that nvidia-smi runs, and that /dev/nvidia* may be read; after an update of the driver, start the "
             "machine anew"}};
  return {{"driver", State::ok, text, ""}};
}

Findings look_at_gpus() {
  Findings findings;
  for (int d = 0; d < Device::count(); ++d) {
    const DeviceProperties p = Device(d).properties();
    findings.push_back({fmt::format("GPU {}", d), State::ok,
                        fmt::format("{}, {} multiprocessors, {}", p.name, p.multiprocessors,
                                    bytes_text(static_cast<double>(p.memory_bytes))),
                        ""});
  }
  if (findings.empty())
    return {{"GPUs", State::note, "none, not even emulated ones", "DCGN_EMULATED_GPUS=2 gives a job two of them"}};
  if (!has_real_gpus() || findings.size() < 2) return findings;
  int staged = 0;
  for (int a = 0; a < Device::count(); ++a)
    for (int b = 0; b < Device::count(); ++b) staged += a != b && !Device(a).link_to(Device(b)).direct;
  if (!Config().p2p)
    findings.push_back(
        {"peers", State::note, "DCGN_P2P=off: all that passes between GPUs goes through the host", "unset it"});
  else if (staged)
    findings.push_back(
        {"peers", State::note,
         fmt::format("{} of {} ways between GPUs go through the host", staged, Device::count() * (Device::count() - 1)),
         "nvidia-smi topo -p2p r says why: other sockets, a virtual machine, or access control (ACS) of "
         "PCIe switches"});
  else
    findings.push_back({"peers", State::ok, "all GPUs reach each other's memory", ""});
  return findings;
}

Findings look_at_mpi() {
  Findings findings;
  bool any = false;
  for (const transport::FoundMpi& m : transport::find_mpis()) {
    any = any || !m.library.empty();
    findings.push_back(
        {"MPI", State::ok,
         m.library.empty() ? fmt::format("{}: no ({})", m.mpi, m.version) : fmt::format("{}: {}", m.mpi, m.version),
         ""});
  }
  const std::string launcher = find_program("mpirun");
  if (!any)
    findings.push_back({"MPI", State::note, "none: processes meet by TCP alone, as torchrun starts them",
                        "apt-get install libopenmpi-dev openmpi-bin, and configure again"});
  else if (launcher.empty())
    findings.push_back({"launcher", State::note, "no mpirun on PATH", "apt-get install openmpi-bin, or torchrun"});
  else
    findings.push_back({"launcher", State::ok, launcher, ""});
  return findings;
}

Findings look_at_sharing() {
  Findings findings;
  const int file = ::memfd_create("dcgn_doctor", MFD_CLOEXEC);
  const int again = file < 0 ? -1 : ::open(fmt::format("/proc/self/fd/{}", file).c_str(), O_RDWR | O_CLOEXEC);
  if (again >= 0)
    findings.push_back({"shared memory", State::ok, "processes of this host can share it", ""});
  else
    findings.push_back({"shared memory", State::note, "memfd_create or /proc/self/fd is refused",
                        "mount /proc, and allow memfd_create in the container's seccomp profile; messages between "
                        "processes of this host go through MPI or TCP until then"});
  if (again >= 0) ::close(again);
  if (file >= 0) ::close(file);
  const std::string scope = word_in("/proc/sys/kernel/yama/ptrace_scope");
  if (!scope.empty() && scope != "0" && ::geteuid() != 0)
    findings.push_back({"reading processes", State::note, "kernel.yama.ptrace_scope is " + scope,
                        "sysctl kernel.yama.ptrace_scope=0 lets long messages between processes of this host be "
                        "copied once, not twice"});
  return findings;
}

Findings look_at_limits() {
  Findings findings;
  const auto look = [&](int resource, const char* what, rlim_t least, const char* option, const char* why) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= least)
      return;
    findings.push_back(
        {"limits", State::note, fmt::format("{} {}, {}", limit.rlim_cur, what, why),
         fmt::format("ulimit {} {}", option,
                     limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= least ? fmt::to_string(least)
                                                                                : "higher, by the administrator")});
  };
  look(RLIMIT_NPROC, "threads", 1024, "-u", "of which each block of an emulated GPU takes one");
  look(RLIMIT_NOFILE, "open files", 256, "-n", "of which each process that shares memory takes one");
  look(RLIMIT_AS, "bytes of addresses", rlim_t{1} << 36, "-v", "of which ranks reserve more than they use");
  const std::string threads = word_in("/sys/fs/cgroup/pids.max");
  if (!threads.empty() && threads != "max" && std::atol(threads.c_str()) < 512)
    findings.push_back({"limits", State::note, threads + " threads in this container",
                        "start it with --pids-limit 4096 for emulated GPUs of many blocks"});
  if (findings.empty()) findings.push_back({"limits", State::ok, "threads, files and addresses suffice", ""});
  return findings;
}

Findings look_at_extras() {
  Findings findings;
  if (has_real_gpus()) {
    if (has_library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"}))
      findings.push_back({"NVRTC", State::ok, "compiles CUDA source for virtual GPUs", ""});
    else
      findings.push_back({"NVRTC", State::note, "not found: virtual GPUs take PTX, and no CUDA source",
                          "add the folder of CUDA's libnvrtc.so to LD_LIBRARY_PATH"});
  }
  const std::string python = find_program("python3");
  const bool plots = !python.empty() && std::system((python + " -c 'import matplotlib' >/dev/null 2>&1").c_str()) == 0;
  findings.push_back(
      {"plots", plots ? State::ok : State::note,
       python.empty() ? "no python3 on PATH" : python + (plots ? " has matplotlib" : " has no matplotlib"),
       plots ? "" : "apt-get install python3-matplotlib for dcgn bench plot and --plot"});
  if (!is_on("wall")) return findings;
  const bool screens = !find_program("Xvfb").empty() || std::getenv("DISPLAY");
  findings.push_back({"wall", screens ? State::ok : State::note,
                      screens ? "has a display, or Xvfb to make one" : "no display, and no Xvfb to make one",
                      screens ? "" : "apt-get install xvfb for dcgn wall demo"});
  return findings;
}

Findings look_at_headers() {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (std::filesystem::path folder = here; folder.has_relative_path(); folder = folder.parent_path())
    for (const char* const headers : {"include", "core/include"})  // installed, and in the source tree
      if (std::filesystem::exists(folder / headers / "dcgn/dcgn.hpp", error))
        return {{"headers", State::ok, (folder / headers).string(), ""}};
  return {{"headers", State::note, "none beside " + here.string(),
           "cmake --install puts them beside the command; find_package(dcgn) finds them by CMAKE_PREFIX_PATH"}};
}

// Some messages between ranks of each kind that is here.
Findings send_messages() {
  const struct {
    pingpong::Between between;
    const char* what;
    int gpus;
  } jobs[] = {{pingpong::Between::cpu_cpu, "two CPU ranks", 0},
              {pingpong::Between::cpu_slot, "a CPU rank and a slot", 1},
              {pingpong::Between::slot_slot, "two slots", 1}};
  Findings findings;
  for (const auto& job : jobs) {
    if (job.gpus > Device::count()) continue;
    const std::string what = std::string("messages between ") + job.what;
    constexpr int rounds = 200;
    try {
      double us = 0;
      for (const std::int64_t bytes : {std::int64_t{8}, std::int64_t{1} << 20}) {
        const pingpong::Result result = pingpong::run(job.between, bytes, bytes == 8 ? rounds : 3, 32);
        if (bytes == 8) us = result.half_round_us;
        if (result.wrong)
          throw Error(Code::device, "doctor", fmt::format("{} numbers of {} bytes are wrong", result.wrong, bytes));
      }
      findings.push_back({"job", State::ok, fmt::format("{}: right, 8 bytes in {:.2f} us", what, us), ""});
    } catch (const std::exception& error) {
      findings.push_back({"job", State::problem, what + ": " + error.what(),
                          "the report is above; DCGN_DEADLINE is how many seconds a wait may last"});
    }
  }
  return findings;
}

}  // namespace

const char* to_string(State state) {
  switch (state) {
    case State::ok: return "ok";
    case State::note: return "note";
    case State::problem: return "problem";
  }
  return "";
}

std::vector<std::function<Findings()>> doctor_checks() {
  const struct {
    const char* what;
    Findings (*look)();
  } checks[] = {{"settings", look_at_settings},
                {"processors", look_at_processors},
                {"driver", look_at_driver},
                {"GPUs", look_at_gpus},
                {"MPI", look_at_mpi},
                {"shared memory", look_at_sharing},
                {"limits", look_at_limits},
                {"headers", look_at_headers},
                {"further programs", look_at_extras},
                {"job", send_messages}};
  std::vector<std::function<Findings()>> all;
  for (const auto& check : checks)
    all.emplace_back([check]() -> Findings {
      try {
        return check.look();
      } catch (const std::exception& error) {
        return {{check.what, State::problem, error.what(), "mend what it names, then look again"}};
      }
    });
  return all;
}

}  // namespace dcgn::tool
