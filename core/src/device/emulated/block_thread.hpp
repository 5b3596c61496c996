// The carrier of one block: its threads take turns in order.
#pragma once

#include "carrier.hpp"

#include <cstdint>

namespace dcgn::device {

class BlockThread final : public Carrier {
 public:
  void run() { drive(); }

  void relax() override;
  void progressed() override { relaxed_ = 0; }

 private:
  void put(Fiber& fiber) override;
  Fiber* take() noexcept override;

  Fiber* first_ = nullptr;
  Fiber* last_ = nullptr;
  std::uint64_t queued_ = 0;
  std::uint64_t relaxed_ = 0;  // turns in a row that did nothing but wait
};

}  // namespace dcgn::device
