// For what must not throw: a device that has faulted refuses everything, and its fault is reported where it was met.
#pragma once

#include <dcgn/error.hpp>

namespace dcgn::device {

template <class Act>
void quietly(const Act& act) {
  try {
    act();
  } catch (const Error&) {
  }
}

}  // namespace dcgn::device
