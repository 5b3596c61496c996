// Packs and unpacks ranges of a layout in memory that the host can reach.
#pragma once

#include "datatype/layout.hpp"
#include "datatype/move.hpp"

#include <cstddef>
#include <cstdint>

namespace dcgn::datatype {

// The packed bytes from begin to end; 0 <= begin <= end <= layout.bytes(). `memory` is what displacements are counted
// from.
void pack_on_host(const Layout& layout, const std::byte* memory, std::byte* packed, std::int64_t begin,
                  std::int64_t end);
void unpack_on_host(const Layout& layout, std::byte* memory, const std::byte* packed, std::int64_t begin,
                    std::int64_t end);

// Between any two sides. Where both have gaps, through a buffer that stays in the cache.
void move_on_host(const Transfer& transfer);

}  // namespace dcgn::datatype
