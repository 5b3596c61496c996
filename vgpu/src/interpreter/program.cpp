#include "vgpu/src/interpreter/program.hpp"

#include "vgpu/src/interpreter/literal.hpp"
#include "vgpu/src/ptx/parser.hpp"
#include "vgpu/src/ptx/token_stream.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <utility>

namespace dcgn::virtual_gpu::interpreter {

namespace {

std::size_t round_up(std::size_t value, std::size_t to) { return to < 2 ? value : (value + to - 1) / to * to; }

bool is_dynamic(const ptx::Variable& v) { return v.linkage == ptx::Linkage::external || v.count == 0; }

// The product of .maxntid or .reqntid.
unsigned most_threads(const ptx::Function& function) {
  for (const ptx::Directive& directive : function.directives) {
    if (directive.name != ".maxntid" && directive.name != ".reqntid") continue;
    Word product = 1;
    for (const std::string_view value : directive.values) product *= literal(value, Type::u32).value_or(1);
    return static_cast<unsigned>(std::min<Word>(product, 1024));
  }
  return 1024;
}

// Of the functions that one may call, itself first, why it cannot be run.
std::string why_unsupported(const Program& program, std::uint32_t function) {
  std::set<std::uint32_t> seen{function};
  for (std::vector<std::uint32_t> left{function}; !left.empty();) {
    const FunctionCode& code = program.functions[left.back()];
    left.pop_back();
    if (!code.unsupported.empty()) return code.unsupported;
    for (const std::uint32_t callee : code.callees)
      if (seen.insert(callee).second) left.push_back(callee);
  }
  return {};
}

}  // namespace

Program::Program(const std::string& name, const std::string& text) : module(ptx::parse(name, text)) {
  constant(0);  // row 0
  for (const ptx::Function& function : module.functions) {
    if (module.find_function(function.name) != &function) continue;
    const auto number = static_cast<std::uint32_t>(functions.size());
    FunctionCode& code = functions.emplace_back();
    code.source = &function;
    code.defined = function.body.has_value();
    if (!code.defined) code.system = find_system_call(function.name);
    if (!code.defined && !code.system)
      code.unsupported = "it calls " + std::string(function.name) + ", which the module does not have";
    function_numbers.emplace(function.name, number);
  }
  for (const ptx::Alias& alias : module.aliases)
    if (const auto target = function_numbers.find(alias.target); target != function_numbers.end())
      function_numbers[std::string(alias.name)] = target->second;
  place_variables();
  for (std::uint32_t number = 0; number < functions.size(); ++number)
    if (functions[number].defined) decode(*this, number);
  for (std::uint32_t number = 0; number < functions.size(); ++number) {
    const FunctionCode& code = functions[number];
    if (!code.defined) continue;
    if (!code.source->entry) {
      callee_rows = std::max(callee_rows, code.rows);
      callee_bytes = std::max(callee_bytes, code.frame_bytes);
      continue;
    }
    kernel_functions.push_back(number);
    KernelDetails& details = kernels.emplace_back();
    details.name = code.source->name;
    for (const Slot& parameter : code.parameters) {
      details.parameters.push_back({parameter.offset, parameter.bytes});
      details.parameter_bytes = std::size_t{parameter.offset} + parameter.bytes;
    }
    for (std::size_t i = 0; i < code.source->parameters.size(); ++i)
      if (code.source->parameters[i].name == "dcgn_first_x") details.split_arguments = code.parameters[i].offset;
    details.shared_bytes = code.shared_bytes;
    details.local_bytes = code.frame_bytes;
    details.most_threads = most_threads(*code.source);
    details.unsupported = why_unsupported(*this, number);
    for (const ptx::Variable& v : module.variables)
      if (v.space == ptx::Space::constant) details.constant_bytes += v.bytes();
  }
}

Row Program::constant(Word value) {
  const auto [found, is_new] = constant_rows_.emplace(value, static_cast<std::uint32_t>(constants.size() / lanes));
  if (is_new) constants.insert(constants.end(), lanes, value);
  return {Row::constants, found->second};
}

void Program::place_variables() {
  std::size_t end = 0;
  std::vector<std::pair<const ptx::Variable*, std::size_t>> places;
  for (const ptx::Variable& v : module.variables) {
    if (v.space == ptx::Space::shared && !is_dynamic(v)) {
      shared_bytes = round_up(shared_bytes, v.alignment);
      shared_offsets.emplace(v.name, static_cast<std::uint32_t>(shared_bytes));
      shared_bytes += v.bytes();
    }
    if (v.space != ptx::Space::global && v.space != ptx::Space::constant) continue;
    if (v.element == 0 || v.linkage == ptx::Linkage::external) continue;  // textures; and what others define
    end = round_up(end, std::max<std::size_t>(v.alignment, 16));
    places.emplace_back(&v, end);
    end += std::max<std::size_t>(v.bytes(), 1);
  }
  for (const FunctionCode& code : functions) {
    if (code.source->entry) continue;
    for (const ptx::Variable& v : code.source->variables) {
      if (v.space != ptx::Space::shared || is_dynamic(v)) continue;
      shared_bytes = round_up(shared_bytes, v.alignment);
      shared_offsets.emplace(std::string(code.source->name) + "/" + std::string(v.name),
                             static_cast<std::uint32_t>(shared_bytes));
      shared_bytes += v.bytes();
    }
  }
  shared_bytes = round_up(shared_bytes, 128);
  constexpr std::size_t page_bytes = 4096;
  memory_bytes_ = end + page_bytes;
  memory_ = std::make_unique<std::byte[]>(memory_bytes_);
  const std::size_t first = round_up(reinterpret_cast<std::uintptr_t>(memory_.get()), page_bytes) -
                            reinterpret_cast<std::uintptr_t>(memory_.get());
  for (const auto& [variable, offset] : places)
    variables[std::string(variable->name)] = {memory_.get() + first + offset, variable->bytes()};
  for (const auto& [variable, offset] : places)
    if (variable->initialized) initialize(*variable);
}

Word Program::address_of(std::string_view symbol) const {
  if (const auto variable = variables.find(symbol); variable != variables.end())
    return reinterpret_cast<std::uintptr_t>(variable->second.address);
  if (const auto function = function_numbers.find(symbol); function != function_numbers.end())
    return reinterpret_cast<std::uintptr_t>(&functions[function->second]);
  throw Error(dcgn::Code::unsupported, "load",
              module.source->name() + ": " + std::string(symbol) +
                  ": its address is used, expected a variable or a function of the module");
}

const FunctionCode* Program::function_at(Word address) const {
  for (const FunctionCode& code : functions)
    if (reinterpret_cast<std::uintptr_t>(&code) == address) return &code;
  return nullptr;
}

// {1, 2, {generic(a)+4, 0xFF(b)}}: braces flattened; the address of b by bytes.
void Program::initialize(const ptx::Variable& variable) {
  const std::string_view all = module.source->text();
  const std::size_t name_end = module.source->offset_of(variable.name) + variable.name.size();
  const std::size_t equals = all.find('=', name_end);
  const ptx::Source text(module.source->name(), std::string(all.substr(equals + 1, variable.end - equals - 1)));
  ptx::TokenStream tokens(text);
  const Type type = type_of(variable.type);
  const std::size_t bytes = bytes_of(type);
  std::byte* at = variables.find(variable.name)->second.address;
  const std::byte* const end = at + variable.bytes();
  std::size_t depth = 0;
  while (!tokens.at_end()) {
    if (tokens.accept("{")) {
      ++depth;
      continue;
    }
    if (tokens.at("}") || tokens.at(",")) {
      if (tokens.at("}")) --depth;
      if (tokens.at(",") && depth == 0) return;  // another variable
      tokens.take();
      continue;
    }
    if (tokens.at(";")) return;
    Word value = 0, mask = 0;
    bool has_symbol = false, negative = false;
    while (!tokens.at(",") && !tokens.at("}") && !tokens.at(";") && !tokens.at_end()) {
      const ptx::Token token = tokens.take();
      if (token.text == "-") {
        negative = !negative;
      } else if (token.kind == ptx::TokenKind::number) {
        const Word number = literal(token.text, type).value_or(0);
        if (tokens.at("("))
          mask = number;
        else if (negative && is_float(type))
          value = *literal("-" + std::string(token.text), type);
        else
          value += negative ? Word{0} - number : number;
        negative = false;
      } else if (token.kind == ptx::TokenKind::name && token.text != "generic") {
        value += address_of(token.text);
        has_symbol = true;
      }
    }
    if (mask != 0 && has_symbol) value = (value & mask) >> __builtin_ctzll(mask);
    if (bytes == 0 || at + bytes > end) return;
    std::memcpy(at, &value, bytes);
    at += bytes;
  }
}

std::string Program::where(const Op& op) const {
  const ptx::Instruction& instruction = functions[op.function].source->instructions[op.instruction];
  const std::size_t line = module.source->place(module.source->offset_of(instruction.text)).line;
  return module.source->name() + ":" + std::to_string(line) + ": " + std::string(instruction.text);
}

Code::Code(const std::string& name, const std::string& ptx) : program_(std::make_unique<Program>(name, ptx)) {}
Code::~Code() = default;

const std::vector<KernelDetails>& Code::kernels() const { return program_->kernels; }

std::byte* Code::variable(const std::string& name, std::size_t& bytes) const {
  const auto found = program_->variables.find(name);
  if (found == program_->variables.end()) return nullptr;
  bytes = found->second.bytes;
  return found->second.address;
}

}  // namespace dcgn::virtual_gpu::interpreter
