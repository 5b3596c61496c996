// Layouts as plain words, for processes that read each other's memory.
#pragma once

#include <dcgn/message/exports.hpp>

#include "datatype/layout.hpp"

#include <cstdint>
#include <memory>

namespace dcgn::transport {

// Its leaves; false where there are too many of them, or tables.
bool write_layout(const datatype::Layout& layout, message::ExportedMemory& told);
// What another process has written; null where that is no layout.
std::shared_ptr<const datatype::Layout> read_layout(const message::ExportedMemory& told);

// Whether the first `message` bytes of a layout, or in a row where it has no leaves, are within an allocation, from
// `origin` of it on.
bool is_within(const datatype::Layout& layout, std::int64_t origin, std::uint64_t message, std::uint64_t allocation);

}  // namespace dcgn::transport
