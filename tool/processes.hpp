// The command in several processes that a launcher has started: one job, which process 0 alone tells of.
#pragma once

#include <dcgn/placement.hpp>

#include <functional>

namespace dcgn::tool {

// One of the `count` that the launcher has started; alone without one, and with DCGN_MPI=off.
struct Process {
  int number = 0;
  int count = 1;

  bool first() const { return number == 0; }
};

// Throws Error(configuration) where what the launcher says makes no sense.
Process this_process();

// Whether mistakes in what was typed are this process's to tell: all see the same.
bool tells_mistakes();

// All processes begin a job. In each `prepare` sees to the options and to its files, and gives the process's node.
// Where it throws in one, or nodes differ, process 0 throws why and the others return that exit code; else exit_ok.
int begin_together(const std::function<NodeShape()>& prepare);

}  // namespace dcgn::tool
