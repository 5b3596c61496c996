#include "command.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace dcgn::test {

namespace {

class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "dcgn_tool_XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    name_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(name_, ignored);
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

}  // namespace

const std::string& scratch_folder() {
  static const Scratch scratch;
  return scratch.name();
}

Result run_dcgn(const std::string& arguments, const std::string& environment, const std::string& output) {
  const std::string& folder = scratch_folder();
  const std::string command = "cd '" + folder + "' && env -u DCGN_SEED -u DCGN_EMULATED_GPUS " + environment + " '" +
                              DCGN_COMMAND + "' " + arguments + " >'" + output + "' 2>.err";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(".out"), content_of(".err")};
}

std::string content_of(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(scratch_folder() + "/" + name).rdbuf();
  return text.str();
}

nlohmann::json document_of(const Result& result) {
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return nlohmann::json::parse(result.out);
}

bool is_one_line(const std::string& text) { return !text.empty() && text.find('\n') == text.size() - 1; }

}  // namespace dcgn::test
