// Traffic traces: what was asked of a network, when and by whom, as a file that another run replays.
//
// The format, little-endian: a header of 24 bytes, then a record of 24 bytes for each access or packet, in the order of
// their cycles.
//
//   header   0  8 bytes  "DCGNTRAC"
//            8  u32      version: 1
//           12  u32      sources: the records' sources are 0 .. sources - 1
//           16  u64      records
//   record   0  u64      cycle, less than 2^62
//            8  u64      address; of a packet, the terminal it goes to
//           16  u32      source: of accesses the requester, of packets the terminal
//           20  u16      size: of accesses bytes, of packets flits
//           22  u8       kind: 0 read, 1 write, 2 packet
//           23  u8       message class of a packet; 0 for accesses
//
// A file whose name ends in .txt is one of packets as text, as gem5's Garnet networks are traced: a line for each
// packet, in the order of their cycles, with blanks or commas between
//
//   cycle source destination vnet flits
//
// cycles are those of the network's clock, nodes are terminals, and the virtual network is the message class. Empty
// lines and what follows a # do not count.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::base {
class OutputFile;
}

namespace dcgn::memnet {

enum class TraceKind : std::uint8_t { read = 0, write = 1, packet = 2 };

struct TraceRecord {
  std::uint64_t cycle = 0;
  std::uint64_t address = 0;
  std::uint32_t source = 0;
  std::uint16_t size = 0;
  TraceKind kind = TraceKind::read;
  std::uint8_t message_class = 0;
  friend bool operator==(const TraceRecord&, const TraceRecord&) = default;
};

struct Trace {
  std::uint32_t sources = 0;
  std::vector<TraceRecord> records;
  friend bool operator==(const Trace&, const Trace&) = default;
};

// The file is there whole or not at all. Throws Error(io) where it cannot be written; Error(invalid_size), naming the
// record, where a source is not below `sources`, a size is zero or cycles go back.
void write_trace(const std::string& path, const Trace& trace);
// The same to a file that is known to be writable already.
void write_trace(base::OutputFile& file, const Trace& trace);

// Throws Error(io), naming the file and the offset in bytes, where it cannot be read, is no trace, has another version,
// is shorter or longer than its header says, or where a record is none that write_trace() would write. Of text, errors
// name the line.
Trace read_trace(const std::string& path);
// The same of text, in the file that `path` names. Throws Error(io), naming the line.
Trace parse_packets(const std::string& content, const std::string& path);

}  // namespace dcgn::memnet
