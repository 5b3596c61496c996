// A FIFO between two threads. `correct` writes its packets with write_packet; `broken` does the same, but stores the
// epoch that announces the data without release order: ThreadSanitizer must report that one, and not the other.
#include <dcgn/arch/relax.hpp>
#include <dcgn/message/packet.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

namespace {

using dcgn::message::Packet;
using dcgn::message::Ring;

constexpr std::uint32_t shift = 4;
constexpr std::uint32_t packets = 1000;  // many times round

void write_relaxed(Packet& packet, std::uint32_t d0, std::uint32_t d1, std::uint32_t d2, std::uint32_t epoch) {
  packet.data[0] = d0;
  packet.data[1] = d1;
  packet.data[2] = d2;
  dcgn::store_relaxed(packet.epoch, epoch);  // the planted bug
}

bool run(bool broken) {
  static Packet memory[1u << shift];
  static std::uint32_t taken = 0;
  const Ring ring{memory, shift};
  std::thread sender([&] {
    for (std::uint32_t i = 0; i < packets; ++i) {
      while (i - dcgn::load_acquire(taken) >= ring.size()) dcgn::relax();
      if (broken)
        write_relaxed(ring.at(i), i, 2 * i, ~i, ring.epoch(i));
      else
        dcgn::message::write_packet(ring.at(i), i, 2 * i, ~i, ring.epoch(i));
    }
  });
  bool right = true;
  for (std::uint32_t i = 0; i < packets; ++i) {
    std::uint32_t d[3];
    while (!dcgn::message::read_packet(ring.at(i), ring.epoch(i), d)) dcgn::relax();
    right = right && d[0] == i && d[1] == 2 * i && d[2] == ~i;
    dcgn::store_release(taken, i + 1);
  }
  sender.join();
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  if (which != "broken" && which != "correct") {
    std::fprintf(stderr, "usage: %s correct|broken\n", argv[0]);
    return 2;
  }
  const bool right = run(which == "broken");
  std::printf("%u packets, %s\n", packets, right ? "all as sent" : "some wrong");
  return right ? 0 : 1;
}
