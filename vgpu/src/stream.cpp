#include <dcgn/virtual_gpu/stream.hpp>

#include "vgpu/src/gpu.hpp"

#include <dcgn/error.hpp>

#include <utility>

namespace dcgn::virtual_gpu {

Stream::Stream(std::shared_ptr<Gpu> gpu, void* first)
    : gpu_(std::move(gpu)), parts_(gpu_->machine().make_parts(first)) {
  gpu_->enlist(*parts_);
}
Stream::Stream(VirtualGpu& gpu) : Stream(gpu.gpu_) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(gpu_, other.gpu_);
  std::swap(parts_, other.parts_);
  return *this;
}
Stream::~Stream() {
  if (parts_) gpu_->strike(*parts_);
}

void Stream::synchronize() {
  gpu_->refuse_recording(*parts_, "a wait for the stream");
  parts_->synchronize();
  gpu_->note_wait();
}
bool Stream::idle() const {
  gpu_->refuse_recording(*parts_, "a question whether the stream is idle");
  return parts_->idle();
}
void Stream::wait(const Event& event) {
  gpu_->refuse_recording(*parts_, "a wait for an event");
  event.marker_->hold(parts_->use(0));
}

Event::Event(VirtualGpu& gpu) : marker_(gpu.gpu_->machine().make_marker(0)) {}
Event::Event(Event&&) noexcept = default;
Event& Event::operator=(Event&&) noexcept = default;
Event::~Event() = default;

void Event::record(Stream& stream) {
  stream.gpu_->refuse_recording(*stream.parts_, "an event");
  stream.parts_->gather();
  marker_->record(stream.parts_->first());
}
bool Event::done() const { return marker_->done(); }
void Event::synchronize() const { marker_->synchronize(); }
double Event::seconds_since(const Event& earlier) const { return marker_->seconds_since(*earlier.marker_); }

}  // namespace dcgn::virtual_gpu
