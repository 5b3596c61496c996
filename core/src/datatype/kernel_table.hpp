// Tables of rows in the memory of devices, for kernels: copied there when a kernel first needs one, and kept as long as
// the layout, or a launch that reads it.
#pragma once

#include <dcgn/device.hpp>

#include "datatype/layout.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace dcgn::datatype {

class KernelTable {
 public:
  explicit KernelTable(const Table& table);

  // A power of two, at most 16, that divides all that the table has.
  std::int64_t unit() const { return unit_; }
  // The bytes of each row, where all have as many; else 0.
  std::int64_t row_bytes() const { return row_bytes_; }

  class OnDevice;
  // The first call for a device copies the table, and blocks until it is there.
  std::shared_ptr<const OnDevice> on(const Device& device);
  static TableView view(const OnDevice& table);

 private:
  const Table& table_;
  std::int64_t unit_ = 16, row_bytes_ = 0;
  std::mutex mutex_;
  std::map<int, std::shared_ptr<const OnDevice>> on_devices_;
};

}  // namespace dcgn::datatype
