// Where a physical address lies: section VI.A's order of fields, RW:CLH:BK:CT:VL:LC:CLL:BY from the highest bit to the
// lowest. A 4 KB page lies within one cluster and goes round its local cubes line by line.
#pragma once

#include <dcgn/error.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace dcgn::memnet {

// A place of a byte in the memory network.
struct Location {
  std::uint32_t cluster = 0;  // CT: whose local cubes
  std::uint32_t local = 0;    // LC: which of the cluster's cubes
  std::uint32_t vault = 0;    // VL
  std::uint32_t bank = 0;     // BK
  std::uint64_t row = 0;      // RW
  std::uint32_t column = 0;   // CLH and CLL: in units of 32 bytes
  std::uint32_t byte = 0;     // BY
  friend bool operator==(const Location&, const Location&) = default;
};

// Sizes of the fields. All but the number of clusters are powers of two; the number of clusters may be any, since five
// share a UMN: CT is then a digit of that base. Not in the paper, assumed: a row is 2 KB and a column 32 bytes.
struct AddressMap {
  std::uint32_t clusters = 4;
  std::uint32_t locals = 4;
  std::uint32_t vaults = 16;
  std::uint32_t banks = 16;
  std::uint32_t line_bytes = 128;  // CLL and BY
  std::uint32_t row_bytes = 2048;
  std::uint32_t rows = 8192;  // 4 GB a cube
  static constexpr std::uint32_t column_bytes = 32;
  static constexpr std::uint32_t page_bytes = 4096;

  std::uint64_t bytes() const {
    return std::uint64_t{clusters} * locals * vaults * banks * std::uint64_t{row_bytes} * rows;
  }

  // Throws Error(configuration) that names the field which is zero or not a power of two.
  void validate() const {
    struct Field {
      const char* name;
      std::uint32_t value;
    };
    const std::array<Field, 6> fields{Field{"locals", locals},       Field{"vaults", vaults},
                                      Field{"banks", banks},         Field{"line_bytes", line_bytes},
                                      Field{"row_bytes", row_bytes}, Field{"rows", rows}};
    for (const Field& field : fields) {
      if (!std::has_single_bit(field.value)) fail(field.name, field.value, "a power of two");
    }
    if (clusters == 0) fail("clusters", clusters, "1 or more");
    if (line_bytes < column_bytes) fail("line_bytes", line_bytes, "32 or more");
    if (row_bytes < line_bytes) fail("row_bytes", row_bytes, "a line or more");
  }

  // Throws Error(invalid_size) for an address past the end of memory.
  Location locate(std::uint64_t address) const {
    if (address >= bytes()) {
      throw Error(Code::invalid_size, "memnet",
                  "address " + std::to_string(address) + ", expected less than " + std::to_string(bytes()));
    }
    const auto digit = [&address](std::uint32_t base) {
      const auto value = static_cast<std::uint32_t>(address % base);
      address /= base;
      return value;
    };
    Location at;
    at.byte = digit(column_bytes);
    at.column = digit(line_bytes / column_bytes);
    at.local = digit(locals);
    at.vault = digit(vaults);
    at.cluster = digit(clusters);
    at.bank = digit(banks);
    at.column += digit(row_bytes / line_bytes) * (line_bytes / column_bytes);
    at.row = address;
    return at;
  }

  // The address of a place: what locate() undoes.
  std::uint64_t address(const Location& at) const {
    const std::uint32_t low = line_bytes / column_bytes;
    std::uint64_t address = at.row * (row_bytes / line_bytes) + at.column / low;
    address = address * banks + at.bank;
    address = address * clusters + at.cluster;
    address = address * vaults + at.vault;
    address = address * locals + at.local;
    address = address * low + at.column % low;
    return address * column_bytes + at.byte;
  }

 private:
  [[noreturn]] static void fail(const char* name, std::uint32_t value, const char* expected) {
    throw Error(Code::configuration, "memnet",
                std::string("address map: ") + name + " is " + std::to_string(value) + ", expected " + expected);
  }
};

// Random page placement: each page of a program goes to a frame of a cluster drawn by the clusters' weights. It keeps
// no table: a page's frame is a hash of its number and the seed, so that any order of accesses sees the same placement.
// Two pages may hash to one frame, which shifts a few row hits and nothing else.
class PagePlacement {
 public:
  // `weights`: of the clusters, in order; not negative, at least one above zero. Throws Error(configuration).
  PagePlacement(const AddressMap& map, const std::vector<double>& weights, std::uint64_t seed)
      : map_(map), seed_(seed), limits_(weights.size()) {
    map_.validate();
    if (weights.size() != map_.clusters) {
      throw Error(Code::configuration, "memnet",
                  std::to_string(weights.size()) + " cluster weights, expected " + std::to_string(map_.clusters));
    }
    for (const double weight : weights) {
      if (!(weight >= 0)) {
        throw Error(Code::configuration, "memnet", "cluster weight " + std::to_string(weight) + ", expected 0 or more");
      }
    }
    std::partial_sum(weights.begin(), weights.end(), limits_.begin());
    if (!(limits_.back() > 0)) {
      throw Error(Code::configuration, "memnet", "cluster weights are all 0, expected one above 0");
    }
  }

  const AddressMap& map() const { return map_; }

  // The place of an address of the program.
  Location place(std::uint64_t address) const {
    std::uint64_t in_page = address % AddressMap::page_bytes;
    const std::uint64_t page = address / AddressMap::page_bytes;
    std::uint64_t frame = mix(page ^ mix(seed_));
    const double draw = static_cast<double>(mix(frame) >> 11) * 0x1p-53 * limits_.back();
    Location at;
    while (at.cluster + 1 < limits_.size() && draw >= limits_[at.cluster]) ++at.cluster;
    const auto digit = [](std::uint64_t& number, std::uint64_t base) {
      const std::uint64_t value = number % base;
      number /= base;
      return static_cast<std::uint32_t>(value);
    };
    const std::uint32_t low = map_.line_bytes / AddressMap::column_bytes;
    at.byte = digit(in_page, AddressMap::column_bytes);
    at.column = digit(in_page, low);
    at.local = digit(in_page, map_.locals);
    // A page covers some of the vaults only: the frame says which.
    const std::uint32_t lines = AddressMap::page_bytes / map_.line_bytes;
    const std::uint32_t covered = lines > map_.locals ? lines / map_.locals : 1;
    at.vault = (static_cast<std::uint32_t>(in_page) + digit(frame, map_.vaults) * covered) % map_.vaults;
    at.bank = digit(frame, map_.banks);
    at.column += digit(frame, map_.row_bytes / map_.line_bytes) * low;
    at.row = frame % map_.rows;
    return at;
  }

 private:
  // Splitmix's finaliser: every bit of the result depends on every bit of the number.
  static std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  AddressMap map_;
  std::uint64_t seed_;
  std::vector<double> limits_;  // cumulative weights
};

}  // namespace dcgn::memnet
