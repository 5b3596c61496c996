#include "vgpu/src/ptx/block_index.hpp"

namespace dcgn::virtual_gpu::ptx {

namespace {

constexpr const char* registers =
    "\n\t.reg .b32 %dcgn_ctaid_x, %dcgn_ctaid_y, %dcgn_ctaid_z, %dcgn_nctaid_x, %dcgn_nctaid_y, %dcgn_nctaid_z;";

}  // namespace

BlockIndex GridShape::index_of(std::uint64_t number) const {
  return {static_cast<std::uint32_t>(number % x), static_cast<std::uint32_t>(number / x % y),
          static_cast<std::uint32_t>(number / x / y)};
}

std::uint64_t GridShape::number_of(BlockIndex index) const {
  return (static_cast<std::uint64_t>(index.z) * y + index.y) * x + index.x;
}

GridShape launch_shape(const GridShape& grid, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t row = grid.x, plane = row * grid.y;
  const auto in_numbers_of = [](std::uint64_t blocks) { return static_cast<std::uint32_t>(blocks); };
  if (first % plane == 0 && count % plane == 0) return {grid.x, grid.y, in_numbers_of(count / plane)};
  if (first % row == 0 && count % row == 0 && first % plane + count <= plane)
    return {grid.x, in_numbers_of(count / row), 1};
  return {in_numbers_of(count), 1, 1};
}

// Nothing overflows: first.x and within.x are both below 2^31, and first.y + x / grid.x is below 2^31 + 2^16; where
// within.y or within.z is not 0, no sum reaches the grid's size.
BlockIndex split_index(const SplitArguments& arguments, BlockIndex within) {
  BlockIndex index = arguments.first;
  const GridShape& grid = arguments.grid;
  index.x += within.x;
  index.y += within.y;
  index.z += within.z;
  if (index.x < grid.x) return index;
  const std::uint32_t rows = index.x / grid.x;
  index.x -= rows * grid.x;
  index.y += rows;
  const std::uint32_t planes = index.y / grid.y;
  index.y -= planes * grid.y;
  index.z += planes;
  return index;
}

std::string split_prologue() {
  return std::string(registers) + R"(
	.reg .b32 %dcgn_t<2>;
	.reg .pred %dcgn_p;
	ld.param.u32 %dcgn_ctaid_x, [dcgn_first_x];
	ld.param.u32 %dcgn_ctaid_y, [dcgn_first_y];
	ld.param.u32 %dcgn_ctaid_z, [dcgn_first_z];
	ld.param.u32 %dcgn_nctaid_x, [dcgn_grid_x];
	ld.param.u32 %dcgn_nctaid_y, [dcgn_grid_y];
	ld.param.u32 %dcgn_nctaid_z, [dcgn_grid_z];
	mov.u32 %dcgn_t0, %ctaid.x;
	add.u32 %dcgn_ctaid_x, %dcgn_ctaid_x, %dcgn_t0;
	mov.u32 %dcgn_t0, %ctaid.y;
	add.u32 %dcgn_ctaid_y, %dcgn_ctaid_y, %dcgn_t0;
	mov.u32 %dcgn_t0, %ctaid.z;
	add.u32 %dcgn_ctaid_z, %dcgn_ctaid_z, %dcgn_t0;
	setp.lt.u32 %dcgn_p, %dcgn_ctaid_x, %dcgn_nctaid_x;
	@%dcgn_p bra $dcgn_index;
	div.u32 %dcgn_t0, %dcgn_ctaid_x, %dcgn_nctaid_x;
	mul.lo.u32 %dcgn_t1, %dcgn_t0, %dcgn_nctaid_x;
	sub.u32 %dcgn_ctaid_x, %dcgn_ctaid_x, %dcgn_t1;
	add.u32 %dcgn_ctaid_y, %dcgn_ctaid_y, %dcgn_t0;
	div.u32 %dcgn_t0, %dcgn_ctaid_y, %dcgn_nctaid_y;
	mul.lo.u32 %dcgn_t1, %dcgn_t0, %dcgn_nctaid_y;
	sub.u32 %dcgn_ctaid_y, %dcgn_ctaid_y, %dcgn_t1;
	add.u32 %dcgn_ctaid_z, %dcgn_ctaid_z, %dcgn_t0;
$dcgn_index:)";
}

std::string whole_prologue() {
  return std::string(registers) + R"(
	mov.u32 %dcgn_ctaid_x, %ctaid.x;
	mov.u32 %dcgn_ctaid_y, %ctaid.y;
	mov.u32 %dcgn_ctaid_z, %ctaid.z;
	mov.u32 %dcgn_nctaid_x, %nctaid.x;
	mov.u32 %dcgn_nctaid_y, %nctaid.y;
	mov.u32 %dcgn_nctaid_z, %nctaid.z;)";
}

std::string record_write() {
  return R"(
	st.shared.v4.u32 [dcgn_block], {%dcgn_ctaid_x, %dcgn_ctaid_y, %dcgn_ctaid_z, %dcgn_nctaid_x};
	st.shared.v2.u32 [dcgn_block+16], {%dcgn_nctaid_y, %dcgn_nctaid_z};)";
}

std::string early_exit_prologue() {
  return R"(
	.reg .b32 %dcgn_t<6>;
	.reg .b64 %dcgn_n<5>;
	.reg .pred %dcgn_p<2>;
	ld.param.u64 %dcgn_n0, [dcgn_first_block];
	ld.param.u64 %dcgn_n1, [dcgn_end_block];
	mov.u32 %dcgn_t0, %ctaid.x;
	mov.u32 %dcgn_t1, %ctaid.y;
	mov.u32 %dcgn_t2, %ctaid.z;
	mov.u32 %dcgn_t3, %nctaid.x;
	mov.u32 %dcgn_t4, %nctaid.y;
	mad.lo.u32 %dcgn_t5, %dcgn_t2, %dcgn_t4, %dcgn_t1;
	cvt.u64.u32 %dcgn_n2, %dcgn_t0;
	mul.wide.u32 %dcgn_n3, %dcgn_t5, %dcgn_t3;
	add.u64 %dcgn_n4, %dcgn_n3, %dcgn_n2;
	setp.lt.u64 %dcgn_p0, %dcgn_n4, %dcgn_n0;
	setp.ge.or.u64 %dcgn_p1, %dcgn_n4, %dcgn_n1, %dcgn_p0;
	@%dcgn_p1 ret;)";
}

// Weak, so that all modules that are linked have one.
std::string record_declaration() { return "\n.weak .shared .align 16 .b32 dcgn_block[6];"; }

}  // namespace dcgn::virtual_gpu::ptx
