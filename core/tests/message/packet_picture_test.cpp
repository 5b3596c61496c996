// The picture of headers in dcgn/message/packet.hpp is what write_header() writes.
#include <dcgn/message/packet.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace dcgn::test {
namespace {

using message::Header;
using message::Kind;

const std::map<std::string, Kind> kinds = {{"small", Kind::small}, {"eager", Kind::eager}, {"pull", Kind::pull},
                                           {"offer", Kind::offer}, {"data", Kind::data},   {"placed", Kind::placed}};

Header header_of(Kind kind) {
  Header h;
  h.kind = kind;
  h.context = 300;
  h.tag = 0xabcd;
  h.bytes = kind == Kind::small ? 7 : 0x1234567;
  h.address = 0x1122334455667788;
  h.ack = 0x76543210;
  h.record = 0x89abcdef;
  if (kind == Kind::pull || kind == Kind::offer || kind == Kind::eager) h.elements = 0x555;
  h.readable = kind == Kind::pull || kind == Kind::data || kind == Kind::placed;
  h.placeable = kind == Kind::pull;
  return h;
}

std::uint32_t field(const Header& h, const std::string& name) {
  if (name == "kind") return static_cast<std::uint32_t>(h.kind);
  if (name == "bytes") return static_cast<std::uint32_t>(h.bytes);
  if (name == "context") return h.context;
  if (name == "tag") return static_cast<std::uint32_t>(h.tag);
  if (name == "ack") return h.ack;
  if (name == "record") return h.record;
  if (name == "readable") return h.readable;
  if (name == "placeable") return h.placeable;
  if (name == "elements") return h.elements;
  EXPECT_EQ(name, "0") << "no field of a header";
  return 0;
}

TEST(PacketPicture, IsWhatHeadersAre) {
  std::ifstream file(DCGN_PACKET_HEADER);
  ASSERT_TRUE(file) << DCGN_PACKET_HEADER;
  std::size_t rows = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line);
    std::string slashes, kind, words[2];
    text >> slashes >> kind >> words[0] >> words[1];
    if (slashes != "//" || !kinds.contains(kind) || words[1].empty()) continue;
    SCOPED_TRACE(line);
    ++rows;
    const Header h = header_of(kinds.at(kind));
    alignas(16) message::Packet packets[4] = {};
    write_header({packets, 2}, 0, h);
    for (int w = 0; w < 2; ++w)
      EXPECT_EQ(packets[0].data[w],
                words[w] == "payload" ? static_cast<std::uint32_t>(h.address >> 32 * w) : field(h, words[w]));
    std::uint32_t expected = 0;
    unsigned at = 0;
    std::string name;
    for (unsigned bits; text >> name >> bits; at += bits) {
      expected |= field(h, name) << at;
      if (text.get() != ',') {
        at += bits;
        break;
      }
    }
    EXPECT_EQ(at, 32u) << "the fields of word 2 fill it";
    EXPECT_EQ(packets[0].data[2], expected);
    EXPECT_EQ(packets[0].epoch, 1u);
  }
  EXPECT_EQ(rows, kinds.size());
}

}  // namespace
}  // namespace dcgn::test
