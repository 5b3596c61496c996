#include "base/input_file.hpp"

#include <dcgn/error.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>

namespace dcgn::base {

std::string read_configuration(const std::string& path, const std::string& name) {
  constexpr std::size_t most_mib = 64;
  const auto refuse = [&](const std::string& why) { throw Error(Code::io, "configuration", name + ": " + why); };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "r"), &std::fclose);
  std::string content;
  std::array<char, 4096> piece;
  if (file)
    while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), file.get())) {
      content.append(piece.data(), got);
      if (content.size() > most_mib << 20) refuse("has no end within " + std::to_string(most_mib) + " MiB");
    }
  if (!file || std::ferror(file.get())) refuse(std::string("cannot be read: ") + std::strerror(errno));
  return content;
}

std::string read_file(const std::string& path, const std::string& operation) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  std::string content;
  std::array<char, 65536> piece;
  if (file)
    while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), file.get()))
      content.append(piece.data(), got);
  if (!file || std::ferror(file.get()))
    throw Error(Code::io, operation, path + ": cannot be read: " + std::strerror(errno));
  return content;
}

}  // namespace dcgn::base
