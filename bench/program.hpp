// Other programs: peers beside the dcgn command, run by a shell, whose output is a line of JSON among others.
#pragma once

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>

namespace dcgn::bench {

// The path of a program in the folder of this one.
std::string beside_this(const std::string& program);
// As one word of a shell's command.
std::string quoted(const std::string& text);
// What starts a command as so many processes, pinned to nothing: DCGN_MPIRUN, else mpirun.
std::string mpirun(int processes);

// Runs the command, which ends with this program and after so many seconds: that holds for a program and its arguments,
// redirected or not, but not for what a shell among them starts. Gives what it printed on stdout. Throws Error(io),
// which begins with `who`, where its exit code is none of those that are fine.
std::string output_of(const std::string& command, double seconds, const std::string& who,
                      std::initializer_list<int> fine = {0});
// The same of a command that prints an array of JSON in a line of its own: that array. Throws where there is none.
nlohmann::ordered_json rows_of(const std::string& command, double seconds, const std::string& who);

}  // namespace dcgn::bench
