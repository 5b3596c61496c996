#include <dcgn/gpu/device_datatype.hpp>

#include "datatype/leaf_places.hpp"

#include <utility>

namespace dcgn {

namespace {

struct Parts {
  std::vector<datatype::KernelLeaf> leaves;
  std::int64_t bytes = 0;
  bool contiguous = true;
  std::int64_t displacement = 0;
  std::vector<std::shared_ptr<const void>> tables;
};

Parts parts_of(const Device& device, const Datatype& type, std::int64_t count) {
  const auto layout = datatype::layout_of(type, count);
  Parts parts;
  datatype::Keep keep;
  for (const datatype::Leaf& leaf : layout->leaves)
    parts.leaves.push_back({datatype::places_of<std::uint64_t>(device, leaf, 1, 1, keep), leaf.displacement, leaf.begin,
                            leaf.bytes(), datatype::unit_of(leaf)});
  parts.bytes = layout->bytes();
  if (!layout->leaves.empty()) {
    const datatype::Leaf& first = layout->leaves.front();
    parts.contiguous = layout->leaves.size() == 1 && datatype::pattern_of(first) == datatype::Pattern::flat;
    parts.displacement = first.displacement;
  }
  parts.tables.assign(keep.begin(), keep.end());
  return parts;
}

DeviceBuffer<datatype::KernelLeaf> uploaded(const Device& device, const std::vector<datatype::KernelLeaf>& leaves) {
  DeviceBuffer<datatype::KernelLeaf> buffer(device, leaves.size());
  buffer.upload(leaves.data());
  return buffer;
}

}  // namespace

DeviceDatatype::DeviceDatatype(const Device& device, const Datatype& type, std::int64_t count)
    : type_(type), count_(count), leaves_(device, 0), bytes_(0) {
  Parts parts = parts_of(device, type, count);
  leaves_ = uploaded(device, parts.leaves);
  bytes_ = parts.bytes;
  contiguous_ = parts.contiguous;
  displacement_ = parts.displacement;
  tables_ = std::move(parts.tables);
}

}  // namespace dcgn
