#include "trace/document_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

namespace dcgn::trace {

namespace {

// One source for both ways: what it is given, it writes, or reads.
class Writer {
 public:
  explicit Writer(std::vector<unsigned char>& bytes) : bytes_(bytes) {}
  template <class T>
  void number(const T& value) {
    raw(&value, sizeof value);
  }
  template <class List>
  void size(const List& list) {
    number(static_cast<std::uint64_t>(list.size()));
  }
  void raw(const void* data, std::size_t size) {
    const auto* const first = static_cast<const unsigned char*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }

 private:
  std::vector<unsigned char>& bytes_;
};

class Reader {
 public:
  explicit Reader(const std::vector<unsigned char>& bytes) : bytes_(bytes) {}
  template <class T>
  void number(T& value) {
    raw(&value, sizeof value);
  }
  template <class List>
  void size(List& list) {
    std::uint64_t n = 0;
    number(n);
    list.resize(n);
  }
  void raw(void* data, std::size_t size) {
    if (size) std::memcpy(data, bytes_.data() + at_, size);
    at_ += size;
  }

 private:
  const std::vector<unsigned char>& bytes_;
  std::size_t at_ = 0;
};

template <class Passage, class Text>
void pass_text(Passage& by, Text& text) {
  by.size(text);
  by.raw(text.data(), text.size());
}

template <class Passage, class AnyDocument>
void pass(Passage& by, AnyDocument& d) {
  static_assert(std::is_trivially_copyable_v<Event>);
  by.number(d.clock_error_ns);
  by.size(d.ranks);
  for (auto& r : d.ranks) {
    for (auto* const number : {&r.rank, &r.process, &r.node, &r.device, &r.slot, &r.cpu}) by.number(*number);
    by.number(r.dropped);
    by.size(r.events);
    by.raw(r.events.data(), r.events.size() * sizeof(Event));
  }
  by.size(d.devices);
  for (auto& device : d.devices) {
    for (auto* const number : {&device.process, &device.node, &device.device}) by.number(*number);
    pass_text(by, device.name);
    by.size(device.activities);
    for (auto& a : device.activities) {
      by.number(a.kind);
      by.number(a.begin_ns);
      by.number(a.end_ns);
      pass_text(by, a.name);
      by.number(a.bytes);
    }
  }
}

}  // namespace

std::vector<unsigned char> to_bytes(const Document& document) {
  std::vector<unsigned char> bytes;
  Writer writer(bytes);
  pass(writer, document);
  return bytes;
}

void add_bytes(const std::vector<unsigned char>& bytes, Document& document) {
  Document other;
  Reader reader(bytes);
  pass(reader, other);
  document.clock_error_ns = std::max(document.clock_error_ns, other.clock_error_ns);
  std::move(other.ranks.begin(), other.ranks.end(), std::back_inserter(document.ranks));
  std::move(other.devices.begin(), other.devices.end(), std::back_inserter(document.devices));
}

}  // namespace dcgn::trace
