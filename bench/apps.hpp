// The applications, measured: a step of N-body, a product of Cannon's, a picture of the Mandelbrot set, over some GPUs,
// by Decagon and by what a user would write without it. Slots compute, and no CPU rank but Mandelbrot's master.
#pragma once

#include "apps/nbody/body.hpp"
#include "bench/app_row.hpp"

#include <map>
#include <string>
#include <vector>

namespace dcgn::bench {

struct AppWork {
  std::string app;  // "nbody", "cannon", "mandelbrot"
  int size = 0;     // bodies; rows and columns; pixels in a row, two thirds as many rows
  int gpus = 1;
  int steps = 0;           // that are timed: steps, products or pictures
  int iterations = 0;      // of Mandelbrot
  std::string exchange{};  // of N-body: "all-gather", "broadcast"
};

inline int height_of(const AppWork& work) { return work.size * 2 / 3; }

// Which numbers of GPUs an application can have, of those that are there: all, or those that are square.
std::vector<int> gpu_counts(const std::string& app, int available);

class AppBench {
 public:
  // Ours. Throws what Job does.
  AppRow measure(const AppWork& work);

 private:
  AppRow measure_nbody(const AppWork& work);
  const std::vector<nbody::Body>& reference(int bodies);

  std::map<int, std::vector<nbody::Body>> references_;  // where bodies are after a few steps, by their number
};

// `name` is a peer: "mpi", a process for each GPU, or "nccl", one process for all of them, which knows no work queue.
bool app_has_peer(const std::string& name, const std::string& app);
// Throws Error(io), saying what is missing, where its program is not built.
void find_app_peer(const std::string& name, const std::string& app);
// The same work by a peer. Throws Error(io) where its program fails.
AppRow run_app_peer(const std::string& name, const AppWork& work);

// Lines of code of an application's parallel part, in the form that `whose` names: "dcgn", "mpi", "nccl"; 0 where there
// is none. Counted when this was built: lines.cmake.
int lines_of(const std::string& app, const std::string& whose);

}  // namespace dcgn::bench
