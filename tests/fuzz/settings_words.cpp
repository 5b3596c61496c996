// Settings' values, as variables and words of a file have them: the input as each kind of setting in turn.
#include "fuzz.hpp"

#include <dcgn/config.hpp>

using namespace dcgn;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr const char* name = "DCGN_TEST_FUZZ";
  const std::string value = fuzz::text_of(data, size);
  fuzz::require(setenv(name, value.c_str(), 1) == 0, "the variable is set");
  const auto is_in = [](auto number, auto least, auto most) {
    fuzz::require(number >= least && number <= most, "a number is in its range");
  };
  fuzz::is_taken([&] { is_in(detail::setting(name, 1.0, 0.5), 0.5, 1e9); });
  fuzz::is_taken(
      [&] { is_in(detail::setting(name, std::uint64_t{7}, std::uint64_t{7}, std::uint64_t{1000}), 7u, 1000u); });
  fuzz::is_taken([&] {
    if (const std::uint64_t bytes = detail::size_setting(name, 256, 1u << 30)) is_in(bytes, 256u, 1u << 30);
  });
  fuzz::is_taken([&] { detail::optional_setting(name); });
  fuzz::is_taken([&] {
    fuzz::require(detail::flag_setting(name, "on", "off", true) == (value[0] == 'o' && value[1] == 'n'), "it is on");
  });
  fuzz::is_taken([&] { detail::copy_engine_setting(name); });
  fuzz::is_taken([&] { is_in(detail::without_setting(name), 0u, 511u); });
  fuzz::is_taken([&] {
    const std::string word = detail::word_setting(name, {"openmpi", "tcp"});
    fuzz::require(word == "openmpi" || word == "tcp", "it is one of the words");
  });
  return 0;
}
