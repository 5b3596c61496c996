// Runs the built command as a user would.
#pragma once

#include <string>

namespace dcgn::test {

struct Result {
  int code;
  std::string out, err;
};

// `arguments` as typed into a shell, after variables for the environment if any ("DCGN_SEED=1"). Runs in a temporary
// folder of this test's own. `output` is where stdout goes; only by default does the result have it.
Result run_dcgn(const std::string& arguments, const std::string& environment = "", const std::string& output = ".out");

// The folder in which run_dcgn() runs; removed when the program ends.
const std::string& scratch_folder();

// One line, and no more.
bool is_one_line(const std::string& text);

}  // namespace dcgn::test
