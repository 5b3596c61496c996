// main() of a target where libFuzzer is not: reads each FILE, and each of a FOLDER; with -max_total_time=SECONDS,
// then, changes of them at random, the same each time. What it was reading when it ended before its time is left
// in fuzz-TARGET.input.
//
//   fuzz_TARGET [-max_total_time=SECONDS] [-seed=N] FILE|FOLDER...
#include "fuzz.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string_view>
#include <vector>

// A reader takes no more at once than 256 MiB, as under libFuzzer.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "max_allocation_size_mb=256"; }

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t most_bytes = 1 << 16;

// Changes to inputs: what is read as text is cut and put together by its own parts, too.
class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, std::uint64_t seed) : seeds_(seeds), random_(seed) {}

  std::string next() {
    std::string text = seeds_[below(seeds_.size())];
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) change(text);
    text.resize(std::min(text.size(), most_bytes));
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return end ? random_() % end : 0; }

  void change(std::string& text) {
    constexpr std::string_view numbers[] = {"0", "-1", "255", "65536", "2147483648", "18446744073709551616", "1e999"};
    const std::size_t at = below(text.size()), length = std::min(text.size() - at, std::size_t{1} << below(8));
    switch (below(8)) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        if (!text.empty()) text[at] = static_cast<char>(random_());
        break;
      case 2: text.erase(at, length); break;
      case 3: text.insert(at, text.substr(below(text.size()), length)); break;
      case 4: text.replace(at, length, std::string(length, "\0\xff \n"[below(4)])); break;
      case 5: text.resize(at); break;
      case 6: {
        const std::string& other = seeds_[below(seeds_.size())];
        text.replace(at, length, other.substr(below(other.size()), std::size_t{1} << below(8)));
        break;
      }
      default: {  // a number, where there is one from here on
        const std::size_t begin = text.find_first_of("0123456789", at);
        if (begin == std::string::npos) break;
        const std::size_t end = std::min(text.size(), text.find_first_not_of("0123456789", begin));
        text.replace(begin, end - begin, numbers[below(std::size(numbers))]);
      }
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_;
};

// The input that is being read, kept where it outlives the program.
class LastInput {
 public:
  explicit LastInput(std::string path) : path_(std::move(path)) {
    const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    void* const room = file < 0 || ftruncate(file, most_bytes) != 0
                           ? MAP_FAILED
                           : mmap(nullptr, most_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (room == MAP_FAILED) throw std::runtime_error(path_ + " cannot be written");
    room_ = static_cast<char*>(room);
    file_ = file;
  }
  LastInput(const LastInput&) = delete;
  LastInput& operator=(const LastInput&) = delete;
  ~LastInput() {
    munmap(room_, most_bytes);
    ::close(file_);
    ::unlink(path_.c_str());
  }

  void keep(const std::string& text) {
    dcgn::fuzz::require(ftruncate(file_, static_cast<off_t>(text.size())) == 0, "the input is kept");
    std::memcpy(room_, text.data(), text.size());
  }

 private:
  std::string path_;
  char* room_ = nullptr;
  int file_ = -1;
};

// In memory of just its size, so that a sanitizer sees who reads on.
void read(const std::string& text, LastInput& last) {
  last.keep(text);
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

void add_seeds(const std::filesystem::path& path, std::vector<std::string>& seeds) {
  if (std::filesystem::is_directory(path)) {
    std::vector<std::filesystem::path> inside(std::filesystem::directory_iterator(path), {});
    std::sort(inside.begin(), inside.end());
    for (const auto& one : inside) add_seeds(one, seeds);
    return;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + ": cannot be read");
  std::string text(std::istreambuf_iterator<char>(file), {});
  text.resize(std::min(text.size(), most_bytes));
  seeds.push_back(std::move(text));
}

}  // namespace

int main(int argc, char** argv) {
#if !defined(DCGN_SANITIZED)
  const rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::perror("fuzz: memory is not limited");
#endif
  double seconds = 0;
  std::uint64_t seed = 1;
  std::vector<std::string> seeds;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("-max_total_time="))
      seconds = std::stod(word.substr(word.find('=') + 1));
    else if (word.starts_with("-seed="))
      seed = std::stoull(word.substr(word.find('=') + 1));
    else
      add_seeds(word, seeds);
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "usage: %s [-max_total_time=SECONDS] [-seed=N] FILE|FOLDER...\n", argv[0]);
    return 2;
  }
  const std::filesystem::path program = argv[0];
  LastInput last(program.filename().string() + ".input");
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::size_t runs = 0;
  for (const std::string& text : seeds) {
    read(text, last);
    ++runs;
  }
  if (seconds > 0) dcgn::fuzz::require(dcgn::fuzz::num_taken > 0, "some of the seeds are taken");
  for (Mutator mutator(seeds, seed); Clock::now() < end; ++runs) read(mutator.next(), last);
  std::printf("seed %llu: %zu inputs read\n", static_cast<unsigned long long>(seed), runs);
}
