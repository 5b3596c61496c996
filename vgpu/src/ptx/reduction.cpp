#include "vgpu/src/ptx/reduction.hpp"

#include <algorithm>
#include <initializer_list>

namespace dcgn::virtual_gpu::ptx {

namespace {

bool is_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool may_have_type(std::string_view operation, std::string_view type) {
  if (operation == "add") return is_of(type, {"u32", "s32", "u64", "f32", "f64"});
  if (is_of(operation, {"min", "max"})) return is_of(type, {"u32", "s32", "u64", "s64"});
  return is_of(type, {"b32", "b64"});
}

// The limit of an increment at which it goes on like an addition.
bool is_all_ones(std::string_view number) { return is_of(number, {"-1", "4294967295", "0xffffffff", "0xFFFFFFFF"}); }

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

std::uint64_t Reduction::identity() const {
  const bool wide = bytes() == 8, is_signed = type.front() == 's';
  const std::uint64_t ones = wide ? ~std::uint64_t{0} : 0xffffffffU;
  const std::uint64_t top = wide ? std::uint64_t{1} << 63 : 0x80000000U;
  if (operation == "add") return type.front() == 'f' ? top : 0;
  if (operation == "and") return ones;
  if (operation == "min") return is_signed ? top - 1 : ones;
  if (operation == "max") return is_signed ? top : 0;
  return 0;
}

std::optional<Reduction> reduction_of(const Instruction& instruction, bool result_used) {
  const bool atom = instruction.opcode == "atom";
  if ((!atom && instruction.opcode != "red") || (atom && result_used)) return std::nullopt;
  std::string_view operation, type;
  for (const std::string_view qualifier : instruction.qualifiers) {
    const std::string_view word = qualifier.substr(1);
    if (is_of(word, {"add", "min", "max", "and", "or", "xor", "inc"}))
      operation = word;
    else if (is_of(word, {"u32", "s32", "u64", "s64", "f32", "f64", "b32", "b64"}))
      type = word;
    else if (!is_of(word, {"global", "relaxed", "gpu", "sys", "cta", "cluster"}))
      return std::nullopt;  // another operation, a vector, an order that others rely on
  }
  if (operation == "inc") {
    if (type != "u32" || instruction.operands.empty() || !is_all_ones(instruction.operands.back().text))
      return std::nullopt;
    operation = "add";
  }
  if (operation.empty() || !may_have_type(operation, type)) return std::nullopt;
  return Reduction{std::string(operation), std::string(type)};
}

std::string joining_module(const Reduction& reduction) {
  std::string text = R"(.version 7.0
.target sm_60
.address_size 64
.visible .entry dcgn_clear(.param .u64 to, .param .u64 count) {
	.reg .b64 %to;
	ld.param.u64 %to, [to];
LOOP
	mad.lo.u64 %at, %i, SIZE, %to;
	st.global.BITS [%at], IDENTITY;
	add.u64 %i, %i, %step;
	bra $next;
}
.visible .entry dcgn_join(.param .u64 to, .param .u64 from, .param .u64 count) {
	.reg .b64 %to, %from; .reg .BITS %v;
	ld.param.u64 %to, [to];
	ld.param.u64 %from, [from];
LOOP
	mad.lo.u64 %at, %i, SIZE, %from;
	ld.global.BITS %v, [%at];
	setp.eq.BITS %p, %v, IDENTITY;
	@%p bra $same;
	st.global.BITS [%at], IDENTITY;
	mad.lo.u64 %at, %i, SIZE, %to;
	red.sys.global.OPERATION.TYPE [%at], %v;
$same:
	add.u64 %i, %i, %step;
	bra $next;
}
)";
  // Each thread's values, as many apart as there are threads.
  replace_all(text, "LOOP", R"(	.reg .b32 %r<4>; .reg .b64 %count, %i, %step, %at; .reg .pred %p;
	ld.param.u64 %count, [count];
	mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %nctaid.x;
	mad.lo.u32 %r2, %r0, %r1, %r2;
	mul.lo.u32 %r3, %r3, %r1;
	cvt.u64.u32 %i, %r2;
	cvt.u64.u32 %step, %r3;
$next:
	setp.ge.u64 %p, %i, %count;
	@%p ret;)");
  replace_all(text, "SIZE", std::to_string(reduction.bytes()));
  replace_all(text, "BITS", reduction.bytes() == 8 ? "b64" : "b32");
  replace_all(text, "IDENTITY", std::to_string(reduction.identity()));
  replace_all(text, "OPERATION", reduction.operation);
  replace_all(text, "TYPE", reduction.type);
  return text;
}

const std::vector<std::string>& joining_kernels() {
  static const std::vector<std::string> names{"dcgn_clear", "dcgn_join"};
  return names;
}

}  // namespace dcgn::virtual_gpu::ptx
