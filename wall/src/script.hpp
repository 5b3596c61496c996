// What users do, written down: a line an event, "FRAME WHAT ...", in the order of the frames.
//
//   10 key a 120 80           a character, or its number; where the pointer is, in wall pixels from the top left
//   10 key-up a 120 80
//   11 special left 120 80    left, up, right, down, page-up, page-down, home, end, insert, f1 ... f12
//   12 mouse left down 30 40  left, middle, right; down, up
//   13 motion 31 40           with a button held; `passive` without
//   14 wheel 0 1 30 40        which wheel, and which way: 1 or -1
//   15 menu 1 7               what the menu of that number calls its callback with
//   16 resize 640 480         the wall's window
//
// Last on a line may stand `shift`, `ctrl`, `alt`. A line that begins with # is a comment.
#pragma once

#include "wall/src/protocol.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::wall {

using Script = std::vector<std::pair<std::int64_t, Event>>;

// Throw Error(configuration), which names file, line and word, or Error(io).
Script parse_script(const std::string& content, const std::string& file);
Script load_script(const std::string& file);

// Keys, buttons, motion and sizes at random, about one event a frame: those of a seed are always the same.
Script random_script(std::uint64_t seed, std::int64_t frames, int width, int height);

}  // namespace dcgn::wall
