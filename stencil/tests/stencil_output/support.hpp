// What tests of files have in common.
#pragma once

#include <dcgn/element.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace dcgn::test {

// A folder of the test's own, removed with it.
class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    folder_ = std::filesystem::temp_directory_path() / ("dcgn_stencil_" + std::to_string(::getpid()) + "_" +
                                                        testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directory(folder_);
  }
  ~FolderTest() override { std::filesystem::remove_all(folder_); }
  std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

inline std::string bytes_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
std::vector<T> random_cells(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> cells(count);
  for (T& cell : cells) {
    if constexpr (std::is_floating_point_v<T>) {
      cell = static_cast<T>(uniform(random));
    } else {
      using Real = decltype(cell.real());
      const double real = uniform(random), imaginary = uniform(random);
      cell = T(static_cast<Real>(real), static_cast<Real>(imaginary));
    }
  }
  return cells;
}

}  // namespace dcgn::test
