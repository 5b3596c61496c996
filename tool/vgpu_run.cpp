// dcgn vgpu run
#include "base/kernel_trace.hpp"
#include "base/output_file.hpp"
#include "tool/exit_code.hpp"
#include "tool/values.hpp"
#include "tool/vgpu.hpp"
#include "tool/vgpu_report.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::tool {

namespace {

namespace fs = std::filesystem;

constexpr const char* vgpu_run_help =
    "Run a program that was written for one GPU on all of them, unchanged\n\n"
    "Puts a layer between the program and the CUDA driver, by LD_PRELOAD, that splits launches, spreads buffers and "
    "keeps streams in\n"
    "order. The program must carry PTX; its CUDA runtime, from version 12 on, may be static or shared. What cannot be "
    "split runs on the\n"
    "first GPU, and the report says why. What stands behind the program's name is the program's; the exit code is "
    "its.\n\n"
    "With --emulate no GPU is needed, nor a driver: kernels are interpreted on the host, thousands of times slower, on "
    "GPUs of 1 GiB\n"
    "and compute capability 9.0. A kernel that touches memory out of bounds, or that its GPU does not reach, is told "
    "with its name. With\n"
    "--record what kernels do to memory becomes a trace, which `dcgn sim run` runs on memory networks.";

constexpr const char* vgpu_run_examples =
    "Examples:\n"
    "  dcgn vgpu run ./program its arguments\n"
    "  dcgn vgpu run --gpus 0,2 --report what.txt -- ./program its arguments\n"
    "  dcgn vgpu run --gpus 0,0 ./program                   the same GPU twice, to try it\n"
    "  dcgn vgpu run --emulate --gpus 4 ./program           without a GPU, on four emulated ones\n"
    "  dcgn vgpu run --emulate --record p.kernels ./program a kernel trace for dcgn sim run\n"
    "  dcgn vgpu inspect ./program                          what could be split, without running it\n\n";

struct RunArguments {
  std::string gpus, placement = "chunked", split = "measured", report, none;
  bool quiet = false, emulate = false;
  std::string check, record;
  std::int64_t record_blocks = 0, record_launches = 0;
  JsonOption json;
};

[[noreturn]] void refuse_run(Code code, const std::string& why) { throw Error(code, "vgpu", why); }

// How many GPUs have a device file, /dev/nvidia0 and so on; 0 where that does not tell what the program will see.
int count_device_files() {
  if (std::getenv("CUDA_VISIBLE_DEVICES")) return 0;
  int found = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/dev", ignored)) {
    const std::string name = entry.path().filename();
    found +=
        name.starts_with("nvidia") && name.size() > 6 && name.find_first_not_of("0123456789", 6) == std::string::npos;
  }
  return found;
}

// How many GPUs the driver has here, which is what the program will need.
int count_gpus() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library)
    refuse_run(Code::unsupported, fmt::format("no CUDA driver on this machine ({}), expected one", dlerror()));
  const bool emulated = !dlsym(library, "cuGetExportTable");  // which only NVIDIA's has
  // The driver takes 0.1 s to begin.
  if (const int files = emulated ? 0 : count_device_files()) return files;
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDeviceGetCount"));
  int found = 0;
  const int error = init && count ? init(0) : -1;
  if (error != 0 || count(&found) != 0 || found == 0)
    refuse_run(Code::unsupported,
               fmt::format("the CUDA driver has no GPU to work with (cuInit says {}), expected one", error));
  return found;
}

int number_in(const std::string& text, const std::string& whole, int there) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value >= there)
    refuse_run(Code::configuration, fmt::format("--gpus {}: {}, expected numbers of GPUs from 0 to {}, or how many",
                                                whole, text.empty() ? "nothing" : text, there - 1));
  return value;
}

constexpr int most_emulated = 16, emulated_unasked = 2;

// N, or a list of numbers, of the GPUs that the program would see.
std::vector<int> gpus_of(const std::string& text, int there) {
  std::vector<int> gpus;
  if (text.find(',') != std::string::npos) {
    for (const std::string& word : split(text, ',')) gpus.push_back(number_in(word, text, there));
    return gpus;
  }
  const int count = text.empty() ? there : number_in(text, text, there + 1);
  if (count == 0) refuse_run(Code::configuration, fmt::format("--gpus {}: expected at least one", text));
  for (int i = 0; i < count; ++i) gpus.push_back(i);
  return gpus;
}

#if defined(DCGN_VGPU_BUILT)
// Of the program's folder, where it was installed to, and of the build.
std::string find_library(const std::string& name, const fs::path& installed, const fs::path& built,
                         const fs::path& moved) {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::string tried;
  for (const fs::path& folder : {program / ".." / DCGN_LIBRARY_FOLDER / installed, built, program / ".." / moved}) {
    const fs::path file = (folder / name).lexically_normal();
    if (fs::exists(file, ignored)) return file.string();
    tried += (tried.empty() ? "" : ", ") + file.string();
  }
  refuse_run(Code::unsupported, fmt::format("no {} ({}): expected it where dcgn was built or installed", name, tried));
}
#endif

// What is preloaded, the first in front: what splits launches, and with --emulate a CUDA runtime and the driver, which
// is then there for all who look for one by its name.
std::string libraries(bool emulate) {
#if defined(DCGN_VGPU_BUILT)
  std::string all = find_library("libdcgn_vgpu_driver.so", "dcgn", DCGN_VGPU_BUILT, fs::path("src") / "vgpu");
  if (emulate)
    for (const char* name : {"libdcgn_vgpu_runtime.so", "libcuda.so.1"})
      all += ":" + find_library(name, "dcgn-emulated", DCGN_EMULATED_BUILT, fs::path("lib") / "dcgn-emulated");
  return all;
#else
  static_cast<void>(emulate);
  refuse_run(Code::unsupported,
             "this dcgn was built where no CUDA 13 toolkit was found, expected one: its headers are enough");
#endif
}

// A folder for reports, gone with this.
class ReportFolder {
 public:
  ReportFolder() : path_((fs::temp_directory_path() / "dcgn_vgpu_XXXXXX").string()) {
    if (!mkdtemp(path_.data()))
      refuse_run(Code::io, fmt::format("{}: {}: expected a new folder", path_, std::strerror(errno)));
  }
  ReportFolder(const ReportFolder&) = delete;
  ReportFolder& operator=(const ReportFolder&) = delete;
  ~ReportFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void set_variable(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

// For the program: which GPUs it gets, and what they are to it.
void set_up(const RunArguments& a, const std::vector<int>& gpus, const std::string& library,
            const std::string& folder) {
  if (a.emulate) {
    set_variable("DCGN_VGPU_EMULATED", fmt::to_string(*std::max_element(gpus.begin(), gpus.end()) + 1));
    unsetenv("CUDA_VISIBLE_DEVICES");  // of real ones
  }
  std::vector<int> different = gpus;
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  // The first one given is the program's.
  std::stable_partition(different.begin(), different.end(), [&](int gpu) { return gpu == gpus.front(); });
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::vector<std::string> names = visible ? split(visible, ',') : std::vector<std::string>();
  std::string shown, parts;
  for (const int gpu : different) {
    const auto n = static_cast<std::size_t>(gpu);
    shown += (shown.empty() ? "" : ",") + (n < names.size() ? names[n] : fmt::to_string(gpu));
  }
  for (const int gpu : gpus)
    parts += fmt::format("{}{}", parts.empty() ? "" : ",",
                         std::find(different.begin(), different.end(), gpu) - different.begin());
  set_variable("CUDA_VISIBLE_DEVICES", shown);
  set_variable("DCGN_VGPU_PARTS", parts);
  set_variable("DCGN_VGPU_PLACEMENT", a.placement);
  set_variable("DCGN_VGPU_SPLIT", a.split);
  set_variable("DCGN_VGPU_REPORT", folder);
  if (!a.check.empty()) set_variable("DCGN_VGPU_CHECK", a.check);
  if (!a.record.empty()) {
    set_variable("DCGN_VGPU_RECORD", folder);
    set_variable("DCGN_VGPU_RECORD_BLOCKS", fmt::to_string(a.record_blocks));
    set_variable("DCGN_VGPU_RECORD_LAUNCHES", fmt::to_string(a.record_launches));
  }
  setenv("CUDA_MODULE_LOADING", "LAZY", 0);  // the driver's default, which the library would change
  const char* const others = std::getenv("LD_PRELOAD");
  set_variable("LD_PRELOAD", others && *others ? library + ":" + others : library);
}

volatile std::sig_atomic_t program_process = 0;

void pass_on(int signal) {
  if (program_process > 0) kill(program_process, signal);
}

// Its exit code; as shells have it, 128 and the signal's number where a signal ended it.
int run_program(const std::vector<std::string>& command, const auto& before) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) refuse_run(Code::io, fmt::format("no pipe: {}", std::strerror(errno)));
  const pid_t child = fork();
  if (child < 0) refuse_run(Code::io, fmt::format("no process: {}", std::strerror(errno)));
  if (child == 0) {
    before();
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words.front(), words.data());
    const int error = errno;
    static_cast<void>(!write(ends[1], &error, sizeof error));
    _exit(127);
  }
  // What is meant for the program reaches it: from the terminal by itself, from others by this.
  program_process = child;
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGQUIT, SIG_IGN);
  std::signal(SIGTERM, &pass_on);
  std::signal(SIGHUP, &pass_on);
  close(ends[1]);
  int error = 0;
  const bool failed = read(ends[0], &error, sizeof error) == static_cast<ssize_t>(sizeof error);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  program_process = 0;
  if (failed)
    refuse_run(Code::io,
               fmt::format("{}: {}: expected a program that can be run", command.front(), std::strerror(error)));
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Whether --check has found that a launch gives other results split than whole.
bool differs(const nlohmann::ordered_json& processes) {
  for (const auto& process : processes)
    for (const auto& kernel : process.at("kernels"))
      if (kernel.contains("differences") && !kernel.at("differences").empty()) return true;
  return false;
}

// --record: the trace that the program's process has left, under its name.
void keep_trace(const std::string& folder, base::OutputFile& file, const std::vector<std::string>& command) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".kernels") found.push_back(entry.path().string());
  if (found.size() != 1)
    refuse_run(
        Code::io,
        found.empty()
            ? fmt::format("--record {}: no process launched a kernel and ended by exit, expected one", file.path())
            : fmt::format("--record {}: {} processes launched kernels, expected one", file.path(), found.size()));
  base::KernelTrace trace = base::read_kernel_trace(found.front());
  trace.program = fmt::format("{}", fmt::join(command, " "));
  base::write_kernel_trace(file, trace);
}

// Where there is none. The last option may have taken it for its value.
[[noreturn]] void refuse_no_program(const CLI::App& app) {
  const auto& given = app.parse_order();
  const std::string name = given.empty() ? "" : given.back()->get_name();
  const std::string value = given.empty() || given.back()->results().empty() ? "" : given.back()->results().back();
  const bool odd = value.find_first_not_of("0123456789,") != std::string::npos;  // for a number, or several
  if ((name != "--json" && name != "--report" && name != "--gpus") || value.empty() || (name == "--gpus" && !odd))
    refuse_run(Code::configuration, "no program: expected its name and arguments behind the options");
  refuse_run(Code::configuration,
             fmt::format("no program: {} took {} for its value, expected a program's name and arguments behind that",
                         name, value));
}

// What an option was given must not be empty: a script's variable may be.
void expect_value(const CLI::App& app, const char* option, const std::string& value, const char* expected) {
  if (value.empty() && app.count(option) > 0)
    refuse_run(Code::configuration, fmt::format("{} \"\": nothing, expected {}", option, expected));
}

int run(RunArguments& a, const CLI::App& app) {
  std::vector<std::string> command = app.remaining();
  if (!command.empty() && command.front() == "--")
    command.erase(command.begin());
  else if (!command.empty() && command.front().front() == '-')
    refuse_run(Code::configuration, fmt::format("{}: expected an option of dcgn vgpu run", command.front()));
  if (command.empty()) refuse_no_program(app);
  expect_value(app, "--gpus", a.gpus, "how many GPUs, or their numbers: 0,1");
  expect_value(app, "--report", a.report, "a file");
  const bool number = a.check.find_first_not_of("0123456789") == std::string::npos;
  if (!a.check.empty() && (!number || a.check.find_first_not_of('0') == std::string::npos))
    refuse_run(Code::configuration, fmt::format("--check={}: expected every how many launches, at least 1", a.check));
  expect_value(app, "--record", a.record, "a file");
  if (!a.record.empty() && !a.emulate)
    refuse_run(Code::configuration, fmt::format("--record {}: expected --emulate: it is the interpreter that sees what "
                                                "kernels do",
                                                a.record));
  if (a.record.empty() && app.count("--record-blocks") > 0)
    refuse_run(Code::configuration, fmt::format("--record-blocks {}: expected --record FILE", a.record_blocks));
  if (a.record.empty() && app.count("--record-launches") > 0)
    refuse_run(Code::configuration, fmt::format("--record-launches {}: expected --record FILE", a.record_launches));
  if (!a.record.empty() && !a.gpus.empty() && a.gpus != "1")
    refuse_run(Code::configuration,
               fmt::format("--gpus {}: expected 1 with --record: launches are recorded whole", a.gpus));
  const std::string library = libraries(a.emulate);
  const int unasked = a.record.empty() ? emulated_unasked : 1;
  const std::string wanted = a.emulate && a.gpus.empty() ? fmt::to_string(unasked) : a.gpus;
  const std::vector<int> gpus = gpus_of(wanted, a.emulate ? most_emulated : count_gpus());
  a.json.open();
  std::optional<base::OutputFile> report;
  if (!a.report.empty()) report.emplace(a.report);
  std::optional<base::OutputFile> record;
  if (!a.record.empty()) record.emplace(a.record);
  if (record && ((report && report->same_file(*record)) || (a.json.output && a.json.output->same_file(*record))))
    refuse_run(Code::configuration, fmt::format("--record {}: expected a file of its own", a.record));
  if (a.record == "-") refuse_run(Code::configuration, "--record -: expected the name of a file");
  if (report && a.json.output && report->same_file(*a.json.output))
    refuse_run(Code::configuration,
               fmt::format("--json {}: expected another file than --report {}", a.json.file, a.report));
  const ReportFolder folder;
  const int code = run_program(command, [&] { set_up(a, gpus, library, folder.path()); });
  const nlohmann::ordered_json processes = read_vgpu_reports(folder.path());
  if (record && code == 0) keep_trace(folder.path(), *record, command);
  if (record && code != 0)
    fmt::print(stderr, "dcgn: vgpu: --record {}: not written, since the program's exit code is {}\n", a.record, code);
  a.json.write(nlohmann::ordered_json{
      {"what", "vgpu run"},
      {"program", command},
      {"gpus", gpus},
      {"emulated", a.emulate},
      {"placement", a.placement},
      {"splits", a.check.empty() ? a.split : "always"},
      {"exit_code", code},
      {"processes",
       processes}}.dump(2));
  const std::string text = vgpu_report_text(processes, gpus.size());
  if (report) report->write(text);
  if (!report && !a.quiet && !a.json.on_stdout()) fmt::print(stderr, "{}", text);
  return code == 0 && differs(processes) ? exit_job_failed : code;
}

}  // namespace

void add_vgpu_run(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<RunArguments>();
  CLI::App* app = parent.add_subcommand("run", vgpu_run_help);
  app->add_option("--gpus", a->gpus, "So many GPUs, or which, 0,1,...; the first is the program's own [all]")
      ->type_name("GPUS");
  app->add_flag("--emulate", a->emulate,
                "On GPUs that are emulated, two unless --gpus says how many, up to 16; needs PTX in the program, and "
                "CUDA's runtime shared, or static with its symbols");
  app->add_option("--placement", a->placement,
                  "Pages of buffers: chunked, in runs as blocks are split; interleaved, dealt out one by one")
      ->check(word_of({"chunked", "interleaved"}))
      ->type_name("WORD")
      ->capture_default_str();
  app->add_option("--split", a->split,
                  "Launches: measured, where split is faster than whole, by times of both; always, where it can be")
      ->check(word_of({"measured", "always"}))
      ->envname("DCGN_VGPU_SPLIT")
      ->type_name("WORD")
      ->capture_default_str();
  app->add_flag(
      "--check{1}", a->check,
      "Make each launch that can be split whole, too, or with --check=N every N-th, and report the memory that "
      "differs. Waits for the GPUs, and takes memory for two more copies of all buffers");
  app->add_option(
         "--record", a->record,
         "With --emulate: a kernel trace, for dcgn sim run; on one GPU, and where the program's exit code is 0")
      ->type_name("FILE");
  app->add_option("--record-blocks", a->record_blocks, "Blocks of a launch that are kept, about; 0: all")
      ->type_name("N")
      ->check(whole_number(0, std::int64_t{1} << 40));
  app->add_option("--record-launches", a->record_launches,
                  "Launches of a kernel in one size that are kept, at most; 0: all")
      ->type_name("N")
      ->check(whole_number(0, std::int64_t{1} << 40));
  app->add_option("--report", a->report, "Where the report goes [stderr]")->type_name("FILE");
  app->add_flag("-q,--quiet", a->quiet, "No report on stderr");
  a->json.add_to(*app, "The report");
  // All behind the program's name is the program's, whatever it looks like, as prefix_command() has it. That knows no
  // -- where there is nothing positional, so there is, for the help and for this; it takes no word.
  app->prefix_command();
  app->validate_positionals();
  app->add_option("PROGRAM", a->none, "The program, and what is its own: its arguments")
      ->type_name("ARGUMENTS...")
      ->check([](const std::string&) { return std::string("the program's"); });
  app->footer(std::string(vgpu_run_examples) +
              "Exit codes:\n"
              "  the program's; 128 and the signal's number where a signal ended it\n"
              "  1     --check has found memory that differs, and the program's is 0\n"
              "  2, 3  it was not run, and stderr says why\n");
  app->callback([a, app, &chosen] { chosen = [a, app] { return run(*a, *app); }; });
}

}  // namespace dcgn::tool
