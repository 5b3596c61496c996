#include "vgpu/src/interpreter/warp.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace dcgn::virtual_gpu::interpreter {

namespace {

constexpr std::uint32_t nowhere = ~std::uint32_t{0};
constexpr unsigned fair_steps = 1024;  // that a group of diverged threads has before others get a turn
constexpr unsigned deepest_call = 4096;

std::string to_string(Dim3 at) {
  return "(" + std::to_string(at.x) + "," + std::to_string(at.y) + "," + std::to_string(at.z) + ")";
}

}  // namespace

template <class Value>
void Warp::set(Special what, const Value& value) {
  Word* const row = specials_.data() + static_cast<std::size_t>(what) * lanes;
  for (int lane = 0; lane < lanes; ++lane) row[lane] = static_cast<Word>(value(lane));
}
void Warp::set_all(Special what, Word value) {
  set(what, [&](int) { return value; });
}

Warp::Warp(Block& its_block, unsigned its_number)
    : block(its_block), number(its_number), specials_(static_cast<std::size_t>(Special::count) * lanes) {
  const Grid& grid = block.grid;
  set(Special::tid_x, [&](int lane) { return thread_index(lane).x; });
  set(Special::tid_y, [&](int lane) { return thread_index(lane).y; });
  set(Special::tid_z, [&](int lane) { return thread_index(lane).z; });
  set_all(Special::ntid_x, grid.launch.block.x);
  set_all(Special::ntid_y, grid.launch.block.y);
  set_all(Special::ntid_z, grid.launch.block.z);
  set_all(Special::nctaid_x, grid.launch.grid.x);
  set_all(Special::nctaid_y, grid.launch.grid.y);
  set_all(Special::nctaid_z, grid.launch.grid.z);
  set(Special::laneid, [](int lane) { return lane; });
  set_all(Special::warpid, number);
  set_all(Special::nwarpid, (block.threads + lanes - 1) / lanes);
  set_all(Special::smid, block.multiprocessor);
  set_all(Special::nsmid, multiprocessors);
  set_all(Special::gridid, grid.number);
  set(Special::lanemask_eq, [](int lane) { return Mask{1} << lane; });
  set(Special::lanemask_le, [](int lane) { return (Mask{2} << lane) - 1; });
  set(Special::lanemask_lt, [](int lane) { return (Mask{1} << lane) - 1; });
  set(Special::lanemask_ge, [](int lane) { return ~((Mask{1} << lane) - 1); });
  set(Special::lanemask_gt, [](int lane) { return ~((Mask{2} << lane) - 1); });
  set_all(Special::dynamic_begin, block.own_shared_bytes - grid.launch.shared_bytes);
  set_all(Special::dynamic_shared, grid.launch.shared_bytes);
  set_all(Special::total_shared, block.own_shared_bytes);
  set_all(Special::reserved_begin, block.shared_bytes - reserved_shared_bytes);
  set_all(Special::reserved_half, block.shared_bytes - reserved_shared_bytes / 2);
  set_all(Special::reserved_end, block.shared_bytes);
  set_all(Special::reserved_cap, reserved_shared_bytes);
  const auto workspace = reinterpret_cast<std::uintptr_t>(grid.workspace);
  set_all(Special::workspace_low, workspace & 0xffffffff);
  set_all(Special::workspace_high, workspace >> 32);
  set_all(Special::one, 1);
  bases_[Row::constants] = const_cast<Word*>(grid.program.constants.data());  // never written: no result is there
  bases_[Row::special] = specials_.data();
}

void Warp::begin() {
  const unsigned first = number * lanes, threads = std::min<unsigned>(block.threads - first, lanes);
  live_ = threads == lanes ? all_lanes : (Mask{1} << threads) - 1;
  set_all(Special::ctaid_x, block.index().x);
  set_all(Special::ctaid_y, block.index().y);
  set_all(Special::ctaid_z, block.index().z);
  store(all_lanes, block.grid.kernel.begin);
  depths_ = {};
  carry = {};
  enter(0);
}

Dim3 Warp::thread_index(int lane) const {
  const Dim3 shape = block.grid.launch.block;
  const unsigned rank = number * lanes + static_cast<unsigned>(lane);
  return {rank % shape.x, rank / shape.x % shape.y, rank / shape.x / shape.y};
}

void Warp::enter(unsigned depth) {
  const Grid& grid = block.grid;
  const std::size_t rows = depth == 0 ? grid.kernel.rows : grid.program.callee_rows;
  frame_stride_ = depth == 0 ? grid.kernel.frame_bytes : grid.program.callee_bytes;
  while (frames_.size() <= depth) frames_.emplace_back();
  Frame& frame = frames_[depth];
  if (!frame.words) {
    frame.words = std::make_unique<Word[]>(rows * lanes);
    frame.bytes = std::make_unique<std::byte[]>(frame_stride_ * lanes + 1);
  }
  bases_[Row::frame] = frame.words.get();
  frame_bytes_ = frame.bytes.get();
  depth_ = depth;
}

// The threads that go on: of those that can, the ones in the deepest call, and there the ones that are least far, so
// that the others are caught up with. Now and then any others, which these may be waiting for.
bool Warp::select() {
  const Mask ready = live_ & ~at_barrier_ & ~at_collective_;
  if (ready == 0) return false;
  unsigned deepest = 0;
  std::uint32_t first = nowhere;
  bool alike = true;
  const auto leader = static_cast<std::size_t>(__builtin_ctz(ready));
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if ((ready >> lane & 1) == 0) continue;
    alike = alike && pcs_[lane] == pcs_[leader] && depths_[lane] == depths_[leader];
    if (depths_[lane] > deepest) deepest = depths_[lane], first = nowhere;
    if (depths_[lane] == deepest) first = std::min(first, pcs_[lane]);
  }
  if (!alike && turns_ >= fair_steps) {  // the turn of the group of one thread after the other
    turns_ = 0;
    auto lane = static_cast<std::size_t>(next_++ % lanes);
    while ((ready >> lane & 1) == 0) lane = next_++ % lanes;
    deepest = depths_[lane], first = pcs_[lane];
  }
  group_ = 0;
  limit_ = nowhere;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if ((ready >> lane & 1) == 0 || depths_[lane] != deepest) continue;
    if (pcs_[lane] == first)
      group_ |= Mask{1} << lane;
    else if (pcs_[lane] > first)
      limit_ = std::min(limit_, pcs_[lane]);
  }
  others_ = group_ != ready;
  pc_ = first;
  if (deepest != depth_) enter(deepest);
  return true;
}

Mask Warp::guarded(const Op& op, Mask mask) {
  const Word* const predicate = row(op.guard);
  Mask true_ones = 0;
  for (int lane = 0; lane < lanes; ++lane) true_ones |= static_cast<Mask>(predicate[lane] & 1) << lane;
  return mask & (op.negated_guard ? ~true_ones : true_ones);
}

unsigned Warp::run(unsigned most) {
  unsigned steps = 0;
  while (steps < most && (select() || (at_collective_ != 0 && resolve()))) {
    if (group_ == 0) continue;
    const unsigned done = recorder ? run_group<true>(most - steps) : run_group<false>(most - steps);
    steps += std::max(done, 1u);
    turns_ = others_ ? turns_ + done : 0;
    group_ = 0;
  }
  return steps;
}

template <bool Recorded>
unsigned Warp::run_group(unsigned most) {
  if (others_) most = std::min(most, fair_steps);
  const Op* const ops = block.grid.program.ops.data();
  for (unsigned steps = 0;; ++steps) {
    if (steps >= most || (others_ && steps != 0 && pc_ >= limit_)) {
      store(group_, pc_);
      return steps;
    }
    const Op& op = ops[pc_];
    const Mask mask = op.guarded ? guarded(op, group_) : group_;
    if constexpr (Recorded) recorder->step(*this, op, mask, depth_);
    if (op.flow == Flow::plain) {
      if (op.run && mask != 0) op.run(*this, op, mask);
      ++pc_;
      continue;
    }
    if (mask == 0) {
      ++pc_;
      continue;
    }
    if (op.flow == Flow::branch) {
      if (mask == group_) {
        pc_ = op.target;
        continue;
      }
      store(group_ & ~mask, pc_ + 1);
      store(mask, op.target);
      return steps + 1;
    }
    if (mask != group_) {  // the others have nothing to do here
      store(group_ & ~mask, pc_ + 1);
      group_ = mask;
      others_ = true;
      limit_ = std::min(limit_, pc_ + 1);
    }
    bool goes_on = false;
    switch (op.flow) {
      case Flow::plain:
      case Flow::branch: break;  // above
      case Flow::branch_table: goes_on = branch_table(op, mask); break;
      case Flow::call: goes_on = call(op); break;
      case Flow::ret: goes_on = leave(op); break;
      case Flow::exit: end(mask); break;
      case Flow::barrier:
        store(mask, pc_ + 1);
        block.arrive(*this, op, mask);
        break;
      case Flow::collective: goes_on = collective(op); break;
      case Flow::yield:
        store(mask, pc_ + 1);
        turns_ = fair_steps;
        return most;
    }
    if (!goes_on) return steps + 1;
  }
}

bool Warp::branch_table(const Op& op, Mask mask) {
  const Word* const which = row(op.a);
  for_lanes(mask, [&](int lane) {
    const auto index = static_cast<std::uint32_t>(which[lane]);
    if (index >= op.target)
      fail(op, lane, Fault::Kind::trap, "branch " + std::to_string(index) + " of " + std::to_string(op.target));
    store(Mask{1} << lane, block.grid.program.targets[op.list + index]);
  });
  return false;
}

bool Warp::call(const Op& op) {
  const Program& program = block.grid.program;
  const std::uint32_t back = pc_ + 1;
  if (op.offset == 0) {
    const FunctionCode& callee = program.functions[op.target];
    if (callee.system) {
      callee.system(*this, op, group_);
      pc_ = back;
      return true;
    }
    store(group_, back);
    call_one(op, callee, group_);
    return false;
  }
  store(group_, back);
  for (Mask left = group_; left != 0;) {
    const int first = __builtin_ctz(left);
    const Word address = row(op.a)[first];
    Mask same = 0;
    for_lanes(left, [&](int lane) { same |= static_cast<Mask>(row(op.a)[lane] == address) << lane; });
    left &= ~same;
    const FunctionCode* const callee = program.function_at(address);
    if (!callee) fail(op, first, Fault::Kind::illegal_address, "no function is at the address that is called");
    if (callee->system)
      callee->system(*this, op, same);
    else
      call_one(op, *callee, same);
  }
  return false;
}

// `mask` goes on in `callee`; where it comes back to is in pcs_.
void Warp::call_one(const Op& op, const FunctionCode& callee, Mask mask) {
  if (!callee.unsupported.empty()) fail(op, __builtin_ctz(mask), Fault::Kind::unsupported, callee.unsupported);
  const CallSite& site = call_site(op);
  const unsigned depth = depth_;
  if (depth >= deepest_call) fail(op, __builtin_ctz(mask), Fault::Kind::trap, "calls too deep: the stack has no room");
  if (site.arguments.size() != callee.parameters.size())
    fail(op, __builtin_ctz(mask), Fault::Kind::illegal_address, "the function takes another number of arguments");
  std::byte* const from = frame_bytes_;
  const std::size_t from_stride = frame_stride_;
  std::array<Word*, 3> from_bases = bases_;
  enter(depth + 1);
  Frame& frame = frames_[depth + 1];
  for_lanes(mask, [&](int lane) {
    const auto at = static_cast<std::size_t>(lane);
    for (std::size_t i = 0; i < site.arguments.size(); ++i) {
      const Slot &argument = site.arguments[i], &parameter = callee.parameters[i];
      const std::byte* const value =
          argument.in_register ? reinterpret_cast<const std::byte*>(from_bases[argument.row.where] +
                                                                    std::size_t{argument.row.number} * lanes + at)
                               : from + at * from_stride + argument.offset;
      std::byte* const place = parameter.in_register ? reinterpret_cast<std::byte*>(row(parameter.row) + at)
                                                     : frame_bytes(lane) + parameter.offset;
      std::memcpy(place, value, std::min(argument.bytes, parameter.bytes));
    }
    frame.returns[at] = pcs_[at];
    pcs_[at] = callee.begin;
    depths_[at] = static_cast<std::uint16_t>(depth + 1);
  });
  enter(depth);
}

// From the function that `op` is of.
bool Warp::leave(const Op& op) {
  if (depth_ == 0) {
    end(group_);
    return false;
  }
  const Program& program = block.grid.program;
  const FunctionCode& callee = program.functions[op.function];
  const Frame& frame = frames_[depth_];
  const std::size_t stride = frame_stride_;
  const std::byte* const from = frame_bytes_;
  const std::array<Word*, 3> from_bases = bases_;
  enter(depth_ - 1);
  for_lanes(group_, [&](int lane) {
    const auto at = static_cast<std::size_t>(lane);
    const std::uint32_t back = frame.returns[at];
    const CallSite& site = call_site(program.ops[back - 1]);
    for (std::size_t i = 0; i < std::min(site.results.size(), callee.results.size()); ++i) {
      const Slot &result = callee.results[i], &place = site.results[i];
      const std::byte* const value =
          result.in_register
              ? reinterpret_cast<const std::byte*>(from_bases[Row::frame] + std::size_t{result.row.number} * lanes + at)
              : from + at * stride + result.offset;
      std::byte* const to =
          place.in_register ? reinterpret_cast<std::byte*>(row(place.row) + at) : frame_bytes(lane) + place.offset;
      std::memcpy(to, value, std::min(result.bytes, place.bytes));
    }
    pcs_[at] = back;
    depths_[at] = static_cast<std::uint16_t>(depth_);
  });
  return false;
}

void Warp::end(Mask mask) {
  live_ &= ~mask;
  note_barrier();
  block.ended(static_cast<unsigned>(__builtin_popcount(mask)));
}

// What threads of a warp do together waits for all that it names and that have not ended.
bool Warp::collective(const Op& op) {
  const Word* const named = row(op.e);
  Mask here = group_;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    if ((at_collective_ >> lane & 1) != 0 && pcs_[lane] == pc_ && depths_[lane] == depth_) here |= Mask{1} << lane;
  Mask ready = 0;
  for (Mask left = here; left != 0;) {
    const auto members = static_cast<Mask>(named[__builtin_ctz(left)]);
    Mask same = 0;
    for_lanes(left, [&](int lane) { same |= static_cast<Mask>(static_cast<Mask>(named[lane]) == members) << lane; });
    left &= ~same;
    if ((members & live_ & ~same) != 0) continue;
    if (op.run) op.run(*this, op, same);
    ready |= same;
  }
  if (ready == group_ && here == group_) {
    ++pc_;
    return true;
  }
  store(here & ~ready, pc_);
  at_collective_ = (at_collective_ & ~ready) | (here & ~ready);
  store(ready, pc_ + 1);
  return false;
}

// Nobody can go on, and some wait for others of the warp, which may have ended meanwhile, or wait for these at another
// place.
bool Warp::resolve() {
  const Program& program = block.grid.program;
  Mask freed = 0;
  for (Mask left = at_collective_; left != 0;) {
    const auto first = static_cast<std::size_t>(__builtin_ctz(left));
    const Op& op = program.ops[pcs_[first]];
    enter(depths_[first]);
    const Word* const named = row(op.e);
    const auto members = static_cast<Mask>(named[first]);
    Mask same = 0;
    for_lanes(left, [&](int lane) {
      const auto at = static_cast<std::size_t>(lane);
      if (pcs_[at] == pcs_[first] && depths_[at] == depths_[first] && static_cast<Mask>(named[lane]) == members)
        same |= Mask{1} << lane;
    });
    left &= ~same;
    if ((members & live_ & ~(op.run ? same : at_collective_)) != 0) continue;
    if (op.run) op.run(*this, op, same);
    freed |= same;
  }
  for_lanes(freed, [&](int lane) { ++pcs_[static_cast<std::size_t>(lane)]; });
  at_collective_ &= ~freed;
  group_ = 0;
  return freed != 0;
}

void Warp::release(unsigned barrier, const Barrier& opened) {
  const Program& program = block.grid.program;
  const unsigned depth = depth_;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if ((at_barrier_ >> lane & 1) == 0 || barriers_[lane] != barrier) continue;
    at_barrier_ &= ~(Mask{1} << lane);
    const Op& op = program.ops[pcs_[lane] - 1];
    if (op.d.number == 0) continue;
    enter(depths_[lane]);
    row(op.d)[lane] = op.offset == reduce_any   ? opened.trues != 0
                      : op.offset == reduce_all ? opened.falses == 0
                                                : opened.trues;
  }
  if (depth_ != depth) enter(depth);
}

void Warp::wait(Mask mask, unsigned barrier, bool of_block) {
  of_block_ = of_block;
  at_barrier_ |= mask;
  for_lanes(mask, [&](int lane) { barriers_[static_cast<std::size_t>(lane)] = static_cast<std::uint8_t>(barrier); });
  note_barrier();
}

bool Warp::is_local(std::uintptr_t address) const {
  for (std::size_t depth = 0; depth < frames_.size(); ++depth) {
    const std::size_t each = depth == 0 ? block.grid.kernel.frame_bytes : block.grid.program.callee_bytes;
    if (address - reinterpret_cast<std::uintptr_t>(frames_[depth].bytes.get()) < each * lanes) return true;
  }
  return false;
}

void Warp::find_extent(const Op& op, int lane, std::uintptr_t address, std::size_t bytes) {
  const auto holds = [&](const Memory::Extent& extent) {
    return address >= extent.begin && address < extent.end && bytes <= extent.end - address;
  };
  for (const Memory::Extent& known : extents_)
    if (holds(known)) {
      extent_ = known;
      return;
    }
  const auto found = [&](const Memory::Extent& extent) {
    if (!holds(extent)) return false;
    extents_.push_back(extent_ = extent);
    return true;
  };
  const auto extent_of = [](const void* begin, std::size_t size) -> Memory::Extent {
    return {reinterpret_cast<std::uintptr_t>(begin), reinterpret_cast<std::uintptr_t>(begin) + size};
  };
  const Grid& grid = block.grid;
  for (std::size_t depth = 0; depth < frames_.size(); ++depth)
    if (found(extent_of(frames_[depth].bytes.get(),
                        lanes * std::size_t{depth == 0 ? grid.kernel.frame_bytes : grid.program.callee_bytes})))
      return;
  if (found(extent_of(block.shared(), block.shared_bytes)) || found(grid.program.variable_memory()) ||
      found(extent_of(grid.parameters, grid.details.parameter_bytes)) ||
      found(extent_of(grid.workspace, sizeof grid.workspace)) || found(heap_extent(address)))
    return;
  if (!grid.memory && address >= 65536 && found({65536, ~std::uintptr_t{0}})) return;
  if (grid.memory && found(grid.memory->at(address))) return;
  fail_at(op, lane, address);
}

void Warp::fail(const Op& op, int lane, Fault::Kind kind, const std::string& what) const {
  throw Fault(kind, block.grid.details.name + ": " + what + ", in block " +
                        to_string(block.grid.index_in_whole(block.index())) + ", thread " +
                        to_string(thread_index(lane)) + " at " + block.grid.program.where(op));
}

void Warp::fail_at(const Op& op, int lane, std::uintptr_t address) const {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(address));
  fail(op, lane, Fault::Kind::illegal_address,
       std::string("address ") + text.data() +
           (op.addressing == Addressing::shared
                ? " is behind the block's " + std::to_string(block.shared_bytes) + " bytes of shared memory"
                : " is in no memory that the kernel may touch"));
}

void Warp::fail_alignment(const Op& op, int lane, std::uintptr_t address) const {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(address));
  fail(op, lane, Fault::Kind::misaligned_address,
       std::string("address ") + text.data() + " is not a multiple of the bytes that are touched");
}

std::string Warp::describe() const {
  const Mask waits = live_ & (at_barrier_ | at_collective_);
  if (waits == 0) return {};
  const auto lane = static_cast<std::size_t>(__builtin_ctz(waits));
  const std::uint32_t pc = pcs_[lane] - ((at_barrier_ >> lane & 1) != 0 ? 1 : 0);
  return "thread " + to_string(thread_index(static_cast<int>(lane))) + " waits at " +
         block.grid.program.where(block.grid.program.ops[pc]);
}

}  // namespace dcgn::virtual_gpu::interpreter
