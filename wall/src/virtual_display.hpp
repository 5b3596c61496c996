// An X server without a screen: for tests, demonstrations and pictures.
#pragma once

#include "wall/src/child.hpp"

#include <string>

namespace dcgn::wall {

class VirtualDisplay {
 public:
  // Throws Error(io) where there is no Xvfb, or it does not start.
  VirtualDisplay(int width, int height);
  const std::string& name() const { return name_; }  // as in DISPLAY

 private:
  Child server_;
  std::string name_;
};

}  // namespace dcgn::wall
