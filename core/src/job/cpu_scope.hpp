#pragma once

#include <dcgn/arch/scope.hpp>

namespace dcgn {

// Who makes the calls of a CPU rank: one thread.
inline constexpr gpu::ThreadScope cpu_scope{};

}  // namespace dcgn
