#include "tool/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace dcgn::tool {

std::string HelpFormatter::make_subcommand(const CLI::App* app) const {
  const std::string& text = app->get_description();
  return fmt::format("  {:<{}}{}\n", app->get_name(), column_width_ - 2, text.substr(0, text.find('\n')));
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  return option->get_type_size() == 0 ? std::string() : " " + option->get_type_name();
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  const std::string value = option->get_default_str();
  return option->get_description() + (value.empty() ? value : " [" + value + "]");
}

std::string unknown_word(const CLI::App& app, int count, const char* const* words) {
  const CLI::App* where = &app;
  for (int i = 1; i < count && words[i][0] != '-'; ++i) {
    const auto choices = where->get_subcommands([](const CLI::App*) { return true; });
    if (choices.empty()) break;
    const auto found =
        std::find_if(choices.begin(), choices.end(), [&](const CLI::App* a) { return a->get_name() == words[i]; });
    if (found == choices.end()) return words[i];
    where = *found;
  }
  return "";
}

std::string describe(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* where = &app;  // the innermost subcommand that was given
  std::string name = app.get_name();
  while (!where->get_subcommands().empty()) {
    where = where->get_subcommands().front();
    name += " " + where->get_name();
  }
  std::string text = error.what();
  std::vector<std::string> strangers = where->remaining();
  if (strangers.empty()) strangers = app.remaining(true);
  // What is wrong with a value is said already; what stands behind it may be a program's.
  if (dynamic_cast<const CLI::ValidationError*>(&error)) strangers.clear();
  std::vector<std::string> choices;
  for (const CLI::App* sub : where->get_subcommands([](const CLI::App*) { return true; }))
    choices.push_back(sub->get_name());
  if (!strangers.empty()) {
    // A word that is none of the choices has what follows for its own. Elsewhere an option says more than the value
    // that was meant for it.
    const auto option = std::find_if(strangers.begin(), strangers.end(), [](const auto& s) { return s[0] == '-'; });
    const bool is_word = !choices.empty() && strangers.front()[0] != '-';
    const std::string& stranger = is_word || option == strangers.end() ? strangers.front() : *option;
    text = stranger + ": expected " + (is_word ? fmt::format("{}", fmt::join(choices, ", ")) : "an option of " + name);
  } else if (!choices.empty()) {
    text = fmt::format("{}: expected one more word: {}", name, fmt::join(choices, ", "));
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return fmt::format("{} (see {} --help)", text, name);
}

}  // namespace dcgn::tool
