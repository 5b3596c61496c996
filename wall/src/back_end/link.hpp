// The connection to the front end.
#pragma once

#include "wall/src/protocol.hpp"

#include <string>
#include <vector>

namespace dcgn::wall {

// Where the environment names a front end, of which it then says no more.
void connect();

// The frame begins on all at once, with the same events. Meanwhile freeglut sees to its windows.
Go begin_frame(std::vector<Event>& events);
// All have come to the same picture.
void meet_for_swap(std::int64_t number);
// `rows` are those of read.mine; gives those of read.area.
std::string share_pixels(const Read& read, const std::string& rows);
// Another barrier: its answer.
std::string share(Kind kind, const std::string& content);
// How long this back end has waited for answers, in all.
std::int64_t waited_ns();
// What a user has done here.
void tell_event(const Event& event);

}  // namespace dcgn::wall
