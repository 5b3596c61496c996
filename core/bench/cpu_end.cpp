#include "core/bench/cpu_end.hpp"

#include <dcgn/comm.hpp>

#include <algorithm>
#include <vector>

namespace dcgn::bench {

namespace {

class CpuEnd {
 public:
  explicit CpuEnd(Comm& comm) : comm_(comm) {}
  unsigned rank() const { return 0; }
  unsigned size() const { return 1; }
  bool leader() const { return true; }
  void sync() const {}
  bool send(const void* data, std::int64_t bytes) const {
    comm_.send_bytes(data, bytes, other());
    return true;
  }
  bool recv(void* data, std::int64_t bytes) const {
    comm_.recv_bytes(data, bytes, other());
    return true;
  }
  bool window(const unsigned char* out, int sends, unsigned char* in, int receives, std::int64_t bytes) const {
    requests_.clear();
    for (int i = 0; i < receives; ++i) requests_.push_back(comm_.irecv_bytes(in + i * bytes, bytes, other()));
    for (int i = 0; i < sends; ++i) requests_.push_back(comm_.isend_bytes(out + i * bytes, bytes, other()));
    comm_.wait_all(Span<const Request>(requests_.data(), requests_.size()));
    return true;
  }

 private:
  int other() const { return 1 - comm_.rank(); }

  Comm& comm_;
  mutable std::vector<Request> requests_;
};

// One whose messages lie in device memory, which the CPU cannot look into: it fills and checks them piece by piece.
class DeviceEnd : public CpuEnd {
 public:
  DeviceEnd(Comm& comm, const Device& device) : CpuEnd(comm), device_(device) {}
  const Device& device() const { return device_; }

 private:
  Device device_;
};

constexpr std::int64_t piece_bytes = 1 << 20;

void fill(const DeviceEnd& end, const Buffers& b, std::int64_t bytes, unsigned salt) {
  std::vector<unsigned char> out(piece_bytes), in(piece_bytes);
  for (std::int64_t begin = 0; begin < bytes; begin += piece_bytes) {
    const std::int64_t count = std::min(piece_bytes, bytes - begin);
    for (std::int64_t i = 0; i < count; ++i) {
      out[static_cast<std::size_t>(i)] = pattern(begin + i, salt);
      in[static_cast<std::size_t>(i)] = static_cast<unsigned char>(~pattern(begin + i, 1 - salt));
    }
    end.device().copy(b.out + begin, out.data(), static_cast<std::size_t>(count));
    end.device().copy(b.in + begin, in.data(), static_cast<std::size_t>(count));
  }
}

void count_wrong(const DeviceEnd& end, const Buffers& b, std::int64_t bytes, unsigned salt) {
  std::vector<unsigned char> in(piece_bytes);
  b.control[1] = 0;
  for (std::int64_t begin = 0; begin < bytes; begin += piece_bytes) {
    const std::int64_t count = std::min(piece_bytes, bytes - begin);
    end.device().copy(in.data(), b.in + begin, static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      b.control[1] += in[static_cast<std::size_t>(i)] != pattern(begin + i, 1 - salt);
  }
}

template <class AnyPlan>
void lead_or_follow(Comm& comm, const std::optional<Device>& device, const Buffers& buffers, const AnyPlan& plan,
                    Samples* samples) {
  const auto run = [&](const auto& end) {
    if (comm.rank() == 0)
      lead(end, buffers, plan, *samples);
    else
      follow(end, buffers, plan);
  };
  device ? run(DeviceEnd(comm, *device)) : run(CpuEnd(comm));
}

}  // namespace

void take_part(Comm& comm, const std::optional<Device>& device, const Buffers& buffers, const Plan& plan,
               Samples* samples) {
  lead_or_follow(comm, device, buffers, plan, samples);
}

void take_part(Comm& comm, const std::optional<Device>& device, const Buffers& buffers, const WindowPlan& plan,
               Samples* samples) {
  lead_or_follow(comm, device, buffers, plan, samples);
}

}  // namespace dcgn::bench
