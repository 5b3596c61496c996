// A GL context of the wall's own for a window of the program's: what it draws there and reads from there depends on
// nothing that the program has set, and changes nothing of it.
#pragma once

#include "state.hpp"

namespace dcgn::wall {

// It is the current one as long as this lives. All that the program has drawn is done by then.
class OwnContext {
 public:
  explicit OwnContext(const Window& window);
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;
  ~OwnContext();
};

}  // namespace dcgn::wall
