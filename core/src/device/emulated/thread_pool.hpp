// Threads of the operating system for blocks, kept for the next launch with the stacks that they have mapped.
#pragma once

#include <functional>

namespace dcgn::device {

// Runs `work`, which must not throw, on a thread that does nothing else meanwhile. Throws std::system_error where the
// operating system gives no more threads.
void run_on_pool(std::function<void()> work);

}  // namespace dcgn::device
