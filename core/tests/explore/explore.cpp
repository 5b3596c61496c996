// explore: whole jobs in many interleavings, each of which a few numbers say again.
//
//   explore --seeds 0-99 --subjects messages,collectives --strategies delay,steps --minutes 10
//   explore --subjects messages --strategies delay --seeds 17 --ranks 3 --rounds 5      one of them again
//
// Of a trial that fails it looks for the fewest rounds and ranks that still do, by halving, and prints how to see these
// again, to the same line. Where a trial ends the program, or does not end, it prints that of the trial as it was.
#include "tests/sanitized.hpp"
#include "trial.hpp"

#include <dcgn/error.hpp>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace dcgn::test {
namespace {

using device::Strategy;

constexpr unsigned longest_s = 120 * fewer;  // of a trial

std::vector<Subject> linked_subjects() {
  std::vector<Subject> linked;
  for (const Subject s : all_subjects)
    if (s != Subject::stencils || run_stencils) linked.push_back(s);
  return linked;
}

struct Options {
  std::vector<Subject> subjects = linked_subjects();
  std::vector<Strategy> strategies{std::begin(device::all_strategies), std::end(device::all_strategies)};
  std::uint64_t first = 0, last = ~std::uint64_t{0};
  int ranks = 0, rounds = 0;  // 0: the seed says
  double minutes = 0;         // 0: until the last seed
};

// "" or what went wrong.
std::string run(const Trial& t) {
  setenv("DCGN_TEST_SCHEDULE", to_string(t.strategy), 1);
  try {
    switch (t.subject) {
      case Subject::messages: run_messages(t); break;
      case Subject::collectives: run_collectives(t); break;
      case Subject::communicators: run_communicators(t); break;
      case Subject::datatypes: run_datatypes(t); break;
      case Subject::stencils: run_stencils(t); break;
    }
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

std::string again(const Trial& t) {
  return std::string("explore --subjects ") + to_string(t.subject) + " --strategies " + to_string(t.strategy) +
         " --seeds " + std::to_string(t.seed) + " --ranks " + std::to_string(t.ranks) + " --rounds " +
         std::to_string(t.rounds);
}

// What a signal says of the trial that is under way.
char under_way[256];
void on_signal(int number) {
  const char* const what = number == SIGALRM ? "does not end: " : "ends the program: ";
  static_cast<void>(!write(STDERR_FILENO, what, std::strlen(what)));
  static_cast<void>(!write(STDERR_FILENO, under_way, std::strlen(under_way)));
  std::signal(number, SIG_DFL);
  std::raise(number);
}

std::string watched(const Trial& t) {
  std::snprintf(under_way, sizeof under_way, "%s\n", again(t).c_str());
  alarm(longest_s);
  std::string wrong = run(t);
  alarm(0);
  return wrong;
}

// The least value of one of a trial's numbers, down to `least`, with which it still fails.
void shrink(Trial& t, int Trial::*number, int least, std::string& wrong) {
  for (int passes = least - 1; t.*number - passes > 1;) {
    Trial half = t;
    half.*number = passes + (t.*number - passes) / 2;
    const std::string what = watched(half);
    if (what.empty()) {
      passes = half.*number;
    } else {
      t = half;
      wrong = what;
    }
  }
}

void report(Trial t, std::string wrong) {
  std::printf("%s\n  %s\n", again(t).c_str(), wrong.c_str());
  std::fflush(stdout);
  shrink(t, &Trial::rounds, 1, wrong);
  shrink(t, &Trial::ranks, 1, wrong);
  shrink(t, &Trial::rounds, 1, wrong);
  std::printf("the least that fails: %s\n  %s\n", again(t).c_str(), wrong.c_str());
  // The lines after the first one say how long ranks have waited.
  const auto first_line = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  if (first_line(watched(t)) != first_line(wrong)) std::printf("  and something else the next time\n");
}

[[noreturn]] void refuse(const std::string& what, std::string_view value, const std::string& expected) {
  throw Error(Code::configuration, "explore", what + " \"" + std::string(value) + "\", expected " + expected);
}

template <class Number>
Number number_of(const std::string& option, std::string_view text, Number least) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least)
    refuse(option, text, "a number of at least " + std::to_string(least));
  return value;
}

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words(1);
  for (const char c : list)
    if (c == ',')
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

Subject subject_of(const std::string& name) {
  std::string names;
  for (const Subject s : linked_subjects()) {
    if (name == to_string(s)) return s;
    names += std::string(names.empty() ? "" : ", ") + to_string(s);
  }
  refuse("--subjects", name, "one of " + names);
}

Options options_of(int count, char** words) {
  Options o;
  for (int i = 1; i < count; i += 2) {
    const std::string option = words[i];
    if (i + 1 == count) refuse(option, "", "a value");
    const std::string_view value = words[i + 1];
    if (option == "--subjects") {
      o.subjects.clear();
      for (const std::string& name : words_of(value)) o.subjects.push_back(subject_of(name));
    } else if (option == "--strategies") {
      o.strategies.clear();
      for (const std::string& name : words_of(value)) o.strategies.push_back(device::strategy_of(name));
    } else if (option == "--seeds") {
      const std::size_t dash = value.find('-');
      o.first = o.last = number_of<std::uint64_t>(option, value.substr(0, dash), 0);
      if (dash != value.npos) o.last = number_of<std::uint64_t>(option, value.substr(dash + 1), o.first);
    } else if (option == "--ranks") {
      o.ranks = number_of(option, value, 1);
      if (o.ranks > 16) refuse(option, value, "at most 16");
    } else if (option == "--rounds") {
      o.rounds = number_of(option, value, 1);
    } else if (option == "--minutes") {
      o.minutes = number_of(option, value, 0.01);
    } else {
      refuse("option", option, "--subjects, --strategies, --seeds, --ranks, --rounds or --minutes");
    }
  }
  if (o.last == ~std::uint64_t{0} && o.minutes == 0) o.minutes = 1;
  return o;
}

int explore(const Options& o) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto minutes = [&] { return std::chrono::duration<double>(Clock::now() - begin).count() / 60; };
  std::uint64_t trials = 0;
  for (std::uint64_t seed = o.first; seed <= o.last; ++seed)
    for (const Subject subject : o.subjects)
      for (const Strategy strategy : o.strategies) {
        if (o.minutes > 0 && minutes() > o.minutes) {
          std::printf("%llu trials, to seed %llu\n", static_cast<unsigned long long>(trials),
                      static_cast<unsigned long long>(seed));
          return 0;
        }
        const Trial t{subject, strategy, seed, o.ranks ? o.ranks : 2 + static_cast<int>(draw(seed, -2, 0, 8)),
                      o.rounds                       ? o.rounds
                      : subject == Subject::messages ? 16
                                                     : 8};
        const std::string wrong = watched(t);
        ++trials;
        if (wrong.empty()) continue;
        report(t, wrong);
        return 1;
      }
  std::printf("%llu trials\n", static_cast<unsigned long long>(trials));
  return 0;
}

}  // namespace
}  // namespace dcgn::test

int main(int count, char** words) {
  setenv("DCGN_EMULATED_GPUS", "2", 1);  // deterministic mode is for these alone, and in one process
  setenv("DCGN_MPI", "off", 1);
  std::signal(SIGALRM, dcgn::test::on_signal);
  if (!dcgn::test::sanitized)  // which tell more
    for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) std::signal(number, dcgn::test::on_signal);
  try {
    return dcgn::test::explore(dcgn::test::options_of(count, words));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
