// How a job of ranks that make mistakes ends.
#pragma once

#include "tests/expect.hpp"

#include <dcgn/job.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

namespace dcgn::test {

inline void expect_text(const std::string& text, const std::string& part) { EXPECT_TRUE(contains(text, part)); }

// What stops a job of so many CPU ranks; the code is `code`, or which one it is depends on who is first.
inline std::string failure(std::optional<Code> code, int ranks, const std::function<void(Comm&)>& kernel) {
  Config config;
  config.nodes = {{.cpus = ranks}};
  config.deadline_s = 20;
  config.eager_bytes = 512;  // a rank whose message nobody takes goes on to its next call
  Job job(config);
  job.cpu([&](Comm& comm) { kernel(comm); });
  try {
    job.run();
  } catch (const Error& e) {
    EXPECT_EQ(to_string(e.code()), to_string(code.value_or(e.code()))) << e.what();
    return e.what();
  }
  return "no error";
}

}  // namespace dcgn::test
