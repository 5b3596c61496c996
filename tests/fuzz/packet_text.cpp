// Packets as text: cycles never go back, and sources are below their number.
#include "fuzz.hpp"

#include "memnet/src/trace.hpp"

using namespace dcgn;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::is_taken([&] {
    const memnet::Trace trace = memnet::parse_packets(fuzz::text_of(data, size), "in.txt");
    std::uint64_t last = 0;
    for (const memnet::TraceRecord& record : trace.records) {
      fuzz::require(record.cycle >= last && record.source < trace.sources && record.size > 0, "a record is in order");
      last = record.cycle;
    }
  });
  return 0;
}
