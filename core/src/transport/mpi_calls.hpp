// What the library asks of an MPI, as a table of plain functions: filled by a shared library of its own for each MPI
// (mpi/mpi_calls.cpp), so that neither the library nor a program that uses it is bound to one; and by the library
// itself for processes without MPI (tcp/tcp_calls.cpp).
//
// Handles of MPI are 64-bit words here, lengths are bytes. Each function that returns int returns 0, or an error code
// of that MPI for error_text(). The names are MPI's, and so is what they do; all are called by one thread at a time.
#pragma once

#include <cstdint>

namespace dcgn::transport {

using MpiHandle = std::uint64_t;

struct MpiStatus {
  std::int32_t source = -1;
  std::int32_t tag = -1;
  std::int64_t bytes = 0;
  std::int32_t cancelled = 0;
};

enum class MpiThreads : std::int32_t { single, funneled, serialized, multiple };

// The program's MPI: not begun, under way, or over.
enum class MpiStage : std::int32_t { none, running, finalized };

struct MpiCalls {
  static constexpr std::uint32_t current_version = 3;
  std::uint32_t version;
  const char* name;  // "openmpi", "mpich" or "tcp"

  void (*describe)(char* text, int length);  // the library's version, in a line
  void (*error_text)(int error, char* text, int length);
  MpiStage (*stage)();
  // Asks for that: the calling thread is the main one from here on. Without MPI, waits so long for the others.
  int (*init)(MpiThreads wanted, double within_s, MpiThreads* provided);
  int (*threads)(MpiThreads* provided);
  int (*finalize)();

  // A communicator of the library's own, with errors returned, made by all of one: `program` points to an MPI_Comm;
  // null: MPI_COMM_WORLD.
  int (*open)(const void* program, MpiHandle* communicator);
  int (*close)(MpiHandle* communicator);
  int (*rank)(MpiHandle communicator, int* rank);
  int (*size)(MpiHandle communicator, int* size);

  int (*isend)(MpiHandle communicator, const void* data, std::int64_t bytes, int to, int tag, MpiHandle* request);
  int (*issend)(MpiHandle communicator, const void* data, std::int64_t bytes, int to, int tag, MpiHandle* request);
  int (*irecv)(MpiHandle communicator, void* data, std::int64_t capacity, int from, int tag, MpiHandle* request);
  int (*test)(MpiHandle* request, int* done, MpiStatus* status);
  int (*cancel)(MpiHandle* request);
  int (*ibarrier)(MpiHandle communicator, MpiHandle* request);
  int (*iall_gather)(MpiHandle communicator, const void* in, void* out, int bytes, MpiHandle* request);

  int any_source;
  int tag_limit;               // tags below this are good everywhere
  std::int64_t bytes_limit;    // and messages of at most so many bytes
  std::int64_t eager_limit;    // of so many it sends without an answer of the receiver's
  int (*takes_cuda_memory)();  // 1: says that it takes pointers to CUDA memory
};

}  // namespace dcgn::transport

// What the shared library exports.
extern "C" const dcgn::transport::MpiCalls* dcgn_mpi_calls();
