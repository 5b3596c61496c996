// From a type to its normal form.
#include "datatype/layout.hpp"

#include "base/checked.hpp"
#include "datatype/kernel_table.hpp"
#include "datatype/node.hpp"

#include <atomic>
#include <utility>

namespace dcgn::datatype {

const Leaf& Layout::leaf_of(std::int64_t at) const {
  const auto next = std::upper_bound(leaves.begin(), leaves.end(), at,
                                     [](std::int64_t value, const Leaf& leaf) { return value < leaf.begin; });
  return next[-1];
}

namespace {

// Below that many bytes each, several leaves are better one table; more than so many are one in any case.
constexpr std::int64_t least_leaf = 16 << 10;
constexpr std::size_t most_leaves = 64;

// Puts a loop around all of the leaf, joined with what is there where nothing stands between. False where there are
// as many loops already as a leaf may have.
bool wrap(Leaf& leaf, Loop loop) {
  if (loop.count == 1) return true;
  if (leaf.num_loops == 0 && leaf.one_row_inside() && loop.stride == leaf.bytes_inside) {
    leaf.bytes_inside *= loop.count;
    return true;
  }
  if (leaf.num_loops > 0 && loop.stride == leaf.loops[0].count * leaf.loops[0].stride) {
    leaf.loops[0].count *= loop.count;
    return true;
  }
  if (leaf.num_loops == Leaf::most_loops) return false;
  std::move_backward(leaf.loops.begin(), leaf.loops.begin() + leaf.num_loops, leaf.loops.begin() + leaf.num_loops + 1);
  leaf.loops[0] = loop;
  ++leaf.num_loops;
  return true;
}

bool alike(const Leaf& a, const Leaf& b) {
  const auto alike_triangles = [](const Triangle& x, const Triangle& y) {
    return x.rows == y.rows && x.length == y.length && x.growth == y.growth && x.stride == y.stride;
  };
  return a.num_loops == b.num_loops && a.bytes_inside == b.bytes_inside &&
         std::equal(a.loops.begin(), a.loops.begin() + a.num_loops, b.loops.begin()) && a.table == b.table &&
         a.triangle.has_value() == b.triangle.has_value() && (!a.triangle || alike_triangles(*a.triangle, *b.triangle));
}

// Whether b is once more what a's outermost loop goes round.
bool goes_on(const Leaf& a, const Leaf& b) {
  if (a.num_loops == 0 || b.displacement != a.displacement + a.loops[0].count * a.loops[0].stride) return false;
  Leaf inside = a;
  std::move(inside.loops.begin() + 1, inside.loops.begin() + inside.num_loops, inside.loops.begin());
  --inside.num_loops;
  return alike(inside, b);
}

// The loops whose turns begin at these places, the outermost first; none where there are no such loops.
std::vector<Loop> loops_through(std::vector<std::int64_t> places) {
  std::vector<Loop> loops;
  while (places.size() > 1) {
    if (loops.size() == Leaf::most_loops) return {};
    const std::int64_t step = places[1] - places[0];
    std::size_t run = 2;
    while (run < places.size() && places[run] - places[run - 1] == step) ++run;
    if (places.size() % run != 0) return {};
    std::vector<std::int64_t> begins;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (i % run == 0)
        begins.push_back(places[i]);
      else if (places[i] - places[i - 1] != step)
        return {};
    }
    loops.insert(loops.begin(), {static_cast<std::int64_t>(run), step});
    places = std::move(begins);
  }
  return loops;
}

void set_table(Leaf& leaf, Table&& rows) {
  leaf.table = std::make_shared<const Table>(std::move(rows));
  leaf.kernel_table = std::make_shared<KernelTable>(*leaf.table);
}

// Rows in packed order, as shortly as they can be told; there is at least one.
Leaf leaf_of_rows(Table&& rows) {
  Leaf leaf;
  leaf.displacement = rows.displacements[0];
  leaf.bytes_inside = rows.begin[1];
  if (rows.rows() == 1) return leaf;
  const auto n = static_cast<std::size_t>(rows.rows());
  const auto length = [&](std::size_t i) { return rows.begin[i + 1] - rows.begin[i]; };
  const std::int64_t growth = length(1) - length(0), stride = rows.displacements[1] - rows.displacements[0];
  bool even_growth = true, even_steps = true;
  for (std::size_t i = 1; i < n; ++i) {
    even_growth &= length(i) - length(i - 1) == growth;
    even_steps &= rows.displacements[i] - rows.displacements[i - 1] == stride;
  }
  if (even_growth && growth == 0) {
    const std::vector<Loop> loops = loops_through(rows.displacements);
    if (!loops.empty()) {
      std::copy(loops.begin(), loops.end(), leaf.loops.begin());
      leaf.num_loops = static_cast<int>(loops.size());
      return leaf;
    }
  }
  leaf.bytes_inside = rows.bytes();
  if (even_growth && even_steps && n > 2) {
    leaf.triangle = Triangle{rows.rows(), length(0), growth, stride};
    return leaf;
  }
  const std::int64_t first = leaf.displacement;
  for (std::int64_t& displacement : rows.displacements) displacement -= first;
  rows.displacements.shrink_to_fit();
  rows.begin.shrink_to_fit();
  set_table(leaf, std::move(rows));
  return leaf;
}

// Takes leaves and rows in packed order and makes as few leaves of them as it can.
class Builder {
 public:
  void add_row(std::int64_t displacement, std::int64_t bytes) {
    auto& [displacements, begin] = rows_;
    if (rows_.rows() > 0 && displacement - displacements.back() == begin.back() - begin[begin.size() - 2]) {
      begin.back() += bytes;
      return;
    }
    if (rows_.rows() == most_rows)
      throw Error(Code::out_of_resources, "datatype",
                  "the type has more than " + std::to_string(most_rows) + " rows of which no loops can be made");
    displacements.push_back(displacement);
    begin.push_back(begin.back() + bytes);
  }

  // As its rows.
  void list(const Leaf& leaf) {
    Layout one;
    one.leaves = {leaf};
    one.leaves[0].begin = 0;
    for_each_row(one, 0, one.bytes(),
                 [&](std::int64_t displacement, std::int64_t bytes) { add_row(displacement, bytes); });
  }

  void add(const Leaf& leaf) {
    if (listing_ || (leaf.num_loops == 0 && leaf.one_row_inside())) return list(leaf);
    flush();
    push(leaf);
    if (leaves_.size() > most_leaves) list_all();
  }

  std::vector<Leaf> finish() {
    flush();
    if (leaves_.size() > 1 && small()) {
      list_all();
      flush();
    }
    std::int64_t at = 0;
    for (Leaf& leaf : leaves_) {
      leaf.begin = at;
      at += leaf.bytes();
    }
    return std::move(leaves_);
  }

 private:
  bool small() const { return bytes_ / static_cast<std::int64_t>(leaves_.size()) < least_leaf; }
  void list_all() {
    flush();
    listing_ = true;
    bytes_ = 0;
    for (const Leaf& leaf : std::exchange(leaves_, {})) list(leaf);
  }
  void flush() {
    if (rows_.rows() > 0) push(leaf_of_rows(std::exchange(rows_, {})));
  }
  void push(const Leaf& leaf) {
    bytes_ += leaf.bytes();
    if (!leaves_.empty()) {
      Leaf& last = leaves_.back();
      if (goes_on(last, leaf)) {
        ++last.loops[0].count;
        return;
      }
      if (alike(last, leaf) && wrap(last, {2, leaf.displacement - last.displacement})) return;
    }
    leaves_.push_back(leaf);
  }

  std::vector<Leaf> leaves_;
  std::int64_t bytes_ = 0;  // of them
  Table rows_;              // what comes after them
  bool listing_ = false;    // everything as rows
};

std::vector<Leaf> one_leaf_of(const std::vector<Leaf>& leaves) {
  Builder builder;
  for (const Leaf& leaf : leaves) builder.list(leaf);
  return builder.finish();
}

// The innermost loop goes into the table.
void list_innermost(Leaf& leaf) {
  Layout inside;
  inside.leaves = {leaf};
  Leaf& inner = inside.leaves[0];
  inner.begin = inner.displacement = 0;
  inner.loops[0] = leaf.loops[static_cast<std::size_t>(leaf.num_loops) - 1];
  inner.num_loops = 1;
  Table rows;
  for_each_row(inside, 0, inner.bytes(), [&](std::int64_t displacement, std::int64_t bytes) {
    if (rows.rows() == most_rows)
      throw Error(Code::out_of_resources, "datatype",
                  "the type has more than " + std::to_string(Leaf::most_loops) + " loops of more than " +
                      std::to_string(most_rows) + " rows");
    rows.displacements.push_back(displacement);
    rows.begin.push_back(rows.begin.back() + bytes);
  });
  --leaf.num_loops;
  leaf.bytes_inside = rows.bytes();
  leaf.triangle.reset();
  set_table(leaf, std::move(rows));
}

std::vector<Leaf> repeated_leaves(std::vector<Leaf> leaves, std::int64_t count, std::int64_t stride) {
  if (leaves.empty() || count == 1) return leaves;
  if (leaves.size() > 1) {
    if (count <= static_cast<std::int64_t>(most_leaves / leaves.size())) {
      Builder builder;
      for (std::int64_t i = 0; i < count; ++i)
        for (Leaf leaf : leaves) {
          leaf.displacement += i * stride;
          builder.add(leaf);
        }
      return builder.finish();
    }
    leaves = one_leaf_of(leaves);
  }
  Leaf& leaf = leaves[0];
  while (!wrap(leaf, {count, stride})) list_innermost(leaf);
  return leaves;
}

const std::vector<Leaf>& leaves_of(const Datatype& type) { return layout_of(type, 1)->leaves; }

std::vector<Leaf> made(const Node& node) {
  if (node.size == 0) return {};
  switch (node.form) {
    case Form::elements: {
      Leaf leaf;
      leaf.bytes_inside = node.size;
      return {leaf};
    }
    case Form::bounds: return leaves_of(node.children[0]);
    case Form::loop: return repeated_leaves(leaves_of(node.children[0]), node.count, node.stride);
    case Form::blocks:
    case Form::parts: break;
  }
  Builder builder;
  for (std::size_t i = 0; i < node.lengths.size(); ++i) {
    const Datatype& child = node.children[node.form == Form::parts ? i : 0];
    const std::vector<Leaf>& one = leaves_of(child);
    const bool gapless =
        one.size() == 1 && one[0].num_loops == 0 && one[0].one_row_inside() && child.size() == child.extent();
    if (gapless) {
      builder.add_row(node.displacements[i] + one[0].displacement, node.lengths[i] * child.size());
      continue;
    }
    for (Leaf leaf : repeated_leaves(one, node.lengths[i], child.extent())) {
      leaf.displacement += node.displacements[i];
      builder.add(leaf);
    }
  }
  return builder.finish();
}

}  // namespace

std::uint64_t Layout::next_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

std::shared_ptr<const Layout> layout_of(const Datatype& type, std::int64_t count) {
  const Node& node = type.node();
  Node::Derived& derived = *node.derived;
  const std::lock_guard lock(derived.mutex);
  const auto shared = [](std::vector<Leaf> leaves) {
    auto layout = std::make_shared<Layout>();
    layout->leaves = std::move(leaves);
    return layout;
  };
  if (!derived.layout) derived.layout = shared(made(node));
  if (count == 1) return derived.layout;
  if (!derived.layout_of_count || derived.count != count) {
    const Checked checked("datatype", Code::invalid_type);
    if (count < 0)
      throw Error(Code::invalid_size, "datatype", "count is " + std::to_string(count) + ", expected 0 or more");
    checked.multiply(count, node.size);
    checked.multiply(count, node.extent());
    derived.layout_of_count =
        shared(count == 0 ? std::vector<Leaf>{} : repeated_leaves(derived.layout->leaves, count, node.extent()));
    derived.count = count;
  }
  return derived.layout_of_count;
}

}  // namespace dcgn::datatype
