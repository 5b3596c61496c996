// The two ends of a FIFO: what Tx puts, Rx finds, whole and in order, round the ring and with credit.
#include <dcgn/message/fifo.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace dcgn::test {
namespace {

using message::Header;
using message::Incoming;
using message::Kind;
using message::Reservation;

constexpr std::uint32_t fifo_shift = 6;  // the ring has 64 packets

// A FIFO of a ring of its own; its headers name ranks where the parameter says so.
class Fifo : public ::testing::TestWithParam<bool> {
 protected:
  Fifo() : packets_(1u << fifo_shift) {
    out_.ring = in_.ring = {packets_.data(), fifo_shift};
    out_.credit = in_.credit = &credit_;
    out_.doorbell = &doorbell_;
    out_.fast = 1;
    out_.names_rank = in_.names_rank = GetParam();
    in_.batch = in_.ring.size() / 4;
    begin_at(0);
  }
  // Both ends, and the credit, as if so many packets had passed.
  void begin_at(std::uint32_t position) {
    for (std::uint32_t i = 0; i < in_.ring.size(); ++i) {
      const std::uint32_t last = position - in_.ring.size() + i;
      if (position) in_.ring.at(last).epoch = in_.ring.epoch(last);
    }
    const auto put_at = [&](auto& fifo) {
      fifo.next = fifo.ring.packets;
      fifo.epoch = 1;
      fifo.settled = 0;
      fifo.advance(position);
      fifo.fast_messages = 0;
    };
    put_at(out_);
    put_at(in_);
    credit_.taken = out_.taken = in_.returned = position;
    in_.advance(0);
    out_.advance(0);
  }
  bool put(const Header& h, std::int32_t rank, std::uint64_t payload = 0) {
    Reservation place;
    if (!message::Tx(out_).reserve(h.kind, payload, place)) return false;
    message::Tx(out_).put(place, h, rank);
    return true;
  }
  bool peek(Incoming& found) { return message::Rx(in_).peek(found); }
  std::uint32_t names() const { return GetParam(); }

  std::vector<message::Packet> packets_;
  message::Credit credit_{};
  std::uint8_t doorbell_ = 0;
  message::OutFifo out_{};
  message::InFifo in_{};
};

// A header of each kind, with a value in every field that it carries.
Header header_of(Kind kind, std::uint64_t bytes) {
  Header h;
  h.kind = kind;
  h.bytes = bytes;
  switch (kind) {
    case Kind::small: h.address = 0x1122334455667788; [[fallthrough]];
    case Kind::eager:
      h.tag = 65535;
      h.context = 300;
      break;
    case Kind::pull:
      h.address = 0xfedcba9876543210;
      h.readable = h.placeable = true;
      [[fallthrough]];
    case Kind::offer:
      h.tag = std::numeric_limits<std::int32_t>::max();
      h.context = 511;
      h.ack = 0x12345678;
      h.elements = 1023;
      break;
    case Kind::data: h.record = 77; break;
    case Kind::placed:
      h.record = 0xffffffff;
      h.readable = true;
      break;
  }
  return h;
}

void expect_same(const Header& found, const Header& put) {
  EXPECT_EQ(found.kind, put.kind);
  EXPECT_EQ(found.bytes, put.bytes);
  EXPECT_EQ(found.address, put.address);
  EXPECT_EQ(found.ack, put.ack);
  EXPECT_EQ(found.record, put.record);
  EXPECT_EQ(found.readable, put.readable);
  EXPECT_EQ(found.placeable, put.placeable);
  EXPECT_EQ(found.elements, put.elements);
  const bool names_receive = put.kind == Kind::data || put.kind == Kind::placed;
  if (!names_receive) {
    EXPECT_EQ(found.tag, put.tag);
    EXPECT_EQ(found.context, put.context);
  }
}

struct Message {
  Header header;
  std::uint64_t payload;  // bytes in packets
};

std::vector<Message> messages() {
  return {{header_of(Kind::small, 8), 0},       {header_of(Kind::eager, 100), 100},
          {header_of(Kind::eager, 0), 0},       {header_of(Kind::pull, std::uint64_t{3} << 40), 0},
          {header_of(Kind::offer, 1 << 20), 0}, {header_of(Kind::data, 384), 384},
          {header_of(Kind::placed, 0), 0},      {header_of(Kind::small, 0), 0}};
}

TEST_P(Fifo, BringsEveryHeaderInOrderRoundTheRing) {
  Incoming found;
  EXPECT_FALSE(peek(found));
  std::uint32_t position = 0;
  for (int round = 0; round < 50; ++round)
    for (const Message& m : messages()) {
      ASSERT_TRUE(put(m.header, round, m.payload));
      ASSERT_TRUE(peek(found));
      expect_same(found.header, m.header);
      EXPECT_EQ(found.rank, names() ? round : 0);
      EXPECT_EQ(found.place.position, position);
      EXPECT_EQ(found.place.packets, message::payload_packets(m.payload));
      EXPECT_GE(found.place.begin, position + message::header_packets(m.header.kind) + names());
      EXPECT_EQ(found.place.begin + found.place.packets, position + found.place.all);
      message::Rx(in_).release(found.place.all);
      position += found.place.all;
      EXPECT_EQ(doorbell_, 1);
      doorbell_ = 0;
      EXPECT_FALSE(peek(found)) << "what was there a round before";
    }
  EXPECT_GT(position, 20 * in_.ring.size());
}

TEST_P(Fifo, GoesOnWherePositionsBeginAgain) {
  begin_at(0u - in_.ring.size());
  Incoming found;
  EXPECT_FALSE(peek(found));
  for (int i = 0; i < 200; ++i) {
    Header h = header_of(Kind::small, 8);
    h.address = static_cast<std::uint64_t>(i);
    ASSERT_TRUE(put(h, i));
    ASSERT_TRUE(peek(found));
    EXPECT_EQ(found.header.address, h.address);
    message::Rx(in_).release_to(found.place.position + found.place.all);
  }
}

TEST_P(Fifo, HasNoRoomUntilCreditComes) {
  Header h = header_of(Kind::small, 8);
  const std::uint32_t each = 1 + names(), most = in_.ring.size() / each;
  for (std::uint32_t i = 0; i < most; ++i) {
    h.address = i;
    ASSERT_TRUE(put(h, 0)) << i;
  }
  EXPECT_FALSE(put(h, 0)) << "nothing is overwritten";
  Incoming found;
  // Credit comes back a batch at a time.
  std::uint32_t taken = 0;
  for (std::uint32_t i = 0; i < most; ++i) {
    ASSERT_TRUE(peek(found));
    EXPECT_EQ(found.header.address, i);
    message::Rx(in_).release(found.place.all);
    taken += each;
    EXPECT_EQ(credit_.taken, taken / in_.batch * in_.batch);
  }
  for (std::uint32_t i = 0; i < most; ++i) ASSERT_TRUE(put(h, 0)) << i;
  EXPECT_FALSE(put(h, 0));
}

// The packets of a header of several are seen in any order: it is there when all of them are.
TEST_P(Fifo, ShowsNoHeaderBeforeAllOfItIsThere) {
  ASSERT_TRUE(put(header_of(Kind::pull, 1 << 20), 5));
  const std::uint32_t count = message::header_packets(Kind::pull) + names();
  Incoming found;
  for (std::uint32_t missing = 0; missing < count; ++missing) {
    std::uint32_t& epoch = packets_[missing].epoch;
    const std::uint32_t there = epoch;
    epoch = 0;
    EXPECT_FALSE(peek(found)) << "without packet " << missing;
    epoch = there;
  }
  ASSERT_TRUE(peek(found));
  expect_same(found.header, header_of(Kind::pull, 1 << 20));
}

INSTANTIATE_TEST_SUITE_P(Fifos, Fifo, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "ThatNameRanks" : "OfOneRank"; });

}  // namespace
}  // namespace dcgn::test
