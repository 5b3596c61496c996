// Values of 128 bits: a register of two rows, the lower half first. They are loaded, stored, exchanged, and made of two
// values of 64 bits and taken apart again.
#include "vgpu/src/interpreter/decoder.hpp"
#include "vgpu/src/interpreter/operations.hpp"

#include <array>
#include <cstring>
#include <mutex>
#include <string>

namespace dcgn::virtual_gpu::interpreter {

namespace {

constexpr std::size_t bytes = 16;
using Wide = std::array<Word, 2>;

Wide get_wide(const Word* row, int lane) { return {row[lane], row[lane + lanes]}; }
void put_wide(Word* row, int lane, const Wide& value) {
  row[lane] = value[0];
  row[lane + lanes] = value[1];
}

void join(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b);
  if (op.d.number != 0) for_lanes(mask, [&](int lane) { put_wide(d, lane, {a[lane], b[lane]}); });
}
void split(Warp& warp, const Op& op, Mask mask) {
  Word *const d = warp.row(op.d), *const p = warp.row(op.p);
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) {
    const Wide value = get_wide(a, lane);
    d[lane] = value[0];
    p[lane] = value[1];
  });
}
void copy(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  if (op.d.number != 0) for_lanes(mask, [&](int lane) { put_wide(d, lane, get_wide(a, lane)); });
}
void load(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) {
    Wide value;
    std::memcpy(value.data(), warp.at(op, lane, a, bytes), bytes);
    if (op.d.number != 0) put_wide(d, lane, value);
  });
}
void store(Warp& warp, const Op& op, Mask mask) {
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b);
  for_lanes(mask, [&](int lane) {
    const Wide value = get_wide(b, lane);
    std::memcpy(warp.at(op, lane, a, bytes), value.data(), bytes);
  });
}
// Launches may run at the same time, and the host has no atomic operation of so many bytes everywhere.
std::mutex& exchanges() {
  static auto* const mutex = new std::mutex;  // launches may run to the very end
  return *mutex;
}
void exchange(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  const bool compares = op.count == 2;
  for_lanes(mask, [&](int lane) {
    std::byte* const at = warp.at(op, lane, a, bytes);
    const Wide given = get_wide(b, lane);
    Wide old;
    const std::lock_guard lock(exchanges());
    std::memcpy(old.data(), at, bytes);
    if (!compares || old == given) std::memcpy(at, compares ? get_wide(c, lane).data() : given.data(), bytes);
    if (op.d.number != 0) put_wide(d, lane, old);
  });
}

bool is_shared(const Qualified& q) { return q.has(".shared") || q.has(".shared::cta"); }

}  // namespace

bool Decoder::wide(const Qualified& q) {
  if (!q.has(".b128")) return false;
  const auto wide_one = [&](const Operand& operand) {
    if (operand.kind == Operand::Kind::name && operand.name == "_") return Row{Row::frame, 0};
    const Row row = result(operand);
    if (!names_.is_wide(row)) fail(std::string(operand.text) + " as a register of 128 bits");
    return row;
  };
  Op op = begin(*at_);
  if (q.is("mov")) {
    const Operand &to = operand(0), &from = operand(1);
    if (from.kind == Operand::Kind::vector && from.parts.size() == 2) {
      op.a = source(from.parts[0], Type::b64);
      op.b = source(from.parts[1], Type::b64);
      op.d = wide_one(to);
      op.run = &join;
    } else if (to.kind == Operand::Kind::vector && to.parts.size() == 2) {
      op.d = result(to.parts[0]);
      op.p = result(to.parts[1]);
      op.a = wide_one(from);
      op.run = &split;
    } else {
      op.d = wide_one(to);
      op.a = wide_one(from);
      op.run = &copy;
    }
  } else if (q.is("ld")) {
    op.d = wide_one(operand(0));
    address(operand(1), is_shared(q), op);
    op.run = &load;
  } else if (q.is("st")) {
    address(operand(0), is_shared(q), op);
    op.b = wide_one(operand(1));
    op.run = &store;
  } else if (q.is("atom") && (q.has(".cas") || q.has(".exch"))) {
    op.d = wide_one(operand(0));
    address(operand(1), is_shared(q), op);
    op.b = wide_one(operand(2));
    if (q.has(".cas")) op.c = wide_one(operand(3));
    op.count = q.has(".cas") ? 2 : 1;
    op.run = &exchange;
  }
  if (!op.run) fail(std::string(at_->text));
  return emit(op), true;
}

}  // namespace dcgn::virtual_gpu::interpreter
