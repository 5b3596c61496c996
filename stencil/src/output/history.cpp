#include "stencil/src/output/history.hpp"

#include <dcgn/error.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace dcgn::stencil {

namespace {

constexpr std::string_view titles = "step,time,free_energy,mass,domain_length";

std::string cell_text(double value) {
  if (std::isnan(value)) return {};
  std::array<char, 32> text{};  // 24 suffice
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

// Takes the first line, or field, and what separates it from the next.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t length = text.find(end);
  const std::string_view part = text.substr(0, length);
  text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
  return part;
}

template <class Number>
bool take_number(std::string_view& line, Number& value) {
  const std::string_view word = take_until(line, ',');
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

std::string to_csv(const std::vector<Record>& records) {
  std::string text = std::string(titles) + "\n";
  for (const Record& r : records)
    text += std::to_string(r.step) + "," + cell_text(r.time) + "," + cell_text(r.free_energy) + "," +
            cell_text(r.mass) + "," + cell_text(r.domain_length) + "\n";
  return text;
}

std::vector<Record> records_from_csv(std::string_view text, const std::string& file) {
  const auto fail = [&file](std::size_t number, std::string_view line) {
    throw Error(Code::io, "stencil",
                file + ":" + std::to_string(number) + ": '" + std::string(line) + "', expected " +
                    (number == 1 ? std::string(titles) : "numbers for " + std::string(titles)));
  };
  if (const std::string_view first = take_until(text, '\n'); first != titles) fail(1, first);
  std::vector<Record> records;
  for (std::size_t number = 2; !text.empty(); ++number) {
    const std::string_view line = take_until(text, '\n');
    std::string_view left = line;
    Record r;
    bool good = take_number(left, r.step) && take_number(left, r.time) && take_number(left, r.free_energy) &&
                take_number(left, r.mass);
    if (left.empty())
      r.domain_length = std::numeric_limits<double>::quiet_NaN();
    else
      good = good && take_number(left, r.domain_length) && left.empty();
    if (!good) fail(number, line);
    records.push_back(r);
  }
  return records;
}

}  // namespace dcgn::stencil
