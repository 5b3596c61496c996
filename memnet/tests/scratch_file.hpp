// Tests that read a file of their own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace dcgn::memnet {

class ScratchFile : public testing::Test {
 protected:
  explicit ScratchFile(const std::string& ending = "")
      : path_((std::filesystem::temp_directory_path() / ("dcgn_memnet_" + std::to_string(::getpid()) + "_" +
                                                         testing::UnitTest::GetInstance()->current_test_info()->name()))
                  .string() +
              ending) {}
  ~ScratchFile() override { std::filesystem::remove(path_); }

  void write(const std::string& content) const { std::ofstream(path_, std::ios::binary) << content; }

  std::string path_;
};

}  // namespace dcgn::memnet
