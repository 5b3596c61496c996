#include "fake_driver.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace fake {

void fail(const std::string& what) {
  std::fprintf(stderr, "fake driver: %s\n", what.c_str());
  std::abort();
}

int devices() {
  static const int count = [] {
    const char* const text = std::getenv("DCGN_TEST_FAKE_GPUS");
    return text ? std::atoi(text) : 2;
  }();
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible ? std::min(count, static_cast<int>(std::count(visible, visible + std::strlen(visible), ',')) + 1)
                 : count;
}

State& state() {
  static State& all = *[] {
    auto* const made = new State();
    for (int d = 0; d < most_devices; ++d)
      made->primary[static_cast<std::size_t>(d)].device = made->legacy[static_cast<std::size_t>(d)].device = d;
    return made;
  }();
  return all;
}

std::vector<Context*>& contexts() {
  thread_local auto* const stack = new std::vector<Context*>();  // used at exit, too
  return *stack;
}

Stream& stream_of(CUstream stream) {
  if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
    if (!current()) fail("a default stream without a context");
    return state().legacy[static_cast<std::size_t>(current()->device)];
  }
  return *reinterpret_cast<Stream*>(stream);
}

namespace {

bool reaches(int device, const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto after = state().memory.upper_bound(at);
  if (after == state().memory.begin()) return false;
  --after;
  if (at - after->first >= after->second.bytes) return false;
  const Piece& piece = after->second;
  return piece.reach.count(device) != 0 ||
         (piece.reach.empty() &&
          (piece.owner == device || piece.owner < 0 ||
           state().primary[static_cast<std::size_t>(device)].reaches[static_cast<std::size_t>(piece.owner)]));
}

}  // namespace

void Stream::give(std::function<void()> run, std::vector<Moment> after) {
  if (captures) {
    recorded.push_back(std::move(run));
    return;
  }
  Stream& the_legacy = state().legacy[static_cast<std::size_t>(device)];
  if (this == &the_legacy) {
    for (Stream* other : state().streams)
      if (other->blocking && other->device == device) after.push_back({other, other->given});
  } else if (blocking) {
    after.push_back({&the_legacy, the_legacy.given});
  }
  queue.push_back({std::move(run), std::move(after)});
  ++given;
}

void Stream::finish(std::uint64_t number) {
  while (done < number) {
    const Work work = std::move(queue.front());
    queue.pop_front();
    ++done;
    for (const Moment& moment : work.after) moment.stream->finish(moment.number);
    if (work.run) work.run();
  }
}

Blocks::Blocks(const Function& function, std::array<unsigned, 3> grid, std::array<unsigned, 3> block,
               std::vector<std::vector<std::byte>> parameters)
    : function_(function), grid_(grid), block_(block), parameters_(std::move(parameters)) {
  const Module::Kernel& kernel = function.module->kernels.at(function.name);
  const std::size_t own = kernel.own;
  split_ = kernel.parameters.size() != own;
  const auto word = [&](std::size_t number) { return parameter<unsigned>(own + number); };
  if (split_)
    first_ = {word(0), word(1), word(2)}, whole_ = {word(3), word(4), word(5)};
  else
    whole_ = {grid[0], grid[1], grid[2]};
}

std::uint64_t Blocks::count() const { return std::uint64_t{grid_[0]} * grid_[1] * grid_[2]; }

Blocks::Index Blocks::at(std::uint64_t number) const {
  number += (std::uint64_t{first_.z} * whole_.y + first_.y) * whole_.x + first_.x;
  const auto x = static_cast<unsigned>(number % whole_.x);
  const std::uint64_t rest = number / whole_.x;
  return {x, static_cast<unsigned>(rest % whole_.y), static_cast<unsigned>(rest / whole_.y)};
}

void Blocks::check(const void* address) const {
  if (!reaches(function_.module->device, address))
    fail(function_.name + " on device " + std::to_string(function_.module->device) +
         " touches memory that it does not reach");
}

void* Blocks::variable(const std::string& name) const {
  auto& all = function_.module->variables;
  const auto pointer = all.find("dcgn_at_" + name);
  if (pointer == all.end()) return all.at(name)->content.data();
  void* address = nullptr;
  std::memcpy(&address, pointer->second->content.data(), sizeof address);
  return address;
}

// The few forms of declarations that are needed.
std::unique_ptr<Module> parse(const std::string& text, int device) {
  auto module = std::make_unique<Module>();
  module->device = device;
  std::istringstream lines(text);
  std::string kernel;
  bool in_parameters = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    if (all.empty()) continue;
    const auto entry = std::find(all.begin(), all.end(), ".entry");
    if (entry != all.end()) {
      kernel = *(entry + 1);
      kernel = kernel.substr(0, kernel.find('('));
      module->kernels[kernel];
      in_parameters = true;
    } else if (in_parameters && all.front() == ".param") {
      Module::Kernel& its = module->kernels[kernel];
      its.parameters.push_back(all[1] == ".u64" ? 8 : 4);
      if (all[2].rfind("dcgn_", 0) != 0) ++its.own;
    } else if (line[0] == ')' || line[0] == '{') {
      in_parameters = false;
    } else if (all.front() == ".const" || all.front() == ".global") {
      std::size_t at = 1;
      if (all[at] == ".align") at += 2;
      const std::size_t each = all[at] == ".u64" ? 8 : all[at] == ".u32" ? 4 : 1;
      std::string name = all[at + 1];
      while (name.back() == ';') name.pop_back();
      std::size_t count = 1;
      if (const std::size_t bracket = name.find('['); bracket != std::string::npos) {
        count = std::stoul(name.substr(bracket + 1));
        name.resize(bracket);
      }
      auto variable = std::make_unique<Variable>();
      variable->content.resize(each * count);
      if (const std::size_t equals = line.find('='); equals != std::string::npos) {
        std::string values = line.substr(equals + 1);
        for (char& c : values)
          if (std::strchr("{},;", c)) c = ' ';
        std::istringstream numbers(values);
        std::size_t offset = 0;
        for (std::string one; numbers >> one; offset += each)
          if (std::isdigit(static_cast<unsigned char>(one.front()))) {
            const unsigned long long value = std::stoull(one);
            std::memcpy(variable->content.data() + offset, &value, each);
          } else {
            variable->address_of = one;
          }
      }
      module->variables[name] = std::move(variable);
    }
  }
  for (auto& [name, variable] : module->variables)
    if (!variable->address_of.empty()) {
      const void* const address = module->variables.at(variable->address_of)->content.data();
      std::memcpy(variable->content.data(), &address, sizeof address);
    }
  for (auto& [name, variable] : module->variables)
    state().memory[reinterpret_cast<std::uintptr_t>(variable->content.data())] = {variable->content.size(), {}, device};
  return module;
}

CUresult prepare(std::function<void()>& work, CUfunction handle, Shape grid, Shape block, void** values, void** extra) {
  const auto& function = *reinterpret_cast<Function*>(handle);
  if (!current() || current()->device != function.module->device) return CUDA_ERROR_INVALID_HANDLE;
  const unsigned threads = block[0] * block[1] * block[2];
  if (grid[0] == 0 || threads == 0 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  if (threads * function.module->registers > 65536) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  std::vector<std::vector<std::byte>> parameters;
  std::size_t offset = 0;
  for (const std::size_t bytes : function.module->kernels.at(function.name).parameters) {
    offset = (offset + bytes - 1) / bytes * bytes;
    const auto* const from = values ? static_cast<const std::byte*>(values[parameters.size()])
                                    : static_cast<const std::byte*>(extra[1]) + offset;
    parameters.emplace_back(from, from + bytes);
    offset += bytes;
  }
  const Kernel kernel = find_kernel(function.name);
  if (!kernel) fail("no kernel " + function.name);
  ++state().counts["launched on " + std::to_string(function.module->device) + " " + function.name];
  work = [function, grid, block, parameters, kernel] { kernel(Blocks(function, grid, block, parameters)); };
  return CUDA_SUCCESS;
}

double cost_ms(const Function& function, Shape grid) {
  const auto number = [](const char* name) {
    const char* const text = std::getenv(name);
    return text ? std::atof(text) : 0;
  };
  static const double whole = number("DCGN_TEST_FAKE_US"), split = number("DCGN_TEST_FAKE_SPLIT_US");
  const Module::Kernel& kernel = function.module->kernels.at(function.name);
  return 1e-3 * grid[0] * grid[1] * grid[2] * (kernel.parameters.size() == kernel.own ? whole : split);
}

CUresult launch(CUfunction handle, Shape grid, Shape block, CUstream stream, void** values, void** extra) {
  const Lock lock;
  Stream& its = stream_of(stream);
  if (its.device != reinterpret_cast<Function*>(handle)->module->device) return CUDA_ERROR_INVALID_HANDLE;
  std::function<void()> work;
  const CUresult result = prepare(work, handle, grid, block, values, extra);
  const double ms = cost_ms(*reinterpret_cast<Function*>(handle), grid);
  if (result == CUDA_SUCCESS)
    its.give([&its, ms, work] {
      work();
      its.clock += ms;
    });
  return result;
}

}  // namespace fake
