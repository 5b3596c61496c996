#include "datatype/kernel_table.hpp"

#include <vector>

namespace dcgn::datatype {

class KernelTable::OnDevice {
 public:
  OnDevice(const Device& device, const Table& table, const std::vector<std::uint32_t>& rows)
      : displacements(device, table.displacements.size()),
        begin(device, table.begin.size()),
        first_rows(device, rows.size()) {
    displacements.upload(table.displacements.data());
    begin.upload(table.begin.data());
    first_rows.upload(rows.data());
  }

  DeviceBuffer<std::int64_t> displacements, begin;
  DeviceBuffer<std::uint32_t> first_rows;
};

KernelTable::KernelTable(const Table& table) : table_(table), row_bytes_(table.begin[1]) {
  std::int64_t bits = unit_;
  for (std::size_t i = 0; i < table.displacements.size(); ++i) {
    bits |= table.displacements[i] | table.begin[i + 1];
    if (table.begin[i + 1] - table.begin[i] != row_bytes_) row_bytes_ = 0;
  }
  unit_ = bits & -bits;
}

std::shared_ptr<const KernelTable::OnDevice> KernelTable::on(const Device& device) {
  const std::lock_guard lock(mutex_);
  auto& entry = on_devices_[device.index()];
  if (!entry) {
    constexpr std::int64_t granule = std::int64_t{1} << TableView::granule_bits;
    std::vector<std::uint32_t> first_rows;
    std::uint32_t row = 0;
    for (std::int64_t at = 0; at < table_.bytes() + granule; at += granule) {
      while (row + 1 < static_cast<std::uint32_t>(table_.rows()) && table_.begin[row + 1] <= at) ++row;
      first_rows.push_back(row);
    }
    entry = std::make_shared<const OnDevice>(device, table_, first_rows);
  }
  return entry;
}

TableView KernelTable::view(const OnDevice& table) {
  return {table.displacements.data(), table.begin.data(), table.first_rows.data()};
}

}  // namespace dcgn::datatype
