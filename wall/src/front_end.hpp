// The front end of a wall: starts a back end a screen, which is the program itself with the library of
// wall/src/back_end in front of freeglut, and keeps them in step (Lawlor, cudaMPI and glMPI, 2009: MPIglut).
#pragma once

#include "wall/src/layout.hpp"
#include "wall/src/script.hpp"

#include <dcgn/pixels/compression.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::wall {

struct Options {
  Layout layout;
  std::vector<std::string> command;  // the program and its arguments
  bool exact = false;                // every pixel as in one window; each screen renders into one as large as the wall
  bool balance = false;              // back ends draw parts of others' screens, by what they take; implies `exact`
  pixels::Compression compression = pixels::Compression::automatic;  // of what passes between hosts for that; no jpeg
  std::optional<std::uint64_t> random_cuts;  // their seed: the wall is cut anew all the time, whatever it takes
  std::optional<Script> script;              // in place of what users do; time goes by `step` a frame then
  std::chrono::nanoseconds step{16'666'667};
  std::int64_t frames = -1;  // and then the wall ends; -1: when the program does
  int check_every = 16;      // frames; 0: never
  std::chrono::milliseconds deadline{60'000};
  std::function<void(const std::string&)> warn;  // what the wall cannot give, one line each
  std::function<bool()> wants_picture;           // asked once a frame; nothing: once, at the end
  bool picture_at_end = false;
};

// RGB, rows from the top; what no screen shows is black.
struct WallPicture {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

struct ScreenReport {
  std::string name;
  std::int64_t pictures = 0;                       // shown
  double frame_ms = 0;                             // of work, without waiting for the others: the mean
  double draw_ms = 0;                              // of that, until GL had drawn the picture
  std::int64_t given_pixels = 0, given_bytes = 0;  // drawn for other screens; as they went
};

struct Report {
  int exit_code = 0;  // of the program
  std::int64_t frames = 0, pictures = 0;
  double seconds = 0;  // from the first frame on
  // In the mean, the first frame left out: from one to the next, and what the slowest screen of each worked.
  double frame_ms = 0, slowest_ms = 0;
  std::int64_t cuts = 0;  // how often other parts of the wall were given out
  std::int64_t events = 0;
  std::int64_t checked = 0;                         // frames whose GL calls were alike
  int most_skew = 0;                                // in pictures, between what two screens show at the same time
  double median_spread_ms = 0, most_spread_ms = 0;  // from the first to the last screen that shows a picture
  std::vector<ScreenReport> screens;
};

// Runs the program until it ends, or for so many frames. `on_picture` gets what is asked for. Throws Error: (mismatch)
// where back ends are not alike, (aborted) where one died, (deadline) where one does not come, each with its name; and
// (io) where the program cannot be run.
Report run_wall(const Options& options, const std::function<void(const WallPicture&)>& on_picture);

}  // namespace dcgn::wall
