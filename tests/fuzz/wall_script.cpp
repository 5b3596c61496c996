// Scripts of what users of a wall do: frames never go back.
#include "fuzz.hpp"

#include "wall/src/script.hpp"

using namespace dcgn;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::is_taken([&] {
    std::int64_t before = 0;
    for (const auto& [frame, event] : wall::parse_script(fuzz::text_of(data, size), "in.script")) {
      fuzz::require(frame >= before, "frames are in order");
      fuzz::require(event.modifiers >= 0 && event.modifiers < 8, "modifiers are three bits");
      before = frame;
    }
  });
  return 0;
}
