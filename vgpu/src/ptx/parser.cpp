#include "vgpu/src/ptx/parser.hpp"

#include "vgpu/src/ptx/declarations.hpp"
#include "vgpu/src/ptx/function_body.hpp"

#include <charconv>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

namespace dcgn::virtual_gpu::ptx {

namespace {

std::string to_string(Version version) { return std::to_string(version.major) + "." + std::to_string(version.minor); }

class Parser {
 public:
  explicit Parser(std::unique_ptr<const Source> source) : tokens_(*source) { module_.source = std::move(source); }

  Module run() {
    version();
    target();
    while (!tokens_.at_end()) item();
    return std::move(module_);
  }

 private:
  const Source& source() const { return *module_.source; }

  void version() {
    tokens_.expect(".version");
    const std::size_t at = tokens_.offset();
    const std::string_view text = tokens_.expect(TokenKind::number, "a version such as 9.0");
    const char* end = text.data() + text.size();
    const auto [point, error] = std::from_chars(text.data(), end, module_.version.major);
    const bool whole = error == std::errc() && point != end && *point == '.';
    if (!whole || std::from_chars(point + 1, end, module_.version.minor).ptr != end)
      source().fail(at, quoted(text), "a version such as 9.0");
    if (module_.version < oldest_version || newest_version < module_.version)
      source().fail(at, ".version " + std::string(text),
                    "one from " + to_string(oldest_version) + " to " + to_string(newest_version), Code::unsupported);
  }

  void target() {
    tokens_.expect(".target");
    do {
      module_.targets.push_back(tokens_.expect(TokenKind::name, "a target such as sm_90"));
    } while (tokens_.accept(","));
    if (tokens_.accept(".address_size")) {
      const std::size_t at = tokens_.offset();
      module_.address_size = static_cast<int>(tokens_.expect_count("32 or 64"));
      if (module_.address_size != 32 && module_.address_size != 64)
        source().fail(at, std::to_string(module_.address_size), "32 or 64");
    }
    module_.after_head = source().offset_of(tokens_.since(0)) + tokens_.since(0).size();
  }

  void item() {
    if (parse_debug_directive(tokens_) || tokens_.accept(";")) return;
    if (tokens_.accept(".alias")) {
      Alias& alias = module_.aliases.emplace_back();
      alias.name = tokens_.expect(TokenKind::name, "a function");
      tokens_.expect(",");
      alias.target = tokens_.expect(TokenKind::name, "a function");
      tokens_.expect(";");
      return;
    }
    const Linkage linkage = this->linkage();
    if (tokens_.at(".entry") || tokens_.at(".func")) return function(linkage);
    const std::optional<Space> space = tokens_.at(TokenKind::word) ? space_of(tokens_.peek().text) : std::nullopt;
    if (!space) tokens_.fail(".entry, .func or a variable such as .global");
    tokens_.take();
    std::vector<Variable> variables = parse_variables(tokens_, *space, linkage);
    const std::size_t end = source().offset_of(tokens_.expect(";")) + 1;
    for (Variable& variable : variables) {
      variable.end = end;
      module_.variables.push_back(std::move(variable));
    }
  }

  Linkage linkage() {
    if (tokens_.accept(".visible")) return Linkage::visible;
    if (tokens_.accept(".extern")) return Linkage::external;
    if (tokens_.accept(".weak")) return Linkage::weak;
    if (tokens_.accept(".common")) return Linkage::common;
    return Linkage::local;
  }

  void function(Linkage linkage) {
    Function f;
    f.linkage = linkage;
    f.entry = tokens_.take().text == ".entry";
    while (!f.entry && tokens_.at(".attribute")) directive(f);
    if (!f.entry && tokens_.at("(")) f.results = parse_parameters(tokens_);
    f.name = tokens_.expect(TokenKind::name, "a function's name");
    f.after_name = source().offset_of(f.name) + f.name.size();
    if (tokens_.at("(")) {
      f.parameters = parse_parameters(tokens_);
      f.parameters_close = source().offset_of(tokens_.since(f.after_name)) + tokens_.since(f.after_name).size() - 1;
    }
    while (tokens_.at(TokenKind::word)) directive(f);
    if (tokens_.at("{")) {
      if (!defined_.insert(f.name).second)
        source().fail(source().offset_of(f.name), "a second " + quoted(f.name), "one function of each name");
      parse_body(tokens_, source(), f);
    } else if (!tokens_.accept(";"))
      tokens_.fail("a directive, ; or {");
    module_.functions.push_back(std::move(f));
  }

  // .maxntid 256, 1, 1; the attribute's is (…).
  void directive(Function& f) {
    if (parse_debug_directive(tokens_)) return;
    Directive& d = f.directives.emplace_back(Directive{tokens_.take().text, {}});
    if (tokens_.accept("(")) {
      for (std::size_t depth = 1; depth != 0;) {
        if (tokens_.at_end()) tokens_.fail(")");
        const std::string_view token = tokens_.take().text;
        if (token == "(") ++depth;
        if (token == ")") --depth;
      }
    }
    while (tokens_.at(TokenKind::number)) {
      d.values.push_back(tokens_.take().text);
      if (!tokens_.accept(",")) break;
    }
  }

  Module module_;
  TokenStream tokens_;
  std::set<std::string_view> defined_;  // functions that have a body
};

}  // namespace

Module parse(std::string name, std::string text) {
  return Parser(std::make_unique<const Source>(std::move(name), std::move(text))).run();
}

}  // namespace dcgn::virtual_gpu::ptx
