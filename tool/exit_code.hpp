// The exit codes of dcgn, the same for every subcommand.
#pragma once

#include <dcgn/error.hpp>

namespace dcgn::tool {

inline constexpr int exit_ok = 0;
inline constexpr int exit_job_failed = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_io = 3;

inline constexpr const char* exit_codes_help =
    "Exit codes:\n"
    "  0  all went well\n"
    "  1  the job failed: its report is on stderr; or a result was wrong\n"
    "  2  an option, a value or a setting that makes no sense\n"
    "  3  a file could not be read or written, or a program not be run\n";

int exit_code_of(Code code);
int exit_code_of(const Error& error);

}  // namespace dcgn::tool
