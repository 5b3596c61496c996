// Trace files: what is written is read again, and what is no trace is refused with the place.
#include "memnet/src/trace.hpp"

#include "memnet/tests/scratch_file.hpp"
#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

using dcgn::memnet::read_trace, dcgn::memnet::Trace, dcgn::memnet::TraceKind, dcgn::memnet::write_trace;
using dcgn::test::contains, dcgn::test::error_of;
namespace fs = std::filesystem;

namespace {

class TraceTest : public dcgn::memnet::ScratchFile {
 protected:
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string error_with(const std::string& bytes) const {
    write(bytes);
    const dcgn::Error error = error_of([&] { read_trace(path_); });
    EXPECT_EQ(error.code(), dcgn::Code::io);
    EXPECT_TRUE(contains(error.what(), path_));
    return error.what();
  }
};

Trace small() {
  return {
      .sources = 3,
      .records = {{.cycle = 1, .address = 0x0102030405060708, .source = 0, .size = 128},
                  {.cycle = 1, .address = 4096, .source = 2, .size = 64, .kind = TraceKind::write},
                  {.cycle = 9, .address = 1, .source = 1, .size = 9, .kind = TraceKind::packet, .message_class = 1}}};
}

TEST_F(TraceTest, IsReadAsItWasWritten) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Trace trace{.sources = 16, .records = {}};
  std::uint64_t cycle = 0;
  for (int i = 0; i < 5000; ++i) {
    cycle += random() % 1000;
    trace.records.push_back({.cycle = cycle,
                             .address = random(),
                             .source = static_cast<std::uint32_t>(random() % 16),
                             .size = static_cast<std::uint16_t>(1 + random() % 65535),
                             .kind = static_cast<TraceKind>(random() % 3)});
  }
  write_trace(path_, trace);
  EXPECT_EQ(read_trace(path_), trace);
  write_trace(path_, {});
  EXPECT_EQ(read_trace(path_), Trace{});
}

TEST_F(TraceTest, LiesInTheFileAsDocumented) {
  write_trace(path_, small());
  const std::string bytes = content();
  ASSERT_EQ(bytes.size(), 24U + 3 * 24);
  EXPECT_EQ(bytes.substr(0, 24), std::string("DCGNTRAC\1\0\0\0\3\0\0\0\3\0\0\0\0\0\0\0", 24));
  EXPECT_EQ(bytes.substr(24, 24), std::string("\1\0\0\0\0\0\0\0\10\7\6\5\4\3\2\1\0\0\0\0\200\0\0\0", 24));
  EXPECT_EQ(bytes.substr(72, 24), std::string("\11\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\11\0\2\1", 24));
}

TEST_F(TraceTest, ABadFileIsRefusedWithTheOffset) {
  write_trace(path_, small());
  const std::string good = content();
  const auto with = [&](std::size_t offset, char byte) {
    std::string bad = good;
    bad[offset] = byte;
    return error_with(bad);
  };
  EXPECT_TRUE(contains(error_with(""), ": offset 0: the file ends, expected a header of 24 bytes"));
  EXPECT_TRUE(contains(error_with(good.substr(0, 23)), ": offset 23: the file ends"));
  EXPECT_TRUE(contains(with(0, 'X'), ": offset 0: not a trace"));
  EXPECT_TRUE(contains(with(8, 2), ": offset 8: version 2, expected 1"));
  EXPECT_TRUE(contains(with(16, 4), ": offset 16: 4 records, but 72 bytes follow"));
  EXPECT_TRUE(contains(with(23, 1), ": offset 16: "));
  EXPECT_TRUE(contains(error_with(good + "x"), ": offset 16: 3 records, but 73 bytes follow"));
  EXPECT_TRUE(contains(error_with(good.substr(0, good.size() - 24)), ": offset 16: "));
  EXPECT_TRUE(contains(with(48, 0), ": offset 48: cycle 0, expected 1 or later"));
  EXPECT_TRUE(contains(with(79, '\x40'), ": offset 72: cycle 46116860184273879"));
  EXPECT_TRUE(contains(with(64, 3), ": offset 64: source 3, expected less than 3"));
  EXPECT_TRUE(contains(with(68, 0), ": offset 68: size 0"));
  EXPECT_TRUE(contains(with(70, 3), ": offset 70: kind 3, expected 0..2"));
  EXPECT_TRUE(contains(with(71, 1), ": offset 71: message class 1 of an access"));
}

TEST_F(TraceTest, PacketsAreReadAsText) {
  path_ += ".txt";
  write("# cycle source destination vnet flits\n100 0 15 0 1\r\n\n 103,7,0,2,5 # a reply\n");
  const Trace trace = read_trace(path_);
  const Trace expected = {
      .sources = 8,
      .records = {{.cycle = 100, .address = 15, .source = 0, .size = 1, .kind = TraceKind::packet},
                  {.cycle = 103, .address = 0, .source = 7, .size = 5, .kind = TraceKind::packet, .message_class = 2}}};
  EXPECT_EQ(trace, expected);
}

TEST_F(TraceTest, TextThatIsNoPacketIsNamedByItsLine) {
  path_ += ".txt";
  EXPECT_TRUE(contains(error_with("1 0 1 0 1\n1 0 1 0\n"), path_ + ":2: 4 numbers, expected 5: cycle source"));
  EXPECT_TRUE(contains(error_with("1 0 1 0 one\n"), path_ + ":1: \"one\", expected a whole number"));
  EXPECT_TRUE(contains(error_with("1 -1 1 0 1\n"), path_ + ":1: \"-1\", expected a whole number"));
  EXPECT_TRUE(contains(error_with("5 0 1 0 1\n4 0 1 0 1\n"), path_ + ":2: cycle 4, expected 5 or later"));
  EXPECT_TRUE(contains(error_with("5 0 1 256 1\n"), path_ + ":1: vnet 256, expected 0..255"));
  EXPECT_TRUE(contains(error_with("5 0 1 0 65536\n"), path_ + ":1: flits 65536, expected 1..65535"));
  EXPECT_TRUE(contains(error_with("5 0 1 0 0\n"), path_ + ":1: size 0, expected 1 or more"));
  EXPECT_TRUE(contains(error_with("5 4294967295 1 0 1\n"), path_ + ":1: source 4294967295, expected less"));
}

TEST_F(TraceTest, AFileThatIsNotThereIsNamed) {
  const dcgn::Error error = error_of([&] { read_trace(path_); });
  EXPECT_TRUE(contains(error.what(), path_ + ": cannot be read: No such file"));
}

TEST_F(TraceTest, WhatCannotBeReadIsNotWritten) {
  Trace trace = small();
  trace.records[1].source = 3;
  EXPECT_TRUE(contains(error_of([&] { write_trace(path_, trace); }).what(), "record 1: source 3"));
  EXPECT_FALSE(fs::exists(path_));
}

}  // namespace
