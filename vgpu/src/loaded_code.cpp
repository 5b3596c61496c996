#include "vgpu/src/loaded_code.hpp"

#include "vgpu/src/gpu.hpp"
#include "vgpu/src/kernel_name.hpp"
#include "vgpu/src/ptx/parser.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace dcgn::virtual_gpu {

namespace {

std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

KernelInfo info_of(const ptx::KernelReport& report) {
  KernelInfo info{.name = report.name, .parameters = {}, .reasons = {}, .remarks = report.remarks};
  for (const ptx::ParameterReport& p : report.parameters)
    info.parameters.push_back({p.name, p.offset, p.bytes, p.alignment});
  for (const ptx::Reason& reason : report.reasons)
    info.reasons.push_back(reason.construct + " (line " + std::to_string(reason.line) + ", in " + reason.function +
                           ": " + reason.instruction + ")");
  return info;
}

// Texts of the compiler's, as those of printf: the machine code's own copy may have another name.
bool is_text(const std::string& name) {
  return name.starts_with("$str") || name.starts_with("__unnamed_") || name.starts_with("_$_str");
}

// The launch of such a kernel has to say so.
bool is_cooperative(const ptx::KernelReport& report) {
  return std::any_of(report.reasons.begin(), report.reasons.end(),
                     [](const ptx::Reason& reason) { return reason.construct.find("%envreg") != std::string::npos; });
}

}  // namespace

LoadedCode::LoadedCode(std::shared_ptr<Gpu> gpu, std::string name, std::string text, const AssemblerOptions& options,
                       std::unique_ptr<Binary> own)
    : gpu_(std::move(gpu)),
      name_(std::move(name)),
      text_(std::move(text)),
      options_(options),
      whole_binary_(std::move(own)),
      of_another_(whole_binary_ != nullptr) {
  ptx::Rewritten rewritten = ptx::rewrite(ptx::parse(name_, text_), {});
  for (const ptx::KernelReport& report : rewritten.kernels) {
    kernels_.push_back({is_cooperative(report), report.static_shared, report.memory});
    infos_.push_back(info_of(report));
    // Peers reach what cuMemAlloc() gives, and no module's variables.
    if (of_another_ && report.changes.variables != 0)
      infos_.back().reasons.emplace_back(
          "variables: it uses device variables, which lie on the first GPU alone: --split=always shares them");
  }
  for (const ptx::VariableReport& variable : rewritten.variables) variables_.push_back(variable.name);
  for (const ptx::VariableReport& variable : rewritten.variables) {
    const auto is_function = [&](const ptx::VariableReport::Address& address) { return !has_variable(address.symbol); };
    if (std::any_of(variable.addresses.begin(), variable.addresses.end(), is_function))
      function_tables_.push_back(variable.name);
    if (!variable.addresses.empty()) with_addresses_.push_back(variable);
  }
  if (of_another_) {
    split_text_ = std::move(rewritten.text);
    own_variables_ = std::move(rewritten.variables);
    return;
  }
  const bool split = gpu_->parts() > 1;
  binary_ = gpu_->machine().load(name_, split ? rewritten.text : text_, kernel_names(), false, options_);
  if (split) share_variables(rewritten.variables);
}

LoadedCode::~LoadedCode() {
  if (!binary_) return;
  try {
    gpu_->synchronize_all();  // kernels may be under way
    gpu_->free(shared_);
  } catch (const Error&) {  // a device that has faulted; that was reported where it was met
  }
}

// One place for all of them, with what part 0's copies hold.
void LoadedCode::share_variables(const std::vector<ptx::VariableReport>& variables) {
  std::size_t end = 0;
  std::vector<std::size_t> offsets;
  for (const ptx::VariableReport& v : variables) {
    if (v.pointer.empty() || v.external) continue;
    end = round_up(end, std::max<std::size_t>(v.alignment, 16));
    shared_variables_.push_back({v.name, nullptr, v.bytes});
    offsets.push_back(end);
    end += v.bytes;
  }
  if (end != 0) {
    shared_ = gpu_->allocate(end, {});
    gpu_->keep_single(shared_);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      SharedVariable& v = shared_variables_[i];
      v.at = static_cast<std::byte*>(shared_) + offsets[i];
      std::size_t bytes = 0;
      if (const void* own = binary_->variable(0, v.name, bytes)) gpu_->copy(gpu_->own_stream(), v.at, own, v.bytes);
    }
    gpu_->own_stream().synchronize();
    point_to_shared(*binary_);
  }
  correct_addresses();
}

void LoadedCode::load_split() {
  if (binary_) return;
  for (const ptx::VariableReport& v : own_variables_) {
    std::size_t bytes = 0;
    void* const own = whole_binary_->variable(0, v.name, bytes);
    if (!own && !v.external && !is_text(v.name))
      throw Error(Code::unsupported, "load", name_ + ": the program's machine code has no variable " + v.name);
    if (own && !v.pointer.empty() && !v.external)
      shared_variables_.push_back({v.name, static_cast<std::byte*>(own), v.bytes});
  }
  auto made = gpu_->machine().load(name_, split_text_, kernel_names(), false, options_);
  for (const ptx::VariableReport& v : own_variables_) {
    if (v.pointer.empty() || v.external || shared_at(v.name)) continue;
    std::size_t bytes = 0;
    auto* const of_first = static_cast<std::byte*>(made->variable(0, v.name, bytes));
    if (of_first) shared_variables_.push_back({v.name, of_first, v.bytes});
  }
  point_to_shared(*made);
  binary_ = std::move(made);
  split_text_ = {};
  correct_addresses();
  refresh_constants();
}

void LoadedCode::refresh_constants() {
  for (const ptx::VariableReport& v : own_variables_) {
    if (!binary_ || shared_at(v.name) || is_function_table(v.name)) continue;
    std::size_t has = 0, same = 0;
    const void* const own = whole_binary_->variable(0, v.name, has);
    for (int part = 0; own && part < gpu_->parts(); ++part)
      if (void* const copy = binary_->variable(part, v.name, same))
        gpu_->device(part).copy(copy, own, std::min(has, same));
  }
}

void LoadedCode::point_to_shared(const Binary& binary) const {
  for (const SharedVariable& v : shared_variables_) {
    std::size_t bytes = 0;
    for (int part = 0; part < gpu_->parts(); ++part)
      if (void* pointer = binary.variable(part, "dcgn_at_" + v.name, bytes))
        gpu_->device(part).copy(pointer, &v.at, sizeof v.at);
  }
}

std::vector<std::string> LoadedCode::kernel_names() const {
  std::vector<std::string> names;
  for (const KernelInfo& info : infos_) names.push_back(info.name);
  return names;
}

std::unique_ptr<Binary> LoadedCode::make_counting() const {
  ptx::Options options;
  options.count_touches = true;
  auto counting = load_other(options, false);
  copy_contents(*counting);
  return counting;
}

Binary& LoadedCode::whole_binary() {
  if (gpu_->parts() == 1) return *binary_;
  if (!whole_binary_) {
    gpu_->wait_for_constants();
    load_whole();
    copy_contents(*whole_binary_);
  }
  return *whole_binary_;
}

Binary& LoadedCode::alone_binary() {
  if (!alone_binary_) {
    gpu_->wait_for_constants();
    ptx::Options options;
    options.whole = options.alone = true;
    alone_binary_ = load_other(options, true);
    copy_contents(*alone_binary_);
  }
  return *alone_binary_;
}

std::unique_ptr<Binary> LoadedCode::load_other(const ptx::Options& options, bool first_part_alone) const {
  auto other = gpu_->machine().load(name_, ptx::rewrite(ptx::parse(name_, text_), options).text, kernel_names(),
                                    first_part_alone, options_);
  point_to_shared(*other);
  return other;
}

// Its function tables are its own.
void LoadedCode::load_whole() {
  ptx::Options options;
  options.whole = true;
  whole_binary_ = load_other(options, true);
  for (const ptx::VariableReport& v : with_addresses_) {
    std::size_t bytes = 0;
    if (is_function_table(v.name))
      correct(v, *whole_binary_, 0, static_cast<std::byte*>(whole_binary_->variable(0, v.name, bytes)));
  }
}

void LoadedCode::copy_contents(const Binary& other) const {
  for (const std::string& name : variables_) {
    if (is_function_table(name)) continue;
    for (int part = 0; part < gpu_->parts(); ++part) {
      std::size_t bytes = 0, same = 0;
      const void* const own = binary_->variable(part, name, bytes);
      if (void* const copy = own ? other.variable(part, name, same) : nullptr)
        gpu_->device(part).copy(copy, own, bytes);
    }
  }
}

// In whatever memory. What other binaries hold is copied from these.
//
// Of another's module, that is the whole binary: what it holds, its function tables too, has addresses of its own
// variables already, which are those that all share, and of its own functions, which are those of whole launches. Each
// part's constants are copied from there, with the addresses: refresh_constants(). Whether the contents are the first
// ones still is not known, so they are left as they are. What is left to correct is what the split binary alone has.
void LoadedCode::correct_addresses() {
  const auto has_table = [&](const ptx::VariableReport& v) {
    return !is_function_table(v.name) &&
           std::any_of(v.addresses.begin(), v.addresses.end(),
                       [&](const ptx::VariableReport::Address& address) { return is_function_table(address.symbol); });
  };
  const bool needs_whole = !of_another_ && std::any_of(with_addresses_.begin(), with_addresses_.end(), has_table);
  if (needs_whole) load_whole();
  for (const ptx::VariableReport& v : with_addresses_) {
    std::size_t bytes = 0;
    if (of_another_ && whole_binary_->variable(0, v.name, bytes)) continue;
    std::byte* const shared = shared_at(v.name);
    if (shared) correct(v, *binary_, 0, shared);
    for (int part = 0; !shared && !is_function_table(v.name) && part < gpu_->parts(); ++part)
      correct(v, *binary_, part, static_cast<std::byte*>(binary_->variable(part, v.name, bytes)));
  }
  if (needs_whole) copy_contents(*whole_binary_);
}

// First contents have the addresses that variables of their own binary have there. Those of shared variables become
// those of the one place; those of function tables become the whole binary's, whose kernels alone get at functions.
void LoadedCode::correct(const ptx::VariableReport& holder, const Binary& binary, int part, std::byte* place) const {
  for (const ptx::VariableReport::Address& address : holder.addresses) {
    std::size_t bytes = 0;
    const void* meant = shared_at(address.symbol);
    if (!meant && is_function_table(address.symbol)) meant = whole_binary_->variable(0, address.symbol, bytes);
    if (!place || !meant) continue;
    const auto* const own = static_cast<const std::byte*>(binary.variable(part, address.symbol, bytes));
    if (!own) continue;
    const std::byte* value = nullptr;
    gpu_->device(part).copy(&value, place + address.offset, sizeof value);
    value = static_cast<const std::byte*>(meant) + (value - own);
    gpu_->device(part).copy(place + address.offset, &value, sizeof value);
  }
}

std::byte* LoadedCode::shared_at(const std::string& name) const {
  for (const SharedVariable& v : shared_variables_)
    if (v.name == name) return v.at;
  return nullptr;
}

std::size_t LoadedCode::find(const std::string& name) const {
  for (std::size_t k = 0; k < infos_.size(); ++k)
    if (infos_[k].name == name) return k;
  std::string known;
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < infos_.size(); ++k) {
    const std::string plain = plain_name(infos_[k].name);
    if (plain == name) found.push_back(k);
    known += (known.empty() ? "" : ", ") + plain;
  }
  if (found.size() == 1) return found.front();
  throw Error(Code::configuration, "kernel",
              name_ + ": " + (found.empty() ? "no" : std::to_string(found.size())) + " kernel" +
                  (found.size() > 1 ? "s " : " ") + name + ", expected " +
                  (known.empty() ? "one: there is none" : "one of " + known));
}

bool LoadedCode::is_function_table(const std::string& name) const {
  return std::find(function_tables_.begin(), function_tables_.end(), name) != function_tables_.end();
}

bool LoadedCode::has_variables_alone() const {
  return std::any_of(own_variables_.begin(), own_variables_.end(),
                     [](const ptx::VariableReport& variable) { return !variable.pointer.empty(); });
}

bool LoadedCode::has_variable(const std::string& name) const {
  return std::find(variables_.begin(), variables_.end(), name) != variables_.end();
}

std::vector<LoadedCode::PlaceOnPart> LoadedCode::places(const char* operation, const std::string& variable,
                                                        std::size_t bytes, std::size_t offset) {
  const auto check = [&](std::size_t has) {
    if (offset > has || bytes > has - offset)
      throw Error(Code::configuration, operation,
                  variable + ": " + std::to_string(bytes) + " bytes from byte " + std::to_string(offset) +
                      ", expected them within its " + std::to_string(has));
  };
  for (const SharedVariable& v : shared_variables_)
    if (v.name == variable) {
      check(v.bytes);
      return {{0, v.at + offset}};
    }
  std::vector<PlaceOnPart> all;
  if (is_function_table(variable)) {  // kernels that name it are whole
    std::size_t has = 0;
    if (void* const address = whole_binary().variable(0, variable, has)) {
      check(has);
      return {{0, static_cast<std::byte*>(address) + offset}};
    }
  }
  const auto of_whole = [&] {
    std::size_t has = 0;
    for (const Binary* const one : {whole_binary_.get(), alone_binary_.get()})
      if (void* const address = one ? one->variable(0, variable, has) : nullptr)
        all.push_back({0, static_cast<std::byte*>(address) + offset});
  };
  if (of_another_) of_whole();  // which its owner writes
  for (int part = 0; binary_ && part < gpu_->parts(); ++part) {
    std::size_t has = 0;
    void* const address = binary_->variable(part, variable, has);
    if (!address) break;
    check(has);
    all.push_back({part, static_cast<std::byte*>(address) + offset});
  }
  if (!of_another_) of_whole();
  if (!all.empty()) return all;
  std::string known;
  for (const std::string& name : variables_) known += (known.empty() ? "" : ", ") + name;
  throw Error(
      Code::configuration, operation,
      name_ + ": no variable " + variable + ", expected " + (known.empty() ? "one: there is none" : "one of " + known));
}

const KernelInfo& Kernel::info() const { return code_->infos()[index_]; }

const std::vector<KernelInfo>& Module::kernels() const { return code_->infos(); }
Kernel Module::kernel(const std::string& name) const { return Kernel(code_, code_->find(name)); }

void Module::write(const std::string& variable, const void* from, std::size_t bytes, std::size_t offset) const {
  Gpu& gpu = code_->gpu();
  for (const auto& [part, address] : code_->places("write", variable, bytes, offset))
    gpu.device(part).copy(address, from, bytes);
}

void* Module::address(const std::string& variable) const {
  const auto places = code_->places("address", variable, 0, 0);
  if (places.size() > 1)
    throw Error(Code::configuration, "address",
                variable + ": each part has its own, expected a variable that all share");
  return places.front().address;
}

void Module::read(const std::string& variable, void* to, std::size_t bytes, std::size_t offset) const {
  const auto [part, address] = code_->places("read", variable, bytes, offset).front();
  code_->gpu().device(part).copy(to, address, bytes);
}

}  // namespace dcgn::virtual_gpu
