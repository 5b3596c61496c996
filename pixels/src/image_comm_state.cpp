#include "pixels/src/image_comm_state.hpp"

#include "pixels/src/gl.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

namespace dcgn::pixels {

namespace {

constexpr const char* constructor = "pixels::ImageComm";

Path resolved(const Options& options, const Comm& comm) {
  check_context(constructor);
  return resolve(constructor, options.path, comm);
}

void check_options(const Options& options) {
  if (options.tile_bytes < 0)
    throw Error(Code::configuration, constructor,
                "tile_bytes is " + std::to_string(options.tile_bytes) + ", expected 0 or more");
  if (options.jpeg_quality < 0 || options.jpeg_quality > 100)
    throw Error(Code::configuration, constructor,
                "jpeg_quality is " + std::to_string(options.jpeg_quality) + ", expected 0 .. 100");
  if (options.compression == Compression::jpeg && options.jpeg_quality == 0)
    throw Error(Code::configuration, constructor, "jpeg loses: expected a jpeg_quality of 1 .. 100, which allows it");
  if (!is_available(options.compression))
    throw Error(
        Code::unsupported, constructor,
        "this build has no compression " + to_string(options.compression) + ": scripts/install-packages pixels");
}

std::size_t index(Compression compression) { return static_cast<std::size_t>(compression); }

}  // namespace

// All that there are, by their contexts. Those of one context are called by one thread at a time.
struct ImageComm::State::Known {
  std::mutex mutex;
  std::multimap<void*, State*> states;

  static Known& all() {
    static Known known;
    return known;
  }
};

ImageComm::State::State(Comm& c, const Options& o)
    : comm(c),
      options(o),
      pool(resolved(o, c)),
      host_pool(pool.path() == Path::interop ? Path::pinned : pool.path()),
      link_bytes_per_s(o.link_bytes_per_s),
      context_(current_context()) {
  check_options(o);
  const std::lock_guard lock(Known::all().mutex);
  Known::all().states.emplace(context_, this);
}

ImageComm::State::~State() { leave_others(); }

void ImageComm::State::leave_others() {
  const std::lock_guard lock(Known::all().mutex);
  std::erase_if(Known::all().states, [&](const auto& entry) { return entry.second == this; });
}

Checked ImageComm::State::enter(const char* operation, const Pixels& pixels) {
  void* const current = current_context();
  if (current && current != context_)
    throw Error(Code::device, operation, "another OpenGL context is current than when the ImageComm was made");
  return check(operation, pixels);
}

Operation ImageComm::State::operation(const char* name, bool sends, const Pixels& pixels, int peer, int tag) {
  const Checked all = enter(name, pixels);
  if (options.compression == Compression::jpeg && !takes_jpeg(all.format))
    throw Error(Code::invalid_type, name,
                "jpeg takes unsigned bytes of GL_RGB, GL_BGR, GL_RGBA or GL_BGRA, not " +
                    name_of_format(all.format.format) + " of " + name_of_type(all.format.type));
  if (options.compression == Compression::automatic && sends && link_bytes_per_s <= 0)
    throw Error(Code::configuration, name,
                "automatic compression weighs the link's speed: expected link_bytes_per_s, or measure_link() before");
  Operation made{.name = name, .sends = sends, .peer = peer, .tag = tag, .parts = {}};
  const int height = all.rectangle.height;
  const std::int64_t row = all.row_bytes();
  int rows = height;
  if (options.tile_bytes > 0 && row > 0)
    rows = static_cast<int>(std::clamp<std::int64_t>(options.tile_bytes / row, 1, std::max(height, 1)));
  for (int first = 0; first < height; first += rows)
    made.parts.push_back({.pixels = all.rows(first, std::min(rows, height - first))});
  if (made.parts.empty()) made.parts.push_back({.pixels = all});
  made.moved.path = pool_of_messages().path();
  return made;
}

void ImageComm::State::begin(Operation& operation, Part& part) {
  part.staging = pool_of_messages().get(operation.name, part.pixels.bytes());
  if (operation.sends) {
    part.staging->begin_read(operation.name, part.pixels);
    part.stage = Part::Stage::reading;
    return;
  }
  if (compresses()) {
    part.framed.resize(static_cast<std::size_t>(most_framed_bytes(part.pixels)));
    part.request = comm.irecv(part.framed, operation.peer, operation.tag);
  } else {
    std::byte* const memory = part.staging->to_fill(operation.name, comm.deadline_ns());
    part.request = comm.irecv(TypedBuffer(memory, part.pixels.datatype()), operation.peer, operation.tag);
  }
  part.stage = Part::Stage::under_way;
}

Compression ImageComm::State::choose(const Operation& operation, const Part& part, const std::byte* memory) {
  if (options.compression != Compression::automatic) return options.compression;
  constexpr int measured_every = 32;  // pictures change
  constexpr std::int64_t sample_bytes = 1 << 20;
  Checked sample = part.pixels;
  if (sample.bytes() > sample_bytes)
    sample = sample.rows(0, static_cast<int>(std::max<std::int64_t>(1, sample_bytes / sample.row_bytes())));
  const bool measures = since_measured_++ % measured_every == 0;
  Compression best = Compression::none;
  for (const Compression c : {Compression::lossless, Compression::jpeg}) {
    if (!is_available(c) || (c == Compression::jpeg && (options.jpeg_quality == 0 || !takes_jpeg(sample.format))))
      continue;
    if (measures) costs[index(c)] = measure_cost(operation.name, sample, memory, c, options.jpeg_quality);
    if (cost_s(costs[index(c)], link_bytes_per_s) < cost_s(costs[index(best)], link_bytes_per_s)) best = c;
  }
  return best;
}

bool ImageComm::State::start(Operation& operation, Part& part, std::uint64_t wait_ns) {
  if (!part.staging->ready(wait_ns)) return false;
  const std::byte* const memory = part.staging->memory();
  if (compresses()) {
    Framed framed = frame(operation.name, part.pixels, memory, choose(operation, part, memory), options.jpeg_quality);
    part.framed = std::move(framed.bytes);
    operation.bytes_by[index(framed.compression)] += part.pixels.bytes();
    part.request = comm.isend(part.framed, operation.peer, operation.tag);
  } else {
    const std::byte* message = memory;
    if (!part.staging->is_shared() && !comm.is_here(operation.peer)) {
      part.framed.assign(memory, memory + part.pixels.bytes());
      message = part.framed.data();
    }
    part.request = comm.isend(ConstTypedBuffer(message, part.pixels.datatype()), operation.peer, operation.tag);
  }
  part.stage = Part::Stage::under_way;
  return true;
}

void ImageComm::State::finish(Operation& operation, Part& part, const Status& status) {
  Moved& moved = operation.moved;
  part.stage = Part::Stage::done;
  if (operation.sends) {
    moved.wire_bytes += compresses() ? static_cast<std::int64_t>(part.framed.size()) : part.pixels.bytes();
  } else {
    std::byte* const memory = part.staging->to_fill(operation.name, comm.deadline_ns());
    if (compresses()) {
      const Compression came = unframe(operation.name, part.pixels, part.framed.data(), status.bytes, memory);
      operation.bytes_by[index(came)] += part.pixels.bytes();
    } else if (status.bytes != part.pixels.bytes()) {
      const Rectangle& r = part.pixels.rectangle;
      throw Error(Code::mismatch, operation.name,
                  "the message has " + std::to_string(status.bytes) + " bytes, the rectangle, " +
                      std::to_string(r.width) + " x " + std::to_string(r.height) + ", " +
                      std::to_string(part.pixels.bytes()));
    }
    part.staging->finish_write(operation.name, part.pixels);
    moved.source = status.source;
    moved.tag = status.tag;
    moved.elements = status.elements;
    moved.wire_bytes += status.bytes;
  }
  moved.bytes += part.pixels.bytes();
  part.staging = {};
  part.framed = {};
  const auto most = std::max_element(operation.bytes_by.begin(), operation.bytes_by.end());
  moved.compression = static_cast<Compression>(most - operation.bytes_by.begin());
}

bool ImageComm::State::start_pending(std::uint64_t wait_ns) {
  std::vector<State*> beside;
  {
    const std::lock_guard lock(Known::all().mutex);
    const auto [first, last] = Known::all().states.equal_range(context_);
    for (auto entry = first; entry != last; ++entry) beside.push_back(entry->second);
  }
  bool all = true;
  for (State* const state : beside) all = state->start_own(wait_ns) && all;
  return all;
}

bool ImageComm::State::start_own(std::uint64_t wait_ns) {
  for (auto& [number, operation] : begun)
    for (Part& part : operation->parts)
      if (part.stage == Part::Stage::reading && !start(*operation, part, wait_ns)) return false;
  return true;
}

void ImageComm::State::deadline(const char* operation) const {
  throw Error(
      Code::deadline, operation,
      "GL has not come to the end of its work within " + std::to_string(comm.deadline_ns() / 1'000'000) + " ms");
}

Moved ImageComm::State::complete(Operation& operation) {
  // Two parts at a time: while one is on its way, the next one is read, or its receive is open already.
  constexpr std::size_t at_once = 2;
  const std::uint64_t deadline_ns = comm.deadline_ns();
  std::vector<Part>& parts = operation.parts;
  std::size_t begun_parts = 0;
  while (begun_parts < parts.size() && parts[begun_parts].stage != Part::Stage::idle) ++begun_parts;
  for (std::size_t done = 0; done < parts.size(); ++done) {
    for (; begun_parts < std::min(done + at_once, parts.size()); ++begun_parts) begin(operation, parts[begun_parts]);
    Part& part = parts[done];
    if (part.stage == Part::Stage::reading && !start(operation, part, deadline_ns)) deadline(operation.name);
    if (part.stage == Part::Stage::under_way) finish(operation, part, comm.wait(part.request));
  }
  return operation.moved;
}

std::optional<Moved> ImageComm::State::test(Operation& operation) {
  for (Part& part : operation.parts) {
    if (part.stage == Part::Stage::done) continue;
    if (part.stage == Part::Stage::reading) return std::nullopt;
    const std::optional<Status> status = comm.test(part.request);
    if (!status) return std::nullopt;
    finish(operation, part, *status);
  }
  return operation.moved;
}

void ImageComm::State::abandon(Operation& operation) {
  for (Part& part : operation.parts)
    if (part.stage == Part::Stage::under_way) abandoned_.push_back(std::move(part));
}

bool ImageComm::State::none_abandoned() {
  return std::all_of(abandoned_.begin(), abandoned_.end(),
                     [&](const Part& part) { return comm.test(part.request).has_value(); });
}

std::uint64_t ImageComm::State::keep(std::unique_ptr<Operation> operation) {
  begun.emplace(next_, std::move(operation));
  return next_++;
}

}  // namespace dcgn::pixels
