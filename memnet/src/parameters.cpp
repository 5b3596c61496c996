// The parameters' names and limits.
#include "memnet/src/parameters.hpp"

#include <dcgn/error.hpp>

#include <cmath>
#include <sstream>
#include <string>

namespace dcgn::memnet {
namespace {

template <class Value>
void require(bool holds, const char* key, const Value& value, const char* expected) {
  if (holds) return;
  std::ostringstream text;
  text << key << " is " << value << ", expected " << expected;
  throw Error(Code::configuration, "simulate", text.str());
}

}  // namespace

std::string_view to_string(Routing routing) noexcept {
  switch (routing) {
    case Routing::minimal: return "minimal";
    case Routing::valiant: return "valiant";
    case Routing::ugal: return "ugal";
    case Routing::adaptive: return "adaptive";
  }
  return "unknown";
}

std::string_view to_string(UgalQueues queues) noexcept {
  switch (queues) {
    case UgalQueues::route: return "route";
    case UgalQueues::channel: return "channel";
  }
  return "unknown";
}

int Parameters::serdes_cycles() const {
  // 3.2 ns at 1.25 GHz are four cycles, whatever the last bit of the product says.
  return static_cast<int>(std::ceil(serdes_ns * clock_ghz - 1e-9));
}

void Parameters::validate() const {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  const auto not_negative = [](double value) { return std::isfinite(value) && value >= 0; };
  require(positive(clock_ghz), "clock_ghz", clock_ghz, "more than 0");
  require(flit_bytes >= 1 && flit_bytes <= 4096, "flit_bytes", flit_bytes, "1..4096");
  require(not_negative(serdes_ns) && serdes_ns * clock_ghz <= 10000, "serdes_ns", serdes_ns, "0 to 10000 cycles");
  require(pass_through_stages >= 1 && pass_through_stages <= 16, "pass_through_stages", pass_through_stages, "1..16");
  require(not_negative(active_pj_per_bit), "active_pj_per_bit", active_pj_per_bit, "0 or more");
  require(not_negative(idle_pj_per_bit), "idle_pj_per_bit", idle_pj_per_bit, "0 or more");
  require(stages >= 1 && stages <= 16, "stages", stages, "1..16");
  require(threads >= 1 && threads <= 64, "threads", threads, "1..64");
  require(message_classes >= 1 && message_classes <= 4, "message_classes", message_classes, "1..4");
  require(vcs_per_class >= 1 && vcs_per_class <= 64, "vcs_per_class", vcs_per_class, "1..64");
  require(vcs() <= 64, "message_classes * vcs_per_class", vcs(), "at most 64");
  require(vc_buffer_bytes >= flit_bytes && vc_buffer_bytes <= (1 << 20), "vc_buffer_bytes", vc_buffer_bytes,
          "a flit to 1048576");
  require(vc_buffer_flits() <= 65535, "vc_buffer_bytes / flit_bytes", vc_buffer_flits(), "at most 65535");
  require(credit_delay >= 0 && credit_delay <= 1000, "credit_delay", credit_delay, "0..1000");
  require(std::isfinite(ugal_threshold), "ugal_threshold", ugal_threshold, "a number of flits");
  require(source_queue_flits >= 0, "source_queue_flits", source_queue_flits, "0 or more");
  require(warmup_cycles >= 0, "warmup_cycles", warmup_cycles, "0 or more");
  require(measure_cycles >= 1, "measure_cycles", measure_cycles, "1 or more");
  require(max_cycles >= 1, "max_cycles", max_cycles, "1 or more");
  require(positive(latency_limit), "latency_limit", latency_limit, "more than 0");
}

}  // namespace dcgn::memnet
