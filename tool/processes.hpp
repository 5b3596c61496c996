// The command in several processes that a launcher has started: one job, which process 0 alone tells of.
#pragma once

#include <dcgn/placement.hpp>

#include <functional>

namespace dcgn::tool {

inline constexpr const char* processes_help =
    "In several processes (mpirun -n 2 dcgn demo ...) all ranks are one job: each process is a node of so many ranks,\n"
    "and process 0 alone prints, writes files and checks.\n";

// One of the `count` that the launcher has started; alone without one, and with DCGN_MPI=off.
struct Process {
  int number = 0;
  int count = 1;

  bool first() const { return number == 0; }
};

// Throws Error(configuration) where what the launcher says makes no sense.
Process this_process();

// Whether --help, and mistakes in what was typed, are this process's to tell: all processes see the same.
bool tells_usage();

// The exit code of a process that leaves it to process 0 to say what is wrong: returned after a moment, because a
// launcher ends all others as soon as one has failed, process 0 before it has said a word.
int after_the_first(int code);

// `what` is for one process alone: of several, process 0 throws Error(configuration), which says `instead`, and the
// others return exit_usage; else exit_ok.
int expect_one(const char* what, const char* instead);

// All processes begin a job. In each `prepare` sees to the options and to its files, and gives the process's node.
// Where it throws in one, or nodes differ, process 0 throws why and the others return that exit code; else exit_ok.
int begin_together(const std::function<NodeShape()>& prepare);

}  // namespace dcgn::tool
