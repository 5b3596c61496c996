// Runs the built command as a user would.
#pragma once

#include <nlohmann/json_fwd.hpp>

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

// What a file of that name holds in scratch_folder(); empty where there is none.
std::string content_of(const std::string& name);

// The JSON on stdout of a command that went well and had nothing to say on stderr: expects that.
nlohmann::json document_of(const Result& result);

// One line, and no more.
bool is_one_line(const std::string& text);

}  // namespace dcgn::test
