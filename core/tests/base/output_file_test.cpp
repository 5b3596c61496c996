// Files that are there whole or not at all.
#include "base/output_file.hpp"

#include "tests/expect.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

using dcgn::base::OutputFile, dcgn::test::contains, dcgn::test::error_of;
namespace fs = std::filesystem;

namespace {

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    folder_ = fs::temp_directory_path() / ("dcgn_output_" + std::to_string(::getpid()) + "_" +
                                           testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directory(folder_);
    path_ = folder_ / "x.txt";
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }

  static std::string text_in(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static int mode_of(const fs::path& path) { return static_cast<int>(fs::status(path).permissions()); }
  int files() const { return static_cast<int>(std::distance(fs::directory_iterator(folder_), {})); }

  fs::path folder_, path_;
};

TEST_F(OutputFileTest, IsThereOnceItIsWrittenAndAlone) {
  const mode_t mask = ::umask(027);
  OutputFile file(path_);
  ::umask(mask);
  EXPECT_EQ(files(), 0);
  file.write("new");
  EXPECT_EQ(text_in(path_), "new");
  EXPECT_EQ(mode_of(path_), 0640);
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, TheOlderOneStaysUntilThenAndKeepsItsMode) {
  std::ofstream(path_) << "a long old text";
  fs::permissions(path_, fs::perms{0604});
  { const OutputFile file(path_); }
  OutputFile file(path_);
  EXPECT_EQ(text_in(path_), "a long old text");
  file.write("new");
  EXPECT_EQ(text_in(path_), "new");
  EXPECT_EQ(mode_of(path_), 0604);
}

TEST_F(OutputFileTest, ContentThatFailsHalfwayLeavesAllAsItWas) {
  const auto fail = [](std::FILE* stream) {
    std::fputs("half", stream);
    throw std::runtime_error("half");
  };
  EXPECT_THROW(OutputFile(path_).write(fail), std::runtime_error);
  EXPECT_EQ(files(), 0);
  std::ofstream(path_) << "old";
  EXPECT_THROW(OutputFile(path_).write(fail), std::runtime_error);
  EXPECT_EQ(text_in(path_), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, LinksStayLinks) {
  const fs::path link = folder_ / "link";
  fs::create_symlink("x.txt", link);
  OutputFile(link).write("first");  // a link to nothing so far
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(text_in(path_), "first");
  OutputFile(link).write("second");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(text_in(path_), "second");
}

TEST_F(OutputFileTest, KnowsTheSameFileByItsOtherNames) {
  fs::create_symlink("x.txt", folder_ / "link");
  const OutputFile file(path_), other(folder_ / "y.txt"), link(folder_ / "link"), way(folder_ / "." / "x.txt");
  EXPECT_TRUE(file.same_file(link) && file.same_file(way) && link.same_file(file));
  EXPECT_FALSE(file.same_file(other));
  const OutputFile null("/dev/null"), null_too("/dev/null");
  EXPECT_FALSE(null.same_file(null_too));
}

TEST_F(OutputFileTest, ANameMayBeAsLongAsNamesCanBe) {
  path_ = folder_ / std::string(255, 'x');
  OutputFile(path_).write("text");
  EXPECT_EQ(text_in(path_), "text");
}

TEST_F(OutputFileTest, NamesThePathThatCannotBeWritten) {
  const std::string path = folder_ / "none" / "x.txt";
  for (const std::string& wrong : {path, folder_.string()}) {
    const dcgn::Error error = error_of([&] { const OutputFile file(wrong); });
    EXPECT_EQ(error.code(), dcgn::Code::io);
    EXPECT_TRUE(contains(error.what(), wrong + ": cannot be written: "));
  }
}

TEST_F(OutputFileTest, WhatIsWrittenDurablyIsByNameAndStaysWhatItWasWhereThatFails) {
  std::ofstream(path_) << "old";
  fs::permissions(path_, fs::perms{0604});
  OutputFile(path_).write_durably([&](const std::string& name) {
    EXPECT_EQ(text_in(path_), "old");
    std::ofstream(name) << "new";
  });
  EXPECT_EQ(text_in(path_), "new");
  EXPECT_EQ(mode_of(path_), 0604);
  const auto half = [](const std::string& name) {
    std::ofstream(name) << "half";
    throw std::runtime_error("half");
  };
  EXPECT_THROW(OutputFile(path_).write_durably(half), std::runtime_error);
  EXPECT_EQ(text_in(path_), "new");
  EXPECT_EQ(files(), 1);
  const dcgn::Error error = error_of([] { OutputFile("/dev/null").write_durably([](const std::string&) {}); });
  EXPECT_TRUE(contains(error.what(), "/dev/null: not written: expected a file on a disk"));
}

TEST_F(OutputFileTest, WhatAKilledProcessLeavesTheNextWriteRemoves) {
  const auto kill_while_writing = [&](bool durably) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (durably)
        OutputFile(path_).write_durably([](const std::string&) { std::raise(SIGKILL); });
      else
        OutputFile(path_).write([](std::FILE*) { std::raise(SIGKILL); });
    }
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  };
  std::ofstream(path_) << "old";
  std::ofstream(folder_ / ".dcgn_notes") << "somebody's own";
  kill_while_writing(true);
  EXPECT_EQ(files(), 3);
  EXPECT_EQ(text_in(path_), "old");
  OutputFile(path_).write_durably([&](const std::string& name) {
    EXPECT_EQ(files(), 3);  // with the one that is being written
    // Nor does another write remove it, while this process lives.
    OutputFile(folder_ / "y.txt").write("y");
    EXPECT_TRUE(fs::exists(name));
    std::ofstream(name) << "new";
  });
  EXPECT_EQ(text_in(path_), "new");
  EXPECT_EQ(files(), 3);  // with y.txt
  kill_while_writing(false);
  EXPECT_EQ(files(), 4);
  OutputFile(path_).write("newer");
  EXPECT_EQ(files(), 3);
  EXPECT_TRUE(fs::exists(folder_ / ".dcgn_notes"));
}

// As a disk does that is full.
TEST_F(OutputFileTest, AFileThatMayNotGrowStaysWhatItWas) {
  std::ofstream(path_) << "old";
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = before;
  small.rlim_cur = 1 << 16;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const dcgn::Error error = error_of([&] { OutputFile(path_).write(std::string(1 << 20, 'x')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(error.code(), dcgn::Code::io);
  EXPECT_TRUE(contains(error.what(), path_.string() + ": not written: File too large"));
  EXPECT_EQ(text_in(path_), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, PipesAndDevicesGetAStream) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = text_in(path_); });
  OutputFile(path_).write("through the pipe");
  reader.join();
  EXPECT_EQ(got, "through the pipe");
  EXPECT_TRUE(fs::is_fifo(path_));

  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 20}) {
    const dcgn::Error error = error_of([&] { OutputFile("/dev/full").write(std::string(bytes, 'x')); });
    EXPECT_EQ(error.code(), dcgn::Code::io);
    EXPECT_TRUE(contains(error.what(), "/dev/full: not written: No space left on device"));
  }
}

TEST_F(OutputFileTest, TheReasonIsThatOfTheWriteWhichFailed) {
  const dcgn::Error error = error_of([&] {
    OutputFile("/dev/full").write([](std::FILE* file) {
      for (int i = 0; i < 100000; ++i) std::fputs("a line, whose success nobody asks for\n", file);
    });
  });
  EXPECT_EQ(error.code(), dcgn::Code::io);
  EXPECT_TRUE(contains(error.what(), "/dev/full: not written: No space left on device")) << error.what();
}

TEST_F(OutputFileTest, AFolderThatTakesNoNewFileHasTheOlderOneWrittenOver) {
  std::ofstream(path_) << "a long old text";
  fs::permissions(path_, fs::perms{0666});
  fs::permissions(folder_, fs::perms{0555});
  const uid_t user = ::geteuid();
  ASSERT_EQ(::seteuid(user == 0 ? 65534 : user), 0);  // root may write everywhere
  const dcgn::Error written = error_of([&] { OutputFile(path_).write("new"); });
  const dcgn::Error refused = error_of([&] { const OutputFile file(folder_ / "y.txt"); });
  ASSERT_EQ(::seteuid(user), 0);
  fs::permissions(folder_, fs::perms{0755});
  EXPECT_EQ(written.code(), dcgn::Code::ok) << written.what();
  EXPECT_EQ(text_in(path_), "new");
  EXPECT_TRUE(contains(refused.what(), "y.txt: cannot be written: Permission denied"));
}

}  // namespace
