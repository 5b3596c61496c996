// Checkpoints: what comes back, in whatever slabs, and what is refused.
#include "stencil/src/output/checkpoint.hpp"
#include "base/output_file.hpp"
#include "support.hpp"
#include "tests/expect.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <thread>

// HDF5 keeps memory of its own of files that it refuses.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

using namespace dcgn::stencil;
using dcgn::Code, dcgn::Error, dcgn::base::OutputFile, dcgn::test::bytes_in, dcgn::test::contains, dcgn::test::error_of,
    dcgn::test::random_cells;

namespace {

const CheckpointState state{"cahn-hilliard", 1234567890123, 61.7283945, {{"B", 1}, {"dt", 0.005}, {"K", 0.1}}};

class Checkpoint : public dcgn::test::FolderTest {
 protected:
  void SetUp() override {
    if (error_of([] { CheckpointFile("/dev/null"); }).code() == Code::unsupported) GTEST_SKIP() << "no HDF5";
  }

  void write(const CheckpointState& what, const std::vector<FieldSource>& fields) const {
    OutputFile output(path_);
    write_checkpoint(output, what, fields);
  }
  FieldSource field() const { return source_of("u", cells_, {7, 5, 11}, 0.25); }
  // All of a field, so many layers at a time.
  template <class T>
  static std::vector<T> read(const CheckpointFile& file, const std::string& name, std::int64_t at_a_time) {
    const FieldShape& shape = file.fields().at(name);
    std::vector<T> cells(static_cast<std::size_t>(shape.cells()));
    for (std::int64_t first = 0; first < shape.layers(); first += at_a_time)
      file.read(name, first, std::min(at_a_time, shape.layers() - first), cells.data() + first * shape.layer_cells());
    return cells;
  }
  void write_bytes(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  std::string path_ = in_folder("run.h5");
  std::vector<double> cells_ = random_cells<double>(7 * 5 * 11, 1);
};

TEST_F(Checkpoint, GivesBackStateAndCellsByAnySlabs) {
  const auto v = random_cells<float>(6 * 4, 2);
  const auto psi = random_cells<dcgn::complex<double>>(9, 3);
  const auto w = random_cells<dcgn::complex<float>>(2 * 3 * 2 * 3, 4);
  write(state, {field(), source_of("v", v, {6, 4}), source_of("psi", psi, {9}), source_of("w", w, {2, 3, 2, 3})});
  const CheckpointFile file(path_);
  EXPECT_EQ(file.state(), state);
  ASSERT_EQ(file.fields().size(), 4u);
  EXPECT_EQ(file.fields().at("u"), (FieldShape{{7, 5, 11}, CellType::float64, {0.25, 0.25, 0.25}}));
  EXPECT_EQ(file.fields().at("w"), (FieldShape{{2, 3, 2, 3}, CellType::complex64, {1, 1, 1, 1}}));
  for (const std::int64_t at_a_time : {1, 2, 3, 11}) {
    EXPECT_EQ(read<double>(file, "u", at_a_time), cells_);
    EXPECT_EQ(read<float>(file, "v", at_a_time), v);
    EXPECT_EQ(read<dcgn::complex<double>>(file, "psi", at_a_time), psi);
    EXPECT_EQ(read<dcgn::complex<float>>(file, "w", at_a_time), w);
  }
}

TEST_F(Checkpoint, LayersLargerAndSmallerThanAChunk) {
  const auto large = random_cells<float>(std::size_t{700} * 600 * 3, 5), flat = random_cells<float>(3 * 300001, 6);
  write(state, {source_of("large", large, {700, 600, 3}), source_of("flat", flat, {3, 300001})});
  const CheckpointFile file(path_);
  EXPECT_EQ(read<float>(file, "large", 2), large);
  EXPECT_EQ(read<float>(file, "flat", 77777), flat);
}

TEST_F(Checkpoint, ThreadsShareOne) {
  write(state, {field()});
  const CheckpointFile file(path_);
  std::vector<std::vector<double>> got(4);
  {
    std::vector<std::jthread> threads;
    threads.reserve(got.size());
    for (auto& cells : got) threads.emplace_back([&] { cells = read<double>(file, "u", 2); });
  }
  for (const auto& cells : got) EXPECT_EQ(cells, cells_);
}

TEST_F(Checkpoint, SaysWhatItIsAndWhatWasExpected) {
  write(state, {field()});
  const CheckpointFile file(path_);
  const FieldShape shape = field().shape;
  EXPECT_NO_THROW(file.expect("cahn-hilliard", {{"u", shape}}));
  const auto refused = [&](const std::string& equation, const std::map<std::string, FieldShape>& fields) {
    const Error error = error_of([&] { file.expect(equation, fields); });
    EXPECT_EQ(error.code(), Code::configuration);
    EXPECT_TRUE(contains(error.what(), path_ + ": "));
    return std::string(error.what());
  };
  EXPECT_TRUE(contains(refused("heat", {{"u", shape}}), "it is of equation 'cahn-hilliard', expected 'heat'"));
  EXPECT_TRUE(contains(refused("cahn-hilliard", {{"u", {{7, 5, 12}, CellType::float64, {0.25, 0.25, 0.25}}}}),
                       "field 'u' is 7x5x11 float64, expected 7x5x12 float64"));
  EXPECT_TRUE(contains(refused("cahn-hilliard", {{"u", {{7, 5, 11}, CellType::float32, {0.25, 0.25, 0.25}}}}),
                       "field 'u' is 7x5x11 float64, expected 7x5x11 float32"));
  EXPECT_TRUE(contains(refused("cahn-hilliard", {{"u", {{7, 5, 11}, CellType::float64, {0.25, 0.5, 0.25}}}}),
                       "spacing 0.25, expected 0.5"));
  EXPECT_TRUE(contains(refused("cahn-hilliard", {{"v", shape}}), "there is no field 'v', expected 7x5x11 float64"));
  EXPECT_TRUE(contains(refused("cahn-hilliard", {}), "1 fields, expected 0"));
  double cell = 0;
  EXPECT_TRUE(contains(error_of([&] { file.read("v", 0, 1, &cell); }).what(), "there is no field 'v'"));
  for (const auto& [first, count] : {std::pair(0, 12), {11, 1}, {-1, 1}, {3, 0}})
    EXPECT_EQ(error_of([&, first = first, count = count] { file.read("u", first, count, &cell); }).code(),
              Code::invalid_size);
}

TEST_F(Checkpoint, NoFileOrAnotherOne) {
  const auto refused = [&] {
    const Error error = error_of([&] { const CheckpointFile file(path_); });
    EXPECT_EQ(error.code(), Code::io);
    EXPECT_TRUE(contains(error.what(), path_ + ": "));
    return std::string(error.what());
  };
  EXPECT_TRUE(contains(refused(), "cannot be read: No such file or directory"));
  write_bytes("no checkpoint");
  EXPECT_TRUE(contains(refused(), "expected a checkpoint that is whole: "));
}

TEST_F(Checkpoint, TruncatedAnywhereIsRefused) {
  write(state, {field()});
  const std::string whole = bytes_in(path_);
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 97) {
    write_bytes(whole.substr(0, bytes));
    EXPECT_EQ(error_of([&] { const CheckpointFile file(path_); }).code(), Code::io) << bytes << " bytes are left";
  }
}

TEST_F(Checkpoint, WhateverByteIsDamagedNothingWrongComesBack) {
  write(state, {field()});
  const std::string whole = bytes_in(path_);
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  int refused = 0;
  constexpr int trials = 600;
  for (int trial = 0; trial < trials; ++trial) {
    std::string damaged = whole;
    const std::size_t at = random() % whole.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 + random() % 255));
    write_bytes(damaged);
    try {
      const CheckpointFile file(path_);
      const auto cells = read<double>(file, "u", 3);
      EXPECT_TRUE(file.state() == state && cells == cells_) << "byte " << at << ", seed " << seed;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::io) << error.what();
      EXPECT_TRUE(contains(error.what(), path_));
      ++refused;
    }
  }
  EXPECT_GT(refused, trials / 2) << "seed " << seed;  // the rest are bytes that nothing uses
}

// Fletcher-32 does not tell words of zeros from words of ones.
TEST_F(Checkpoint, ZerosThatBecomeOnesAreSeen) {
  std::vector<double> cells(64);
  cells[0] = 0.1;
  write(state, {source_of("u", cells, {64})});
  std::string bytes = bytes_in(path_);
  const std::size_t first = bytes.find(std::string(reinterpret_cast<const char*>(cells.data()), 512));
  ASSERT_NE(first, std::string::npos);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(first) + 8, 504, '\xff');
  write_bytes(bytes);
  std::vector<double> found(64);
  EXPECT_EQ(error_of([&] { CheckpointFile(path_).read("u", 0, 64, found.data()); }).code(), Code::io);
}

TEST_F(Checkpoint, ARunThatIsKilledWhileWritingLeavesTheLastOne) {
  write(state, {field()});
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    FieldSource next = field();
    next.read = [](std::int64_t, std::int64_t, void*) { ::raise(SIGKILL); };
    write({"cahn-hilliard", 2, 2, {}}, {next});
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const CheckpointFile file(path_);
  EXPECT_EQ(file.state(), state);
  EXPECT_EQ(read<double>(file, "u", 11), cells_);
}

// In a process of its own, which alone sees a disk of so many bytes there: whether one could be had.
bool on_small_disk(const std::string& folder, const char* options, const std::function<void()>& act) {
  constexpr int none = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string user = "0 " + std::to_string(::geteuid()) + " 1",
                      group = "0 " + std::to_string(::getegid()) + " 1";
    const auto write = [](const char* name, const std::string& text) {
      return static_cast<bool>(std::ofstream(name) << text << std::flush);
    };
    bool mounted = ::unshare(CLONE_NEWNS) == 0;
    if (!mounted && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0)
      mounted = write("/proc/self/uid_map", user) && write("/proc/self/setgroups", "deny") &&
                write("/proc/self/gid_map", group);
    mounted = mounted && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
              ::mount("tmpfs", folder.c_str(), "tmpfs", 0, options) == 0;
    try {
      if (mounted) act();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    ::_exit(!mounted ? none : testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == none);
  return WEXITSTATUS(status) != none;
}

// Cells wait in HDF5's memory until their field is closed, and are what a full disk has no room for.
TEST_F(Checkpoint, ADiskThatIsFullLeavesTheLastOneAlone) {
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const bool had = on_small_disk(folder, "size=256k", [&] {
    write(state, {field()});
    const std::string before = bytes_in(path_);
    const auto large = random_cells<float>(std::size_t{700} * 600, 7);
    for (const std::vector<std::int64_t>& extents :
         {std::vector<std::int64_t>{300, 220}, std::vector<std::int64_t>{400, 300},
          std::vector<std::int64_t>{700, 600}}) {
      const std::vector<float> cells(large.begin(), large.begin() + extents[0] * extents[1]);
      const Error error = error_of([&] { write(state, {source_of("u", cells, extents)}); });
      EXPECT_EQ(error.code(), Code::io);
      EXPECT_TRUE(contains(error.what(), "run.h5: not written: file write failed: No space left on device"));
      EXPECT_TRUE(bytes_in(path_) == before) << extents[0];
    }
    const std::vector<float> small(large.begin(), large.begin() + 200 * 200);
    write(state, {source_of("u", small, {200, 200})});
    EXPECT_EQ(read<float>(CheckpointFile(path_), "u", 200), small);
  });
  if (!had) GTEST_SKIP() << "no disk of one's own may be mounted here";
}

TEST_F(Checkpoint, CellsThatCannotBeHadLeaveTheLastOneAlone) {
  write(state, {field()});
  FieldSource next = field();
  next.read = [](std::int64_t, std::int64_t, void*) { throw Error(Code::deadline, "gather", "a rank is late"); };
  EXPECT_EQ(error_of([&] { write({}, {next}); }).code(), Code::deadline);
  EXPECT_EQ(CheckpointFile(path_).state(), state);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

}  // namespace
