#include <dcgn/pixels.hpp>

#include "pixels/src/gl.hpp"
#include "pixels/src/image_comm_state.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

namespace dcgn::pixels {

namespace {

bool all_here(const Comm& comm) {
  for (int r = 0; r < comm.size(); ++r)
    if (!comm.is_here(r)) return false;
  return true;
}

// Reads or fills all of the pixels at once, through memory of the pool's kind: what all ranks of `comm` can be handed.
template <class Act>
void through(StagingPool& pool, const Comm& comm, const char* operation, const Checked& pixels, bool reads, bool writes,
             const Act& act) {
  const StagingPool::Lease staging = pool.get(operation, pixels.bytes());
  std::byte* memory = nullptr;
  if (reads) {
    staging->begin_read(operation, pixels);
    wait_ready(operation, *staging, comm.deadline_ns());
    memory = staging->memory();
  } else {
    memory = staging->to_fill(operation, comm.deadline_ns());
  }
  if (staging->is_shared() || all_here(comm)) {
    act(memory);
  } else {
    std::vector<std::byte> copied(memory, memory + (reads ? pixels.bytes() : 0));
    copied.resize(static_cast<std::size_t>(pixels.bytes()));
    act(copied.data());
    if (writes) std::copy(copied.begin(), copied.end(), memory);
  }
  if (writes) staging->finish_write(operation, pixels);
}

}  // namespace

ImageComm::ImageComm(Comm& comm, const Options& options) : state_(std::make_unique<State>(comm, options)) {}

ImageComm::~ImageComm() {
  State& s = *state_;
  bool unused = true;  // its memory, by messages: where an exception leaves, it stays for them
  try {
    if (std::uncaught_exceptions() > 0) {
      unused = s.begun.empty();
    } else if (!s.begun.empty()) {
      s.start_pending(comm().deadline_ns());
      for (auto& entry : s.begun) s.guarded(*entry.second, [&] { s.complete(*entry.second); });
    }
    unused = unused && s.none_abandoned();
  } catch (const Error& error) {  // a destructor does not throw
    std::fprintf(stderr, "%s\n", error.what());
    unused = false;
  }
  s.leave_others();
  if (!unused) static_cast<void>(state_.release());
}

Comm& ImageComm::comm() const noexcept { return state_->comm; }
const Options& ImageComm::options() const noexcept { return state_->options; }
Path ImageComm::path() const noexcept { return state_->pool.path(); }
const CompressionCost& ImageComm::cost(Compression compression) const {
  return state_->costs.at(static_cast<std::size_t>(compression));
}

Moved ImageComm::send(const Pixels& from, int to, int tag) {
  Operation operation = state_->operation("pixels::send", true, from, to, tag);
  state_->start_pending(comm().deadline_ns());
  return state_->guarded(operation, [&] { return state_->complete(operation); });
}

Moved ImageComm::recv(const Pixels& into, int from, int tag) {
  Operation operation = state_->operation("pixels::recv", false, into, from, tag);
  state_->start_pending(comm().deadline_ns());
  if (operation.parts.size() > 1 && (from == any_source || tag == any_tag)) {  // all parts are of one message
    const Status status = comm().probe(from, tag);
    operation.peer = status.source;
    operation.tag = status.tag;
  }
  return state_->guarded(operation, [&] { return state_->complete(operation); });
}

ImageRequest ImageComm::isend(const Pixels& from, int to, int tag) {
  auto operation = std::make_unique<Operation>(state_->operation("pixels::isend", true, from, to, tag));
  for (Part& part : operation->parts) state_->begin(*operation, part);
  const ImageRequest request(state_->keep(std::move(operation)));
  state_->start_pending(0);
  return request;
}

ImageRequest ImageComm::irecv(const Pixels& into, int from, int tag) {
  auto operation = std::make_unique<Operation>(state_->operation("pixels::irecv", false, into, from, tag));
  if (operation->parts.size() > 1 && (from == any_source || tag == any_tag))
    throw Error(Code::unsupported, "pixels::irecv",
                "a message of " + std::to_string(operation->parts.size()) +
                    " tiles needs its source and its tag, expected none of any_source and any_tag");
  state_->guarded(*operation, [&] {
    for (Part& part : operation->parts) state_->begin(*operation, part);
  });
  return ImageRequest(state_->keep(std::move(operation)));
}

std::optional<Moved> ImageComm::test(const ImageRequest& request) {
  const auto found = state_->begun.find(request.number_);
  if (found == state_->begun.end()) return Moved{};
  state_->start_pending(0);
  Operation& operation = *found->second;
  std::optional<Moved> moved;
  try {
    moved = state_->guarded(operation, [&] { return state_->test(operation); });
  } catch (...) {
    state_->begun.erase(found);  // done with, as in wait()
    throw;
  }
  if (moved) state_->begun.erase(found);
  return moved;
}

Moved ImageComm::wait(const ImageRequest& request) {
  const auto found = state_->begun.find(request.number_);
  if (found == state_->begun.end()) return {};
  state_->start_pending(comm().deadline_ns());
  // It is done with, whatever comes of it.
  const std::unique_ptr<Operation> operation = std::move(found->second);
  state_->begun.erase(found);
  return state_->guarded(*operation, [&] { return state_->complete(*operation); });
}

Path ImageComm::broadcast(const Pixels& image, int root) {
  constexpr const char* name = "pixels::broadcast";
  const Checked pixels = state_->enter(name, image);
  state_->start_pending(comm().deadline_ns());
  const bool is_root = comm().rank() == root;
  through(state_->pool, comm(), name, pixels, is_root, !is_root,
          [&](std::byte* memory) { comm().broadcast(TypedBuffer(memory, pixels.datatype()), root); });
  return path();
}

Path ImageComm::gather(const Pixels& from, const std::vector<Pixels>& into, int root) {
  constexpr const char* name = "pixels::gather";
  const Checked pixels = state_->enter(name, from);
  const std::uint64_t deadline_ns = comm().deadline_ns();
  const bool is_root = comm().rank() == root;
  const auto ranks = static_cast<std::size_t>(comm().size());
  if (is_root && into.size() != ranks)
    throw Error(Code::invalid_size, name,
                std::to_string(into.size()) + " places for the pixels of " + std::to_string(ranks) + " ranks");
  std::vector<Checked> places;
  std::vector<std::int64_t> counts, displacements;
  std::int64_t all = 0;
  if (is_root)
    for (const Pixels& place : into) {
      places.push_back(state_->enter(name, place));
      counts.push_back(places.back().bytes());
      displacements.push_back(all);
      all += counts.back();
    }
  state_->start_pending(deadline_ns);
  through(state_->pool, comm(), name, pixels, true, false, [&](std::byte* memory) {
    // Those of all ranks come behind one another.
    const StagingPool::Lease gathered = state_->host_pool.get(name, all);
    std::byte* const out = gathered->to_fill(name, deadline_ns);
    comm().gatherv(Span<const std::byte>(memory, static_cast<std::size_t>(pixels.bytes())),
                   Span<std::byte>(out, static_cast<std::size_t>(all)), counts, displacements, root);
    for (std::size_t r = 0; r < places.size(); ++r) write_image(name, places[r], out + displacements[r]);
  });
  return path();
}

void ImageComm::composite(const Image& color, const Image& depth, const Rectangle& rectangle, int root) {
  constexpr const char* name = "pixels::composite";
  struct Fragment {
    std::uint32_t color;
    float depth;
  };
  const auto nearer = [](const Fragment& a, const Fragment& b) { return b.depth < a.depth ? b : a; };
  const Pixels colors{color, GL_RGBA, GL_UNSIGNED_BYTE, rectangle},
      depths{depth, GL_DEPTH_COMPONENT, GL_FLOAT, rectangle};
  std::vector<std::uint32_t> color_of(static_cast<std::size_t>(byte_count(name, colors)) / sizeof(std::uint32_t));
  std::vector<float> depth_of(static_cast<std::size_t>(byte_count(name, depths)) / sizeof(float));
  read(name, colors, color_of.data());
  read(name, depths, depth_of.data());
  std::vector<Fragment> fragments(color_of.size());
  for (std::size_t i = 0; i < fragments.size(); ++i) fragments[i] = {color_of[i], depth_of[i]};
  comm().reduce(fragments, fragments, nearer, root);
  if (comm().rank() != root) return;
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    color_of[i] = fragments[i].color;
    depth_of[i] = fragments[i].depth;
  }
  write(name, colors, color_of.data());
  write(name, depths, depth_of.data());
}

double ImageComm::measure_link(int peer) {
  using Clock = std::chrono::steady_clock;
  state_->start_pending(comm().deadline_ns());
  constexpr std::size_t large = 4 << 20, small = 8;
  std::vector<std::byte> room(large);
  // The fastest of some round trips: what disturbs only adds.
  const auto seconds_of = [&](std::size_t bytes, int rounds) {
    const Span<std::byte> message(room.data(), bytes);
    double least = 1e9;
    for (int round = 0; round < rounds; ++round) {
      const auto begin = Clock::now();
      if (comm().rank() < peer) comm().send(message, peer, max_tag);
      comm().recv(message, peer, max_tag);
      if (comm().rank() > peer) comm().send(message, peer, max_tag);
      if (round > 0) least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count() / 2);
    }
    return least;
  };
  const double of_small = seconds_of(small, 10), of_large = seconds_of(large, 5);
  double mine = static_cast<double>(large - small) / std::max(of_large - of_small, 1e-9), theirs = 0;
  comm().sendrecv(mine, peer, max_tag, theirs, peer, max_tag);
  return state_->link_bytes_per_s = std::max(mine, theirs);
}

void ImageComm::refuse_elements(const char* operation, const Datatype& element) {
  throw Error(Code::invalid_type, operation,
              "the operation does not take elements of " + std::to_string(element.size()) +
                  " bytes as these, expected a type that it takes");
}

ElementKind ImageComm::element_kind(const char* operation, const Pixels& from, const Pixels* into) {
  const Checked pixels = check(operation, from);
  const auto refuse_packed = [&](const PixelFormat& format) {
    if (format.packed)
      throw Error(Code::invalid_type, operation,
                  name_of_type(format.type) + " packs components, expected a type of one component");
  };
  refuse_packed(pixels.format);
  if (!into) return pixels.format.kind;
  const Checked filled = check(operation, *into);
  refuse_packed(filled.format);
  if (filled.format.kind != pixels.format.kind || filled.bytes() != pixels.bytes())
    throw Error(Code::mismatch, operation,
                std::to_string(pixels.element_count()) + " elements of " + to_string(pixels.format.kind) +
                    " for a rectangle of " + std::to_string(filled.element_count()) + " of " +
                    to_string(filled.format.kind));
  return pixels.format.kind;
}

std::int64_t ImageComm::byte_count(const char* operation, const Pixels& pixels) {
  return check(operation, pixels).bytes();
}

void ImageComm::read(const char* operation, const Pixels& from, void* memory) {
  const Checked pixels = state_->enter(operation, from);
  state_->start_pending(comm().deadline_ns());
  read_image(operation, pixels, memory);
}

void ImageComm::write(const char* operation, const Pixels& into, const void* memory) {
  write_image(operation, state_->enter(operation, into), memory);
}

}  // namespace dcgn::pixels
