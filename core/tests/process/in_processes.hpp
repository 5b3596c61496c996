// What the tests of several processes have in common.
#pragma once

#include "tests/processes.hpp"

#include <dcgn/dcgn.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace dcgn::test {

class Processes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (processes() == 1) GTEST_SKIP() << "run by mpirun: core/tests/process";
  }
};

// Of each process: the shape that its number gives.
inline NodeShape shape_of(int process) { return {.cpus = 1 + process % 2, .gpus = process == 1 ? 2 : 0, .slots = 2}; }

inline Config with(const NodeShape& node) {
  Config c;
  c.nodes = {node};
  c.deadline_s = 20;
  return c;
}

inline unsigned char content(int from, int to, std::size_t i) {
  return static_cast<unsigned char>(31 * from + 7 * to + static_cast<int>(i % 251));
}

}  // namespace dcgn::test
