// dcgn completion: what a shell needs to complete the command's words, from the options as they are.
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace dcgn::tool {

namespace {

struct Word {
  std::string text, about;
  bool takes_value = false;
};

// What may stand behind the words of `path`.
struct Level {
  std::string path;
  std::vector<Word> words;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void add_levels(const CLI::App& app, const std::string& path, std::vector<Level>& levels) {
  Level level{path, {}};
  const auto subcommands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* sub : subcommands) level.words.push_back({sub->get_name(), first_line(sub->get_description())});
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      level.words.push_back({"--" + name, first_line(option->get_description()), option->get_type_size() != 0});
  levels.push_back(std::move(level));
  for (const CLI::App* sub : subcommands) add_levels(*sub, path + " " + sub->get_name(), levels);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}
// In single quotes.
std::string in_quotes(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

// The paths below `levels.front()`, as a pattern of `case`.
std::string paths_of(const std::vector<Level>& levels) {
  std::string all;
  for (std::size_t i = 1; i < levels.size(); ++i) all += (i > 1 ? "|" : "") + in_quotes(levels[i].path);
  return all;
}

void print_bash(const std::vector<Level>& levels) {
  fmt::print(
      "_dcgn() {{\n"
      "  local at=dcgn words='' values='' i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case \"$at ${{COMP_WORDS[i]}}\" in\n"
      "      {}) at+=\" ${{COMP_WORDS[i]}}\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case $at in\n",
      paths_of(levels));
  for (const Level& level : levels) {
    std::string words, values;
    for (const Word& word : level.words) {
      words += (words.empty() ? "" : " ") + word.text;
      if (word.takes_value) values += " " + word.text;
    }
    fmt::print("    {}) words={} values={} ;;\n", in_quotes(level.path), in_quotes(words), in_quotes(values + " "));
  }
  fmt::print(
      "  esac\n"
      "  [[ $values == *\" ${{COMP_WORDS[COMP_CWORD - 1]}} \"* ]] && return  # a value: files\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"${{COMP_WORDS[COMP_CWORD]}}\"))\n"
      "}}\n"
      "complete -o default -F _dcgn dcgn\n");
}

void print_zsh(const std::vector<Level>& levels) {
  fmt::print(
      "#compdef dcgn\n"
      "_dcgn() {{\n"
      "  local at=dcgn values='' word\n"
      "  local -a candidates\n"
      "  for word in ${{words[2,CURRENT-1]}}; do\n"
      "    case \"$at $word\" in\n"
      "      ({}) at+=\" $word\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case $at in\n",
      paths_of(levels));
  for (const Level& level : levels) {
    std::string candidates, values;
    for (const Word& word : level.words) {
      candidates += " " + in_quotes(replaced(word.text, ":", "\\:") + ":" + word.about);
      if (word.takes_value) values += " " + word.text;
    }
    fmt::print("    ({}) candidates=({} ) values={} ;;\n", in_quotes(level.path), candidates, in_quotes(values + " "));
  }
  fmt::print(
      "  esac\n"
      "  if [[ $values == *\" ${{words[CURRENT-1]}} \"* ]]; then _files; else _describe dcgn candidates || _files; fi\n"
      "}}\n"
      "if [[ $funcstack[1] == _dcgn ]]; then _dcgn \"$@\"; else compdef _dcgn dcgn; fi\n");
}

void print_fish(const std::vector<Level>& levels) {
  std::string paths;
  for (const Level& level : levels) paths += " " + in_quotes(level.path);
  fmt::print(
      "function __dcgn_is_at\n"
      "  set -l at dcgn\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    contains -- \"$at $word\"{}; and set at \"$at $word\"\n"
      "  end\n"
      "  test \"$at\" = \"$argv[1]\"\n"
      "end\n",
      paths);
  for (const Level& level : levels)
    for (const Word& word : level.words) {
      const bool is_option = word.text.rfind("--", 0) == 0;
      fmt::print("complete -c dcgn -n {} {}{} -d {}\n", in_quotes("__dcgn_is_at " + in_quotes(level.path)),
                 is_option ? "-l " + word.text.substr(2) : "-f -a " + word.text, word.takes_value ? " -r" : "",
                 in_quotes(word.about));
    }
}

}  // namespace

void add_completion(CLI::App& parent, Action& chosen) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* app = parent.add_subcommand("completion",
                                        "Prints what has a shell complete dcgn's words: bash, zsh or fish\n\n"
                                        "Commands, options and, for a value, files.");
  app->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  app->footer(
      "Examples:\n"
      "  source <(dcgn completion bash)                                           in this shell\n"
      "  dcgn completion bash > ~/.local/share/bash-completion/completions/dcgn   in each\n"
      "  dcgn completion zsh > ~/.zfunc/_dcgn                                     a folder of fpath\n"
      "  dcgn completion fish > ~/.config/fish/completions/dcgn.fish\n\n"
      "Exit codes:\n"
      "  0  all went well\n"
      "  2  a shell that is not known\n");
  app->callback([shell, &parent, &chosen] {
    chosen = [shell, &parent] {
      std::vector<Level> levels;
      add_levels(parent, parent.get_name(), levels);
      if (*shell == "bash")
        print_bash(levels);
      else if (*shell == "zsh")
        print_zsh(levels);
      else
        print_fish(levels);
      return static_cast<int>(exit_ok);
    };
  });
}

}  // namespace dcgn::tool
