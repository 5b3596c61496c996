// How dcgn explains itself: the layout of --help, and the one line that a mistake gets.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace dcgn::tool {

// A description's first line is its summary, which lists of subcommands show; defaults stand in brackets.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(34); }
  std::string make_subcommand(const CLI::App* app) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

// What was wrong with the command line and where help is to be had.
std::string describe(const CLI::App& app, const CLI::ParseError& error);

// The first word of a command line that should be a subcommand and is none; empty where there is none.
std::string unknown_word(const CLI::App& app, int count, const char* const* words);

}  // namespace dcgn::tool
