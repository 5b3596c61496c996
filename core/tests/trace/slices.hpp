// What a written trace has, as its tests look at it: a slice a line.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

namespace dcgn::test {

struct Slice {
  std::string name, category;
  int node = 0, thread = 0;
  std::int64_t begin = 0, end = 0;           // ns
  std::map<std::string, std::int64_t> args;  // those that are numbers
  std::string slow;
  std::int64_t operator[](const std::string& arg) const { return args.count(arg) ? args.at(arg) : INT64_MIN; }
};

struct Slices {
  std::vector<Slice> all;
  std::map<int, std::map<std::string, std::int64_t>> ranks;  // what each rank's name says beside
  std::int64_t clock_error = -1;
  std::string text;

  std::vector<Slice> of(int thread) const {
    std::vector<Slice> own;
    for (const Slice& s : all)
      if (s.thread == thread) own.push_back(s);
    return own;
  }
};

inline std::string text_after(const std::string& line, const std::string& key) {
  const std::size_t at = line.find("\"" + key + "\":\"");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size() + 4;
  return line.substr(begin, line.find('"', begin) - begin);
}
inline std::int64_t number_after(const std::string& line, const std::string& key) {
  const std::size_t at = line.find("\"" + key + "\":");
  return at == std::string::npos ? INT64_MIN : std::strtoll(line.c_str() + at + key.size() + 3, nullptr, 10);
}
// Of microseconds with three decimals.
inline std::int64_t ns_after(const std::string& line, const std::string& key) {
  const std::size_t at = line.find("\"" + key + "\":"), dot = line.find('.', at);
  return number_after(line, key) * 1000 + std::strtoll(line.substr(dot + 1, 3).c_str(), nullptr, 10);
}

inline Slices read_slices(const std::string& path) {
  Slices slices;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line); slices.text += line + "\n") {
    const std::string kind = text_after(line, "ph");
    std::map<std::string, std::int64_t> args;
    for (const char* key : {"peer", "tag", "communicator", "bytes", "request", "from", "from_tag", "from_bytes", "rank",
                            "process", "node", "device", "slot", "cpu", "dropped"})
      if (const auto value = number_after(line, key); value != INT64_MIN) args[key] = value;
    const int node = static_cast<int>(number_after(line, "pid")), thread = static_cast<int>(number_after(line, "tid"));
    if (kind == "X") {
      const std::int64_t begin = ns_after(line, "ts");
      slices.all.push_back({text_after(line, "name"), text_after(line, "cat"), node, thread, begin,
                            begin + ns_after(line, "dur"), args, text_after(line, "slow")});
    } else if (kind == "M" && args.count("rank")) {
      slices.ranks[static_cast<int>(args["rank"])] = args;
    }
    if (line.find("otherData") != std::string::npos) slices.clock_error = number_after(line, "clock_error_ns");
  }
  return slices;
}

// A folder of the test's own, gone with it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "dcgn_trace_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::size_t files() const {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++n;
    return n;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace dcgn::test
