// Checkpoints that were damaged: the input says how one of this program's making is, byte by byte. It is refused, or
// what is read of it is what was written.
#include "fuzz.hpp"

#include "base/output_file.hpp"
#include "stencil/src/output/checkpoint.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

using namespace dcgn;
using namespace dcgn::stencil;

// HDF5 loses some of what it has read of a file whose metadata are damaged.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return 1; }

namespace {

struct Written {
  CheckpointState state{"heat", 77, 1.25, {{"D", 0.5}, {"dt", 1e-3}}};
  std::vector<double> u;
  std::vector<complex<float>> psi;
  FieldShape u_shape{{5, 4, 3}, CellType::float64, {1, 1, 2}}, psi_shape{{7}, CellType::complex64, {0.5}};
  std::string file;

  Written() {
    for (int i = 0; i < 60; ++i) u.push_back(1.0 / (3 + i));
    for (int i = 0; i < 7; ++i) psi.emplace_back(1.f / static_cast<float>(7 + i), -1.f / static_cast<float>(9 + i));
    const std::string path =
        (std::filesystem::temp_directory_path() / ("dcgn_fuzz_" + std::to_string(::getpid()))).string();
    {
      base::OutputFile output(path);
      const FieldSource fields[] = {source_of("u", u.data(), u.size() * sizeof u[0], u_shape),
                                    source_of("psi", psi.data(), psi.size() * sizeof psi[0], psi_shape)};
      write_checkpoint(output, state, fields);
    }
    std::ifstream in(path, std::ios::binary);
    file.assign(std::istreambuf_iterator<char>(in), {});
    std::filesystem::remove(path);
  }
};

template <class T>
void require_cells(const CheckpointFile& file, const char* name, const std::vector<T>& cells) {
  std::vector<T> found(cells.size());
  file.read(name, 0, file.fields().at(name).layers(), found.data());
  fuzz::require(std::memcmp(found.data(), cells.data(), cells.size() * sizeof(T)) == 0, "cells are what they were");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Written written;
  static const fuzz::InputFile file;
  fuzz::Numbers numbers(data, size);
  std::string bytes = written.file;
  while (numbers.size() > 0 && !bytes.empty()) {
    const auto what = numbers.next<std::uint8_t>();
    const std::size_t at = numbers.next<std::uint16_t>() % bytes.size();
    const auto value = numbers.next<std::uint8_t>();
    if (what < 128)
      bytes[at] = static_cast<char>(bytes[at] ^ value);
    else if (what < 192)
      bytes[at] = static_cast<char>(value);
    else if (what < 224)
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min<std::size_t>(value, bytes.size() - at),
                  '\0');
    else if (what < 240)
      bytes.erase(at, value);
    else if (what < 248)
      bytes.insert(at, value, static_cast<char>(what));
    else
      bytes.resize(at + 1);
  }
  file.write(bytes.data(), bytes.size());
  const bool taken = fuzz::is_taken([&] {
    const CheckpointFile found(file.path());
    fuzz::require(found.state() == written.state, "the state is what it was");
    fuzz::require(found.fields().size() == 2 && found.fields().at("u") == written.u_shape &&
                      found.fields().at("psi") == written.psi_shape,
                  "fields are what they were");
    require_cells(found, "u", written.u);
    require_cells(found, "psi", written.psi);
  });
  fuzz::require(taken || bytes != written.file, "what is whole is taken");
  return 0;
}
