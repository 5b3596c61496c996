// A payload in the packets of a ring: by however many threads it is written and read, in whatever buffers, it comes
// back. Messages and rows have the same layout.
#include "message/engine/transfer.hpp"

#include <dcgn/collective/in_turns.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace dcgn::test {
namespace {

// One thread of many, which need not run together: nothing here waits.
struct Turn {
  std::uint32_t number, threads;
  std::uint32_t rank() const { return number; }
  std::uint32_t size() const { return threads; }
  bool leader() const { return number == 0; }
};

constexpr std::uint32_t shift = 11;  // the ring has 2048 packets

unsigned char byte_at(std::size_t i) { return static_cast<unsigned char>(i * 37 + i / 251); }

class Payloads : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  // Sends `bytes` from a buffer that lies so far behind a line of 64 bytes, and receives `wanted` of them likewise.
  void carry(std::size_t bytes, std::size_t wanted, std::size_t out_skew, std::size_t in_skew, std::uint32_t position) {
    std::vector<message::Packet> packets(1u << shift);
    const message::Ring ring{packets.data(), shift};
    const std::uint32_t count = message::payload_packets(bytes);
    std::vector<Line> out_lines(bytes / sizeof(Line) + 3), in_lines(wanted / sizeof(Line) + 3);
    unsigned char* const out = out_lines[0].bytes + out_skew;
    unsigned char* const in = in_lines[0].bytes + in_skew;
    constexpr unsigned char untouched = 0xee;
    for (std::size_t i = 0; i < bytes; ++i) out[i] = byte_at(i);
    const std::uint32_t many = GetParam(), phase = 0;
    for (const auto& [writers, readers] : {std::pair{many, many}, {many, 1u}, {1u, many}}) {
      for (std::size_t i = 0; i < in_lines.size() * sizeof(Line) - in_skew; ++i) in[i] = untouched;
      packets.assign(packets.size(), {});
      for (std::uint32_t t = 0; t < writers; ++t)
        message::push_packets(Turn{t, writers}, message::Payload(ring, position, count, bytes), out);
      for (std::uint32_t t = 0; t < readers; ++t)
        ASSERT_TRUE(
            message::take_packets(Turn{t, readers}, phase, message::Payload(ring, position, count, wanted), in));
      for (std::size_t i = 0; i < wanted; ++i)
        ASSERT_EQ(in[i], byte_at(i)) << "byte " << i << " of " << wanted << ", sent " << bytes << " by " << writers
                                     << " to " << readers;
      ASSERT_EQ(in[wanted], untouched) << "behind " << wanted << " bytes, sent " << bytes;
    }
  }

 private:
  struct alignas(64) Line {
    unsigned char bytes[64];
  };
};

TEST_P(Payloads, ComeBackAtEverySize) {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 1; bytes <= 400; ++bytes) sizes.push_back(bytes);
  // Around the sizes at which groups end, and the wide ones begin.
  for (const std::size_t groups : {1u, 2u, 3u, 4u, 5u, 8u})
    for (int beside = -17; beside <= 17; ++beside)
      sizes.push_back(groups * message::wide_words * 4 + static_cast<std::size_t>(beside));
  for (const std::size_t bytes : sizes) carry(bytes, bytes, 0, 0, 0);
}

TEST_P(Payloads, ComeBackFromAnyBufferToAnyOther) {
  for (const std::size_t bytes : {7u, 384u, 1537u, 4608u, 6148u, 12289u})
    for (const std::size_t out : {0u, 1u, 4u, 8u})
      for (const std::size_t in : {0u, 2u, 4u, 12u}) carry(bytes, bytes, out, in, 0);
}

TEST_P(Payloads, AreCutToWhatIsWanted) {
  for (const std::size_t bytes : {100u, 4609u, 12288u})
    for (const std::size_t wanted : {0u, 1u, 4u, 97u, 100u, 1536u, 4607u, 4608u, 12287u})
      if (wanted <= bytes) carry(bytes, wanted, 0, 0, 0);
}

TEST_P(Payloads, GoOnWhereTheRingBeginsAgain) {
  for (const std::uint32_t before : {1u, 8u, 100u, 500u}) carry(12288, 12288, 0, 0, (3u << shift) - before);
}

// Two peers, whose rows begin at another packet and in another epoch.
TEST_P(Payloads, AreReadAsRowsAndWrittenAsRows) {
  using message::Hands, message::Row;
  const std::uint32_t threads = GetParam(), phase = 0;
  std::vector<std::uint32_t> sizes = {12, 100, 384, 388, 1536, 6144, 12288};
  for (std::uint32_t beside = 0; beside <= 32; beside += 4) sizes.push_back(3 * message::wide_words * 4 - 16 + beside);
  for (const std::uint32_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    std::vector<message::Packet> rings[2];
    for (auto& ring : rings) ring.resize(1u << shift);
    const Row rows[2] = {{{rings[0].data(), shift}, (5u << shift) - 40}, {{rings[1].data(), shift}, 8, 6}};
    const std::uint32_t count = message::payload_packets(bytes), words = bytes / 4;
    std::vector<std::uint32_t> out(words), in(words), sum(words);
    for (std::uint32_t i = 0; i < words; ++i) out[i] = i * 2654435761u + 7;
    const auto bytes_of = [](auto& of) { return reinterpret_cast<unsigned char*>(of.data()); };
    // By rows to both, read as a message.
    for (const Row& row : rows) {
      for (std::uint32_t t = 0; t < threads; ++t) collective::push_row(Turn{t, threads}, row, bytes_of(out), bytes);
      in.assign(words, 0);
      for (std::uint32_t t = 0; t < threads; ++t)
        ASSERT_TRUE(take_packets(Turn{t, threads}, phase, message::Payload(row, count, bytes), bytes_of(in)));
      ASSERT_EQ(in, out);
    }
    // As messages, read and folded by rows.
    for (auto& ring : rings) ring.assign(ring.size(), {});
    for (const Row& row : rows)
      for (std::uint32_t t = 0; t < threads; ++t)
        push_packets(Turn{t, threads}, message::Payload(row, count, bytes), bytes_of(out));
    in.assign(words, 0);
    for (std::uint32_t t = 0; t < threads; ++t)
      ASSERT_TRUE(collective::take_row(Turn{t, threads}, rows[1], bytes_of(in), bytes, {phase, phase}));
    ASSERT_EQ(in, out);
    struct {
      std::uint32_t fold_word(std::uint32_t x, std::uint32_t y) const { return 3 * x + y; }
    } operation;
    for (std::uint32_t t = 0; t < threads; ++t)
      message::each_part<1>(message::PayloadLayout(count, bytes), Hands{t, threads}, [&](const auto& part, auto& d) {
        collective::fold_part([&](int k) { return rows[k]; }, 2, 2, part, d, phase, operation);
        part.store(bytes_of(sum), d);
        return true;
      });
    for (std::uint32_t i = 0; i < words; ++i) ASSERT_EQ(sum[i], 4 * out[i]) << "word " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Payloads, ::testing::Values(1u, 3u, 32u, 100u, 128u, 512u, 1000u));

}  // namespace
}  // namespace dcgn::test
