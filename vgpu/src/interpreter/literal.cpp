#include "vgpu/src/interpreter/literal.hpp"

#include "vgpu/src/interpreter/half.hpp"
#include "vgpu/src/interpreter/warp.hpp"
#include "vgpu/src/ptx/token_stream.hpp"

#include <cctype>
#include <cfenv>
#include <cstdlib>
#include <string>

namespace dcgn::virtual_gpu::interpreter {

namespace {

Word of_double(double value, Type type) {
  if (type == Type::f32) return put(static_cast<float>(value));
  if (type == Type::f16) return to_small(Small::half, value, FE_TONEAREST);
  if (type == Type::bf16) return to_small(Small::bfloat, value, FE_TONEAREST);
  return put(value);
}

}  // namespace

std::optional<Word> literal(std::string_view text, Type type) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative || (!text.empty() && text.front() == '+')) text.remove_prefix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0) return std::nullopt;
  const bool hexadecimal = text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const char kind =
      text.size() > 1 && text[0] == '0' ? static_cast<char>(std::tolower(static_cast<unsigned char>(text[1]))) : ' ';
  if (kind == 'f' && text.size() == 10) {
    const auto bits = std::strtoul(std::string(text.substr(2)).c_str(), nullptr, 16);
    if (type == Type::f64) return put(static_cast<double>(get<float>(bits)) * (negative ? -1 : 1));
    return Word{bits} ^ (negative ? 0x80000000u : 0u);
  }
  if (kind == 'd' && text.size() == 18) {
    const Word bits = std::strtoull(std::string(text.substr(2)).c_str(), nullptr, 16);
    const double value = get<double>(bits) * (negative ? -1 : 1);
    return type == Type::f32 ? put(static_cast<float>(value)) : put(value);
  }
  if (!hexadecimal && text.find_first_of(".eE") != std::string_view::npos) {
    const double value = std::strtod(std::string(text).c_str(), nullptr);
    return of_double(negative ? -value : value, type);
  }
  bool fits = true;
  const Word value = ptx::whole_value(text, fits);
  if (!fits) return std::nullopt;
  if (is_float(type)) return of_double(negative ? -static_cast<double>(value) : static_cast<double>(value), type);
  return negative ? Word{0} - value : value;
}

std::optional<std::int64_t> sum(std::string_view text) {
  std::int64_t total = 0;
  while (!text.empty()) {
    bool negative = false, any = false;
    while (!text.empty() && (text.front() == '+' || text.front() == '-' || text.front() == ' ')) {
      negative = negative != (text.front() == '-');
      any = any || text.front() != ' ';
      text.remove_prefix(1);
    }
    if (text.empty()) return any ? std::nullopt : std::optional(total);
    std::size_t end = 0;
    while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) ++end;
    const std::optional<Word> value = literal(text.substr(0, end), Type::b64);
    if (!any || !value) return std::nullopt;
    total += static_cast<std::int64_t>(negative ? Word{0} - *value : *value);
    text.remove_prefix(end);
  }
  return total;
}

}  // namespace dcgn::virtual_gpu::interpreter
