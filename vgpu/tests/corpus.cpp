#include "corpus.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace dcgn::test {

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + " cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::vector<std::string> corpus_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(DCGN_CORPUS)))
    if (entry.path().extension() == ".ptx") names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string corpus_text(const std::string& name) { return read(std::filesystem::path(DCGN_CORPUS) / name); }

std::string ptx_module(const std::string& body) { return ".version 9.0\n.target sm_90\n.address_size 64\n" + body; }

std::optional<std::string> find_ptxas() {
  std::stringstream path(std::string(std::getenv("PATH") ? std::getenv("PATH") : "") + ":/usr/local/cuda/bin");
  for (std::string folder; std::getline(path, folder, ':');) {
    const std::string file = folder + "/ptxas";
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

std::string assemble(const std::string& ptxas, const std::string& text, const std::string& target) {
  const auto scratch = std::filesystem::temp_directory_path() / ("dcgn_ptx_" + std::to_string(::getpid()));
  const std::string in = scratch.string() + ".ptx", out = scratch.string() + ".o", said = scratch.string() + ".txt";
  std::ofstream(in, std::ios::binary) << text;
  // -c: relocatable, so that what other modules define may be missing.
  const std::string command =
      "'" + ptxas + "' -c -arch=" + target + " '" + in + "' -o '" + out + "' >'" + said + "' 2>&1";
  const int status = std::system(command.c_str());
  std::string result;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) result = "ptxas failed: " + read(said);
  for (const std::string& file : {in, out, said}) std::filesystem::remove(file);
  return result;
}

}  // namespace dcgn::test
