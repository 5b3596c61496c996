// What a run was like over time, as comma-separated values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::stencil {

struct Record {
  std::int64_t step = 0;
  double time = 0, free_energy = 0, mass = 0;
  double domain_length = 0;  // not a number where it is not known

  bool operator==(const Record&) const = default;
};

// A line of titles, then one for each record, with as many digits as give the same numbers when they are read; what is
// not known is left empty.
std::string to_csv(const std::vector<Record>& records);
// The same back. Throws Error(io), naming the file and the line, where it is something else.
std::vector<Record> records_from_csv(std::string_view text, const std::string& file);

}  // namespace dcgn::stencil
