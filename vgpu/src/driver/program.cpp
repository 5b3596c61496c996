#include "vgpu/src/driver/program.hpp"

#include "device/cuda/cuda_driver.hpp"
#include "vgpu/src/driver/real.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <utility>

namespace dcgn::virtual_gpu::driver {

namespace {

// A launch waits until a queue takes it, which may be as long as a kernel runs.
constexpr double least_deadline_s = 600;

std::vector<int> parts_asked_for() {
  const char* const text = std::getenv("DCGN_VGPU_PARTS");
  std::vector<int> parts;
  std::istringstream words(text ? text : "");
  for (std::string word; std::getline(words, word, ',');) parts.push_back(std::atoi(word.c_str()));
  return parts.empty() ? std::vector<int>{0} : parts;
}

std::uint64_t check_asked_for() {
  const char* const text = std::getenv("DCGN_VGPU_CHECK");
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

Placement placement_asked_for() {
  const char* const text = std::getenv("DCGN_VGPU_PLACEMENT");
  return text && std::string(text) == "interleaved" ? Placement::interleaved() : Placement::chunked();
}

bool is_measured(const std::vector<int>& parts) {
  const char* const text = std::getenv("DCGN_VGPU_SPLIT");
  return parts.size() > 1 && !(text && std::string(text) == "always") && check_asked_for() == 0;
}

}  // namespace

Program& Program::get() {
  static Program& program = *new Program();  // see program.hpp
  return program;
}

Program::Program()
    : parts_(parts_asked_for()),
      placement_(placement_asked_for()),
      check_every_(check_asked_for()),
      measured_(is_measured(parts_)) {}

void Program::make_gpu() {
  tried_ = true;
  if (parts_.size() < 2) {
    report_.note_whole_program("one GPU alone was given");
    return;
  }
  try {
    std::vector<Device> devices;
    for (const int part : parts_) devices.emplace_back(part);
    Options options;
    options.deadline_s = std::max(options.deadline_s, least_deadline_s);
    gpu_ = std::make_shared<Gpu>(devices, options, measured_.on());
    if (measured_.on() && on_first_device()) measured_.timer().prepare();
    // What the program allocates from the default pool of its GPU, the others reach as well.
    CUmemoryPool pool = nullptr;
    if (DCGN_REAL(cuDeviceGetDefaultMemPool)(&pool, first_device()) == CUDA_SUCCESS) share_pool(pool);
  } catch (const Error& error) {
    gpu_.reset();
    report_.note_whole_program(error.what());
  }
}

void Program::wake() {
  if (!gpu() || awake()) return;
  gpu_->wake();
  for (const CUmemoryPool pool : std::exchange(pools_, {})) share_pool(pool);
  for (const auto& [limit, value] : std::exchange(limits_, {})) set_limit(limit, value);
}

Gpu* Program::gpu() {
  if (!tried_) make_gpu();
  return gpu_.get();
}

void Program::share_pool(CUmemoryPool pool) {
  if (!awake()) return pools_.push_back(pool);
  std::vector<CUmemAccessDesc> access;
  for (const int device : parts_)
    if (device != first_device()) {
      CUmemAccessDesc one{};
      one.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      one.location.id = device;
      one.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      access.push_back(one);
    }
  if (!access.empty() && DCGN_REAL(cuMemPoolSetAccess)(pool, access.data(), access.size()) != CUDA_SUCCESS)
    note_alone("memory of a pool that the other GPUs were not given");
}

// What it gave lives on.
void Program::forget_pool(CUmemoryPool pool) {
  special_pools_.erase(pool);
  if (std::erase(pools_, pool) != 0) note_alone("memory of a pool that the other GPUs were not given");
}

void Program::set_limit(CUlimit limit, std::size_t value) {
  if (measured_.on() && !awake()) {
    limits_[limit] = value;
    return;
  }
  for (const int device : parts_) {
    if (device == first_device()) continue;
    const device::CurrentContext current(device::context_of(device));
    static_cast<void>(DCGN_REAL(cuCtxSetLimit)(limit, value));
  }
}

bool Program::on_first_device() const {
  CUcontext current = nullptr;
  if (DCGN_REAL(cuCtxGetCurrent)(&current) != CUDA_SUCCESS || !current) return false;
  static const CUcontext first = device::context_of(first_device());
  return current == first;
}

bool Program::on_other_device() const {
  CUcontext current = nullptr;
  return DCGN_REAL(cuCtxGetCurrent)(&current) == CUDA_SUCCESS && current && !on_first_device();
}

Program::StreamKey Program::key_of(CUstream native) {
  if (!native) native = CU_STREAM_LEGACY;
  return {native, native == CU_STREAM_PER_THREAD ? std::this_thread::get_id() : std::thread::id()};
}

Stream& Program::stream(CUstream native) {
  const StreamKey key = key_of(native);
  std::unique_ptr<Stream>& stream = streams_[key];
  if (!stream) stream = gpu_->adopt(key.first);
  return *stream;
}

bool Program::any_captures() {
  // Of another thread's own stream nobody can ask.
  std::erase_if(captures_, [](const StreamKey& key) { return key == key_of(key.first) && !captures(key.first); });
  return !captures_.empty();
}

void Program::note_kernel(const KernelInfo& kernel) {
  for (const std::string& remark : kernel.remarks)
    if (remark.starts_with("malloc")) note_alone("memory of malloc in kernels");
  for (const std::string& reason : kernel.reasons)
    if (reason.starts_with("addresses:")) note_alone("addresses of constants, which a kernel has stored");
}

void Program::forget_stream(CUstream native) {
  end_capture(native);
  measured_.drop_stream(native);
  if (!gpu_) return;
  for (Dying& dying : dying_)  // another stream may get its handle
    if (dying.stream == native) dying.stream = nullptr;
  // Whether its work is done has to be known before buffers are moved.
  if (measured_.local() && on_first_device() && !captures(native) &&
      DCGN_REAL(cuStreamQuery)(native) == CUDA_ERROR_NOT_READY) {
    std::erase_if(ends_, [](const std::unique_ptr<Marker>& end) { return end->done(); });
    ends_.push_back(gpu_->machine().make_marker(0));
    ends_.back()->record_native(native);
  }
  const auto found = streams_.find({native, std::thread::id()});
  if (found == streams_.end()) return;
  // The driver does not wait for what it was given, either.
  std::erase_if(ended_, [](const std::unique_ptr<Stream>& stream) { return stream->idle(); });
  if (!captures(native)) {  // to mark it would be recorded; such a stream's capture ends with it
    gpu_->end(*found->second);
    ended_.push_back(std::move(found->second));
  }
  streams_.erase(found);
}

bool Program::ended_are_idle() {
  free_dying(false);
  std::erase_if(ended_, [](const std::unique_ptr<Stream>& stream) { return stream->idle(); });
  std::erase_if(ends_, [](const std::unique_ptr<Marker>& end) { return end->done(); });
  return ended_.empty() && ends_.empty() && dying_.empty();
}

void Program::drop_reached(std::uintptr_t begin, std::size_t bytes) {
  reached_.erase(reached_.lower_bound(begin), reached_.lower_bound(begin + bytes));
}

bool Program::is_reached(std::uintptr_t address) const {
  const auto after = reached_.upper_bound(address);
  return after != reached_.begin() && address - std::prev(after)->first < std::prev(after)->second;
}

std::vector<Gpu::OtherMemory> Program::others() const {
  std::vector<Gpu::OtherMemory> all;
  for (const auto& [begin, bytes] : others_) all.push_back({static_cast<std::byte*>(begin), bytes});
  for (const auto& [begin, bytes] : reached_) all.push_back({reinterpret_cast<std::byte*>(begin), bytes});
  return all;
}

void Program::note_other_device() {
  measured_.stop();
  if (!gpu_ || gpu_->options.copies == 0) return;
  gpu_->options.copies = 0;
  report_.note_remark("work that the program gives to another GPU itself: no copies were made by themselves after it");
}

void Program::free_behind(CUstream its_stream, void* memory) {
  Dying dying{memory, gpu_->machine().make_marker(0), its_stream ? its_stream : CU_STREAM_LEGACY,
              std::this_thread::get_id()};
  if (measured_.local())
    dying.last_use->record_native(dying.stream);
  else
    gpu_->mark(stream(its_stream), *dying.last_use);
  dying_.push_back(std::move(dying));
}

bool Program::is_dying(const void* memory) const {
  return std::find(kept_.begin(), kept_.end(), memory) != kept_.end() ||
         std::any_of(dying_.begin(), dying_.end(), [&](const Dying& dying) { return dying.memory == memory; });
}

void* Program::take_dying(CUstream its_stream, std::size_t bytes) {
  const auto found = std::find_if(dying_.begin(), dying_.end(), [&](const Dying& dying) {
    return dying.stream == its_stream && dying.thread == std::this_thread::get_id() &&
           gpu_->buffer_at("allocate", dying.memory).bytes == bytes;
  });
  if (found == dying_.end()) return nullptr;
  void* const memory = found->memory;
  dying_.erase(found);
  return memory;
}

bool Program::free_dying(bool wait) {
  bool any = false;
  if (wait && !kept_.empty() && !any_captures() && DCGN_REAL(cuCtxSynchronize)() == CUDA_SUCCESS)
    for (void* const memory : take_kept()) {
      gpu_->retire(memory);
      any = true;
    }
  const std::size_t before = dying_.size();
  for (std::size_t i = 0; i < dying_.size();) {
    if (wait) dying_[i].last_use->synchronize();
    if (!dying_[i].last_use->done()) {
      ++i;
      continue;
    }
    void* const memory = dying_[i].memory;
    dying_.erase(dying_.begin() + static_cast<std::ptrdiff_t>(i));
    gpu_->retire(memory);
  }
  return any || dying_.size() != before;
}

void Program::add_constant(const void* first, const Module& module, const std::string& name, std::size_t bytes) {
  constants_.insert_or_assign(first, Constant{module, name, bytes});
}

void Program::drop_constant(const void* first) { constants_.erase(first); }

bool Program::repeat_constants(CUstream its_stream, const void* written, std::size_t bytes) {
  bool any = false;
  const auto* const first = static_cast<const std::byte*>(written);
  for (const auto& [address, constant] : constants_) {
    const auto* const begin = static_cast<const std::byte*>(address);
    const auto *const from = std::max(begin, first), *const to = std::min(begin + constant.bytes, first + bytes);
    if (from >= to) continue;
    // No more than was written: another stream may be writing the rest.
    repeat(its_stream, constant, static_cast<std::size_t>(from - begin), static_cast<std::size_t>(to - from));
    any = true;
  }
  if (any) gpu_->note_constants(stream(its_stream));
  return any;
}

void Program::repeat(CUstream its_stream, const Constant& constant, std::size_t offset, std::size_t bytes) {
  gpu_->repeat(stream(its_stream), gpu_->variable_at(constant.module, constant.name), offset, bytes);
}

void Program::repeat_all_constants(CUstream its_stream) {
  for (const auto& [first, constant] : constants_) repeat(its_stream, constant, 0, constant.bytes);
  if (!constants_.empty()) gpu_->note_constants(stream(its_stream));
}

void Program::refresh_constants() {
  for (const auto& [first, constant] : constants_) gpu_->refresh_constants(constant.module);
}

Call::Call() : Call(Lightly{}) { enter(); }
Call::Call(Lightly) : program_(Program::get()), lock_(program_.mutex_) {}

void Call::enter() {
  if (entered_) return;
  entered_ = true;
  static_cast<void>(DCGN_REAL(cuCtxGetCurrent)(&context_));
  static_cast<void>(DCGN_REAL(cuThreadExchangeStreamCaptureMode)(&mode_));
}

Call::~Call() {
  if (!entered_) return;
  static_cast<void>(DCGN_REAL(cuThreadExchangeStreamCaptureMode)(&mode_));
  CUcontext now = nullptr;
  if (DCGN_REAL(cuCtxGetCurrent)(&now) == CUDA_SUCCESS && now != context_)
    static_cast<void>(DCGN_REAL(cuCtxSetCurrent)(context_));
}

bool captures(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return DCGN_REAL(cuStreamIsCapturing)(stream ? stream : CU_STREAM_LEGACY, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUresult error_of_others() {
  if (Program::get().measured().local()) return CUDA_SUCCESS;  // they have nothing to do
  return guarded("wait", [] {
    Call call;
    const Program& program = call.program();
    if (!call.program().gpu_if_made() || !program.on_first_device()) return CUDA_SUCCESS;
    for (const int device : program.parts()) {
      if (device == program.first_device()) continue;
      const device::CurrentContext current(device::context_of(device));
      const CUresult state = DCGN_REAL(cuStreamQuery)(CU_STREAM_LEGACY);
      if (state != CUDA_SUCCESS && state != CUDA_ERROR_NOT_READY) return state;
    }
    return CUDA_SUCCESS;
  });
}

CUresult result_of(const Error& error) {
  if (const auto* const of_driver = dynamic_cast<const device::DriverError*>(&error)) return of_driver->result();
  using Code = dcgn::Code;  // not the program's
  switch (error.code()) {
    case Code::ok: return CUDA_SUCCESS;
    case Code::configuration:
    case Code::invalid_size:
    case Code::invalid_type:
    case Code::null_buffer: return CUDA_ERROR_INVALID_VALUE;
    case Code::unsupported: return CUDA_ERROR_NOT_SUPPORTED;
    case Code::too_many_blocks: return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    case Code::deadline: return CUDA_ERROR_LAUNCH_TIMEOUT;
    case Code::kernel_failed: return CUDA_ERROR_LAUNCH_FAILED;
    case Code::device:
    case Code::out_of_resources: return error.operation() == "allocate" ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
    case Code::invalid_rank:
    case Code::invalid_tag:
    case Code::truncated:
    case Code::mismatch:
    case Code::invalid_request:
    case Code::not_attached:
    case Code::concurrent_use:
    case Code::rank_ended:
    case Code::deadlock:
    case Code::aborted:
    case Code::unreceived:
    case Code::io:
    case Code::unstable: return CUDA_ERROR_UNKNOWN;
  }
  return CUDA_ERROR_UNKNOWN;
}

}  // namespace dcgn::virtual_gpu::driver
