#include "runner.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/error.hpp>
#include <dcgn/gpu/kernel.hpp>
#include <dcgn/operation.hpp>
#include <dcgn/span.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace dcgn::stencil {

namespace {

// Of messages: a stage's are received before those of the next are.
int tag_of(int direction, std::size_t field) { return direction * most_fields + static_cast<int>(field); }

}  // namespace

Runner::Runner(Comm comm, UpdateCode code, const StepperOptions& options, std::vector<Storage*> fields)
    : comm_(std::move(comm)), code_(std::move(code)), options_(options), fields_(std::move(fields)) {
  if (const auto& device = fields_.front()->device()) {
    first_.emplace(*device, StreamPriority::high);
    second_.emplace(*device);
  }
}

Runner::~Runner() {
  for (Storage* field : fields_)
    if (field->tenant == this) field->release();
}

bool Runner::is_arranged(Mode mode) const {
  return mode == mode_ &&
         std::all_of(fields_.begin(), fields_.end(), [&](const Storage* f) { return f->tenant == this; });
}

void Runner::arrange(Mode mode) {
  const bool in_kernels = mode == Mode::graph || mode == Mode::persistent;
  if (in_kernels && options_.exchange == Exchange::each_step)
    throw Error(dcgn::Code::unsupported, "Stepper",
                "the mode " + to_string(mode) + " exchanges halos each stage, each step was asked for");
  comm_.barrier();  // nobody stores into what goes now
  recorded_ = nullptr;
  exchanger_.reset();
  failed_ = false;
  const Storage& first = *fields_.front();
  plan_ = plan_of(first.grid(), first.rank(), code_.radius, options_.scheme, mode == Mode::shift, options_.exchange);
  for (Storage* field : fields_) {
    field->arrange(plan_.halo, plan_.rules.arrays);
    field->tenant = this;
  }
  send_types_.clear();
  receive_types_.clear();
  for (const Transfer& t : plan_.sends) send_types_.push_back(fields_.front()->type(t.cells));
  for (const Transfer& t : plan_.receives) receive_types_.push_back(fields_.front()->type(t.cells));
  tilings_.clear();
  for (const StageCells& cells : plan_.stages)
    tilings_.push_back(device() ? StageTilings{tiling(cells.border, {}), tiling(cells.bulk, cells.border)}
                                : StageTilings{});
  mode_ = mode;
  set_position(0);
  if (!in_kernels) return;
  std::vector<Stage> stages;
  stages.reserve(plan_.rules.stages.size());
  for (int i = 0; i < period(); ++i) stages.push_back(stage(i));
  exchanger_ = std::make_unique<ExchangerMemory>(comm_, plan_, fields_, stages);
}

void Runner::set_position(int stage) {
  position_ = stage;
  for (Storage* field : fields_) field->set_current(rule(stage).in);
}

Stage Runner::stage(int index) const {
  const StageRule& r = rule(index);
  Stage stage{};
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    stage.in[f] = fields_[f]->cell_0(r.in);
    stage.base[f] = fields_[f]->cell_0(r.base);
    stage.out[f] = fields_[f]->cell_0(r.out);
    if (r.sum < 0) continue;
    stage.sum_base[f] = fields_[f]->cell_0(r.sum_base);
    stage.sum[f] = fields_[f]->cell_0(r.sum);
  }
  stage.out_factor = r.out_factor * options_.dt;
  stage.sum_factor = r.sum_factor * options_.dt;
  const bool is_last = (index + 1) % plan_.rules.stages_each == 0;
  if (is_last && plan_.shift)
    stage.out_shift = plan_.shift * fields_.front()->part().stride[fields_.front()->grid().dims() - 1];
  stage.out_array = r.out;
  stage.is_next = options_.scheme == Scheme::next;
  return stage;
}

Tiling Runner::tiling(const Boxes& boxes, const Boxes& beside) const {
  const bool emulated = device()->kind() == DeviceKind::emulated;
  Tiling tiling{};
  // Emulated threads take turns: a few show all there is to show.
  tiling.threads = emulated ? 4 : static_cast<int>(sweep_threads);
  // In 3-D rows of a tile are read anew by the rows next to them, out of the first cache.
  tiling.along_x = code_.dims == 1 ? tiling.threads : emulated ? 2 : code_.dims == 2 ? tiling.threads : 32;
  // A long march reads little twice, a short one gives all multiprocessors something to do. Tiles are as good as done
  // in rounds, of as many as there is room for: a last round of a few takes as long as a full one.
  constexpr int longest = 80;
  const int shortest = emulated ? 3 : std::max(2 * code_.radius, 4);
  const std::int64_t at_once = std::int64_t{code_.blocks_per_multiprocessor} * device()->properties().multiprocessors;
  std::int64_t least = INT64_MAX;
  Tiling tried = tiling;
  for (tried.march = shortest; tried.march <= longest; ++tried.march) {
    const std::int64_t rounds = (tiles(boxes, tried) + tiles(beside, tried) + at_once - 1) / at_once;
    const std::int64_t planes = rounds * (tried.march + 2 * code_.radius);
    if (planes >= least) continue;
    least = planes;
    tiling = tried;
  }
  return tiling;
}

Launch Runner::launch(std::int64_t tiles, const Tiling& tiling) const {
  constexpr std::int64_t most_emulated = 3, most = 1 << 20;
  const bool emulated = device()->kind() == DeviceKind::emulated;
  return {.grid = static_cast<unsigned>(std::clamp<std::int64_t>(tiles, 1, emulated ? most_emulated : most)),
          .block = static_cast<unsigned>(tiling.threads),
          .resident = false};
}

void Runner::sweep(const Boxes& boxes, const Tiling& how, const Stage& stage, Stream* stream) {
  const Part& part = fields_.front()->part();
  if (!stream) {
    for (int b = 0; b < boxes.count; ++b) code_.on_host(part, stage, boxes.box[b]);
    return;
  }
  if (boxes.count == 0) return;
  device()->launch(*stream, launch(tiles(boxes, how), how), code_.sweep(part, stage, boxes, how));
}

void Runner::wait(Stream& stream) {
  comm_.wait_for(stream);  // meanwhile messages go on
  stream.synchronize();    // for what kernels threw
}

void Runner::begin_receives(int array, std::vector<Request>& requests) {
  for (std::size_t i = 0; i < plan_.receives.size(); ++i)
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const Transfer& t = plan_.receives[i];
      const TypedBuffer to(fields_[f]->first_of(array, t.cells), receive_types_[i]);
      requests.push_back(comm_.irecv(to, t.rank, tag_of(opposite(t.direction), f)));
    }
}

void Runner::begin_sends(int array, std::vector<Request>& requests, const Stream* stream) {
  for (std::size_t i = 0; i < plan_.sends.size(); ++i)
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const Transfer& t = plan_.sends[i];
      const ConstTypedBuffer from(fields_[f]->first_of(array, t.cells), send_types_[i]);
      requests.push_back(comm_.isend(from, t.rank, tag_of(t.direction, f), stream));
    }
}

void Runner::exchange(int array) {
  std::vector<Request> requests;
  begin_receives(array, requests);
  begin_sends(array, requests, nullptr);
  comm_.wait_all(requests);
}

// Algorithm 2 of the paper, and 3 where the plan shifts: sent is to one side only then.
void Runner::step_by_messages() {
  Stream* const border = first_ ? &*first_ : nullptr;
  Stream* const bulk = second_ ? &*second_ : nullptr;
  std::vector<Request> requests;
  for (int s = 0; s < plan_.rules.stages_each; ++s) {
    const StageCells& cells = plan_.stages[static_cast<std::size_t>(s)];
    const auto& [how_border, how_bulk] = tilings_[static_cast<std::size_t>(s)];
    const Stage what = stage(position_ + s);
    const int out = rule(position_ + s).out;
    requests.clear();
    if (cells.border.count) begin_receives(out, requests);
    sweep(cells.border, how_border, what, border);
    if (border) sweep(cells.bulk, how_bulk, what, bulk);
    if (cells.border.count) begin_sends(out, requests, border);
    if (!border) sweep(cells.bulk, how_bulk, what, nullptr);
    comm_.wait_all(requests);
    if (!border) continue;
    wait(*border);
    wait(*bulk);
  }
  set_position((position_ + plan_.rules.stages_each) % period());
}

void Runner::step_in_kernels(std::int64_t stages) {
  const std::uint64_t began = now_ns();
  if (device()) {
    launch_exchange_sweeps(stages);
    wait(*first_);
  } else {
    exchange_on_host(exchanger_->work(), *exchanger_->get(), stages, code_, fields_.front()->element().size());
  }
  // A wait that fails lasts the deadline, and those after it end at once.
  if (!failed_ && now_ns() - began > comm_.deadline_ns() / 2) failed_ = exchanger_->has_failed();
  if (failed_)
    throw Error(dcgn::Code::deadline, "Stepper::run", "a neighbour's halo has not come within the deadline",
                comm_.rank(), to_string(comm_.place()));
}

void Runner::launch_exchange_sweeps(std::int64_t stages) {
  const StageCells& cells = plan_.stages.front();
  const Tiling& how = cells.bulk.count ? tilings_.front().bulk : tilings_.front().border;
  Launch shape = launch(tiles(cells.border, how) + tiles(cells.bulk, how), how);
  const auto image = [&](std::int64_t each) {
    return code_.exchange_sweep(exchanger_->work(), exchanger_->get(), how, static_cast<int>(each));
  };
  shape.resident = mode_ == Mode::persistent;
  shape.shared_bytes = exchange_shared_bytes(plan_.sends.size());
  // Where ranks share a device, blocks that wait must leave some of it to those that they wait for.
  if (shape.resident || exchanger_->ranks_of_device() > 1) {
    const int most = device()->max_resident_blocks(shape, image(1)) / exchanger_->ranks_of_device();
    shape.grid.x = std::min(shape.grid.x, static_cast<unsigned>(std::max(1, most)));
  }
  if (mode_ == Mode::persistent) {
    constexpr std::int64_t most = 1 << 30;
    for (std::int64_t left = stages; left > 0; left -= most)
      device()->launch(*first_, shape, image(std::min(left, most)));
    return;
  }
  if (!recorded_ && stages >= recorded_stages)
    recorded_ = first_->record([this, shape, one = image(1)] {
      for (std::int64_t s = 0; s < recorded_stages; ++s) device()->launch(*first_, shape, one);
    });
  for (; stages >= recorded_stages; stages -= recorded_stages) recorded_();
  for (; stages > 0; --stages) device()->launch(*first_, shape, image(1));
}

void Runner::advance(std::int64_t steps) {
  // A rank may have written its part alone: that makes the halos of others old. With a shift they always are.
  int old = plan_.shift ? 1 : 0;
  if (!plan_.shift) {
    for (const Storage* field : fields_) old |= field->halos_are_current ? 0 : 1;
    comm_.all_reduce(old, Max{});
  }
  if (old) exchange(rule(position_).in);
  for (Storage* field : fields_) field->halos_are_current = false;  // should a step throw
  if (exchanger_) {
    step_in_kernels(steps * plan_.rules.stages_each);
    set_position(static_cast<int>((position_ + steps * plan_.rules.stages_each) % period()));
  } else {
    for (std::int64_t i = 0; i < steps; ++i) step_by_messages();
    if (plan_.shift) move_back(steps * plan_.shift);
  }
  for (Storage* field : fields_) field->halos_are_current = plan_.shift == 0;
}

namespace {

// Layers of a grid that a rank holds, as they lie in its memory.
struct Held {
  std::int64_t at;     // of the first layer, in memory
  std::int64_t first;  // which layer of the grid that is
  std::int64_t count;
};
// The part's layers once they have moved by so many: one run, or two where it goes around.
std::vector<Held> held(const Grid& grid, int rank, std::int64_t moved) {
  const int dim = grid.dims() - 1;
  const std::int64_t all = grid.extent(dim);
  const Box box = grid.part(rank);
  const std::int64_t first = (box.begin[dim] + moved) % all, count = box.extent(dim);
  const std::int64_t before_end = std::min(count, all - first);
  std::vector<Held> runs{{0, first, before_end}};
  if (before_end < count) runs.push_back({before_end, 0, count - before_end});
  return runs;
}

}  // namespace

void Runner::move_back(std::int64_t layers) {
  const Grid& grid = fields_.front()->grid();
  const int dim = grid.dims() - 1, me = comm_.rank();
  if (layers % grid.extent(dim) == 0) return;
  const int from = rule(position_).in, to = from == 0 ? 1 : 0;
  std::vector<Request> requests;
  // act(cells of the holder, rank of the owner, number of the run) for each of the holder's layers that the owner owns.
  const auto each = [&](int holder, int owner, const auto& act) {
    const Box box = grid.part(owner);
    int number = 0;
    for (const Held& run : held(grid, holder, layers)) {
      const std::int64_t begin = std::max(run.first, box.begin[dim]);
      const std::int64_t end = std::min(run.first + run.count, box.end[dim]);
      if (begin < end) act(run.at + begin - run.first, begin - box.begin[dim], end - begin, number);
      ++number;
    }
  };
  const auto rows = [&](std::size_t f, std::int64_t at, std::int64_t count) {
    Cells cells = fields_[f]->own();
    cells.begin[dim] = static_cast<int>(at);
    cells.end[dim] = static_cast<int>(at + count);
    return cells;
  };
  for (std::size_t f = 0; f < fields_.size(); ++f)
    for (int other = 0; other < grid.ranks(); ++other) {
      each(other, me, [&](std::int64_t, std::int64_t at, std::int64_t count, int number) {
        requests.push_back(comm_.irecv(fields_[f]->typed(to, rows(f, at, count)), other, tag_of(number, f)));
      });
      each(me, other, [&](std::int64_t at, std::int64_t, std::int64_t count, int number) {
        requests.push_back(comm_.isend(fields_[f]->typed(from, rows(f, at, count)), other, tag_of(number, f)));
      });
    }
  comm_.wait_all(requests);
  for (Storage* field : fields_)
    if (to != 0) field->swap_arrays(0, to);
  set_position(0);
}

}  // namespace dcgn::stencil
