// From how many bytes on messages take another way. The guide (docs/guide/messages.md) has them in a table, by these
// names.
#pragma once

#include <cstdint>

namespace dcgn::message {

// Eager up to so many bytes: between ranks in host memory of one process; of two processes, from one of which the
// system copies longer ones, which takes it 2 us to begin; where a CUDA GPU takes part, and more for each thread of the
// call; and at most, above which the threads of a block had better read a message where it is.
inline constexpr std::uint32_t eager_of_host = 512, eager_of_processes = 2048;
inline constexpr std::uint32_t eager_of_gpu = 4096, eager_each_thread = 128, most_eager = 68u << 10;

// The same between a rank and the gateway. What a host's thread announces the gateway reads where it is, which is
// faster than to put it into packets and to take it out again.
inline constexpr std::uint32_t gateway_eager = 4096, gateway_eager_of_host = 256, gateway_most_eager = 16u << 10;
// A payload that the gateway can read in the sender's memory is copied into the message of its header, up to so many
// bytes; it follows its header without an answer, up to so many. One that it can write into the receiver's buffer goes
// through the FIFO up to so many, and else straight there. (Two network namespaces, TCP, against an offer that waits
// for its answer: 4 KiB 20 us -> 9, 32 KiB 40 -> 19, 64 KiB 60 -> 41 over Open MPI, whose own are 7, 14 and 31.)
inline constexpr std::uint32_t gateway_copied = 32u << 10, gateway_unasked = 64u << 10, gateway_packed = 256;
static_assert(gateway_copied >= gateway_most_eager);

// A copy engine moves a message from so many bytes on for each thread of the call, between two GPUs and within one. It
// takes some 30 to 40 us to begin, for the host has to see the request, the driver to start it and the stream to tell
// of its end; then it moves 390 GB/s over NVLink (H200). A thread copies 0.1 GB/s from the other GPU, a warp 3, a block
// of 512 threads 46, several blocks up to 370: so it is faster from about 3 KiB a thread on. Between slots of one GPU
// threads are faster, and its copy engines are not.
inline constexpr std::uint32_t engine_each_of_two = 3 << 10, engine_each_of_one = 12 << 10;
// And from so many on where nobody waits in the receive: that leaves the threads to other work, and others are under
// way with it.
inline constexpr std::uint32_t engine_beside_of_two = 1u << 20, engine_beside_of_one = 16u << 20;
// Where no thread can read the message, the FIFO is there for short ones: all the threads of a block move some 6 GB/s
// through it, a thread far less, and a copy through pinned memory takes twice as long to begin.
inline constexpr std::uint32_t engine_from_fifo = 32u << 10;

}  // namespace dcgn::message
