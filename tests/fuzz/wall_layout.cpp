// Layouts of walls: each screen is on the wall, has a name of its own and fits the display that is made for all.
#include "fuzz.hpp"

#include "wall/src/layout.hpp"

#include <set>

using namespace dcgn;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::is_taken([&] {
    wall::Layout layout = wall::parse_layout(text, "in.toml");
    std::set<std::string> names;
    for (const wall::Screen& screen : layout.screens) {
      const wall::Rect& part = screen.part;
      fuzz::require(part.x >= 0 && part.y >= 0 && part.width > 0 && part.height > 0 &&
                        part.x <= layout.width - part.width && part.y <= layout.height - part.height,
                    "a screen is on the wall");
      names.insert(screen.name);
    }
    fuzz::require(!layout.screens.empty() && names.size() == layout.screens.size(), "screens have different names");
    const wall::Extent all = wall::place_on_one_display(layout, ":1");
    for (const wall::Screen& screen : layout.screens)
      fuzz::require(screen.x >= 0 && screen.y >= 0 && screen.x <= all.width - screen.shown_width() &&
                        screen.y <= all.height - screen.shown_height(),
                    "a screen is on the display");
  });
  return 0;
}
