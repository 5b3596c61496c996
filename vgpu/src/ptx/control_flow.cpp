#include "vgpu/src/ptx/control_flow.hpp"

#include <algorithm>
#include <utility>

namespace dcgn::virtual_gpu::ptx {

namespace {

bool ends_block(const Instruction& i) {
  return i.opcode == "bra" || i.opcode == "brx" || i.opcode == "ret" || i.opcode == "exit";
}

// Where a branch may lead.
std::vector<std::size_t> branch_targets(const Function& function, const Instruction& i) {
  std::vector<std::size_t> targets;
  const auto add = [&](std::string_view label) {
    if (const auto at = function.find_label(label, i.scope)) targets.push_back(*at);
  };
  if (i.opcode == "bra" && !i.operands.empty()) add(i.operands.front().name);
  if (i.opcode == "brx" && i.operands.size() > 1) {
    for (const TargetList& list : function.target_lists)
      if (list.label == i.operands[1].name)
        for (const std::string_view label : list.targets) add(label);
  }
  return targets;
}

}  // namespace

ControlFlow::ControlFlow(const Function& function) : function_(function) {
  split();
  connect();
  find_dominators();
}

void ControlFlow::split() {
  const std::size_t count = function_.instructions.size();
  std::vector<bool> begins(count + 1, false);
  begins[0] = true;
  for (const Label& label : function_.labels) begins[label.instruction] = true;
  for (std::size_t i = 0; i < count; ++i)
    if (ends_block(function_.instructions[i])) begins[i + 1] = true;
  for (std::size_t i = 0; i < count; ++i)
    if (begins[i])
      blocks_.push_back({i, i + 1, {}, {}});
    else
      ++blocks_.back().end;
}

void ControlFlow::connect() {
  const auto block_of = [&](std::size_t instruction) {
    const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), instruction,
                                        [](std::size_t i, const BasicBlock& b) { return i < b.begin; });
    return static_cast<std::size_t>(after - blocks_.begin()) - 1;
  };
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Instruction& last = function_.instructions[blocks_[b].end - 1];
    const auto link = [&](std::size_t to) {
      auto& next = blocks_[b].next;
      if (std::find(next.begin(), next.end(), to) != next.end()) return;
      next.push_back(to);
      blocks_[to].previous.push_back(b);
    };
    for (const std::size_t target : branch_targets(function_, last))
      if (target < function_.instructions.size()) link(block_of(target));
    const bool leaves = last.opcode == "ret" || last.opcode == "exit";
    blocks_[b].may_leave = leaves && !last.guard.empty();
    if ((!ends_block(last) || !last.guard.empty()) && b + 1 < blocks_.size()) link(b + 1);
  }
}

// Cooper, Harvey and Kennedy: a simple, fast dominance algorithm.
void ControlFlow::find_dominators() {
  position_.assign(blocks_.size(), unreached);
  dominator_.assign(blocks_.size(), unreached);
  if (blocks_.empty()) return;
  std::vector<bool> seen(blocks_.size(), false);
  std::vector<std::pair<std::size_t, std::size_t>> path = {{0, 0}};  // block, how many of its successors were walked
  seen[0] = true;
  while (!path.empty()) {
    auto& [block, walked] = path.back();
    if (walked == blocks_[block].next.size()) {
      order_.push_back(block);
      path.pop_back();
      continue;
    }
    const std::size_t next = blocks_[block].next[walked++];
    if (!seen[next]) {
      seen[next] = true;
      path.emplace_back(next, 0);
    }
  }
  std::reverse(order_.begin(), order_.end());
  for (std::size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;

  const auto meet = [&](std::size_t a, std::size_t b) {
    while (a != b) {
      while (position_[a] > position_[b]) a = dominator_[a];
      while (position_[b] > position_[a]) b = dominator_[b];
    }
    return a;
  };
  dominator_[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::size_t block : order_) {
      if (block == 0) continue;
      std::size_t found = unreached;
      for (const std::size_t previous : blocks_[block].previous) {
        if (dominator_[previous] == unreached) continue;
        found = found == unreached ? previous : meet(previous, found);
      }
      if (found == dominator_[block]) continue;
      dominator_[block] = found;
      changed = true;
    }
  }
}

bool ControlFlow::dominates(std::size_t a, std::size_t b) const {
  if (!reached(a) || !reached(b)) return false;
  while (position_[b] > position_[a]) b = dominator_[b];
  return a == b;
}

std::vector<Loop> ControlFlow::loops() const {
  std::vector<Loop> loops;
  for (const std::size_t latch : order_)
    for (const std::size_t header : blocks_[latch].next) {
      if (position_[header] > position_[latch]) continue;
      auto loop = std::find_if(loops.begin(), loops.end(), [&](const Loop& l) { return l.header == header; });
      if (loop == loops.end()) {
        loops.push_back({header, {}, std::vector<bool>(blocks_.size(), false)});
        loop = loops.end() - 1;
        loop->inside[header] = true;
      }
      loop->latches.push_back(latch);
      // What reaches the latch without passing the header.
      std::vector<std::size_t> open = {latch};
      while (!open.empty()) {
        const std::size_t block = open.back();
        open.pop_back();
        if (loop->inside[block] || !reached(block)) continue;
        loop->inside[block] = true;
        open.insert(open.end(), blocks_[block].previous.begin(), blocks_[block].previous.end());
      }
    }
  return loops;
}

}  // namespace dcgn::virtual_gpu::ptx
