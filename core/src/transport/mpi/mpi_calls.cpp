// The table of mpi_calls.hpp, compiled once for each MPI.
#include "../mpi_calls.hpp"

#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace {

using dcgn::transport::MpiCalls;
using dcgn::transport::MpiHandle;
using dcgn::transport::MpiStage;
using dcgn::transport::MpiStatus;
using dcgn::transport::MpiThreads;

// A handle is a pointer in Open MPI and a number in MPICH.
// NOLINTBEGIN(bugprone-sizeof-expression): the size of the handle is meant
template <class T>
MpiHandle pack(T handle) {
  static_assert(sizeof(T) <= sizeof(MpiHandle));
  MpiHandle word = 0;
  std::memcpy(&word, &handle, sizeof handle);
  return word;
}
template <class T>
T unpack(MpiHandle word) {
  T handle;
  std::memcpy(&handle, &word, sizeof handle);
  return handle;
}
// NOLINTEND(bugprone-sizeof-expression)
MPI_Comm comm_of(MpiHandle word) { return unpack<MPI_Comm>(word); }

// Passes a handle that the call may change.
template <class T, class Call>
int with(MpiHandle* word, const Call& call) {
  T handle = unpack<T>(*word);
  const int error = call(&handle);
  *word = pack(handle);
  return error;
}

void describe(char* text, int length) {
  char line[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int count = 0;
  MPI_Get_library_version(line, &count);
  // Open MPI ends its own at the first comma, MPICH at the first line, with tabs on the way.
  for (char* c = line; *c; ++c) {
    if (*c == '\t') *c = ' ';
    if (*c == ',' || *c == '\n') *c = '\0';
  }
  std::snprintf(text, static_cast<std::size_t>(length), "%s", line);
}

void error_text(int error, char* text, int length) {
  char line[MPI_MAX_ERROR_STRING] = {};
  int count = 0;
  if (MPI_Error_string(error, line, &count) != MPI_SUCCESS) std::snprintf(line, sizeof line, "MPI error %d", error);
  std::snprintf(text, static_cast<std::size_t>(length), "%s", line);
}

MpiStage stage() {
  int finalized = 0, initialized = 0;
  if (MPI_Finalized(&finalized) == MPI_SUCCESS && finalized) return MpiStage::finalized;
  if (MPI_Initialized(&initialized) == MPI_SUCCESS && initialized) return MpiStage::running;
  return MpiStage::none;
}

MpiThreads threads_of(int level) {
  if (level >= MPI_THREAD_MULTIPLE) return MpiThreads::multiple;
  if (level >= MPI_THREAD_SERIALIZED) return MpiThreads::serialized;
  return level >= MPI_THREAD_FUNNELED ? MpiThreads::funneled : MpiThreads::single;
}

int init(MpiThreads wanted, double, MpiThreads* provided) {
  const int asked = wanted == MpiThreads::serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED;
  int level = MPI_THREAD_SINGLE;
  const int error = MPI_Init_thread(nullptr, nullptr, asked, &level);
  *provided = threads_of(level);
  return error;
}

int threads(MpiThreads* provided) {
  int level = MPI_THREAD_SINGLE;
  const int error = MPI_Query_thread(&level);
  *provided = threads_of(level);
  return error;
}

#if defined(OPEN_MPI)
int finalize() { return MPI_Finalize(); }
#else
int await_all(std::vector<MPI_Request>& requests) {
  for (;;) {
    int done = 0;
    const int error = MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    if (error != MPI_SUCCESS || done) return error;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

// A byte to each process, and one from each, unless that were too many connections; then a barrier.
int meet_all(MPI_Comm all) {
  constexpr int most = 64;
  int rank = 0, size = 0;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(size) + 1);
  std::vector<MPI_Request> requests;
  for (int d = 1; d < size && size <= most; ++d) {
    MPI_Irecv(&bytes[static_cast<std::size_t>(d)], 1, MPI_BYTE, (rank + size - d) % size, 0, all,
              &requests.emplace_back(MPI_REQUEST_NULL));
    MPI_Isend(bytes.data(), 1, MPI_BYTE, (rank + d) % size, 0, all, &requests.emplace_back(MPI_REQUEST_NULL));
  }
  const int error = await_all(requests);
  if (error != MPI_SUCCESS) return error;
  requests.assign(1, MPI_REQUEST_NULL);
  MPI_Ibarrier(all, requests.data());
  return await_all(requests);
}

// Over TCP, MPICH's MPI_Finalize (4.0, with UCX 1.13) waits for an answer from each process that it has sent to, and
// does not answer others once it has all its own: a process that comes later waits for ever. None comes later where
// each has to answer each, and none answers before it has come: so all have met, and are silent until all know it.
int finalize() {
  constexpr auto silence = std::chrono::milliseconds(100);
  MPI_Comm all = MPI_COMM_NULL;
  int size = 0;
  if (MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS && size > 1 &&
      MPI_Comm_dup(MPI_COMM_WORLD, &all) == MPI_SUCCESS) {
    meet_all(all);
    std::this_thread::sleep_for(silence);  // without a call, in which it might answer
  }
  return MPI_Finalize();
}
#endif

int open(const void* program, MpiHandle* communicator) {
  MPI_Comm own = MPI_COMM_NULL;
  int error = MPI_Comm_dup(program ? *static_cast<const MPI_Comm*>(program) : MPI_COMM_WORLD, &own);
  if (error == MPI_SUCCESS) error = MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  *communicator = pack(own);
  return error;
}

int close(MpiHandle* communicator) {
  return with<MPI_Comm>(communicator, [](MPI_Comm* c) { return MPI_Comm_free(c); });
}

int rank(MpiHandle communicator, int* rank) { return MPI_Comm_rank(comm_of(communicator), rank); }
int size(MpiHandle communicator, int* size) { return MPI_Comm_size(comm_of(communicator), size); }

int isend(MpiHandle communicator, const void* data, std::int64_t bytes, int to, int tag, MpiHandle* request) {
  return with<MPI_Request>(request, [&](MPI_Request* r) {
    return MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, comm_of(communicator), r);
  });
}

int issend(MpiHandle communicator, const void* data, std::int64_t bytes, int to, int tag, MpiHandle* request) {
  return with<MPI_Request>(request, [&](MPI_Request* r) {
    return MPI_Issend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, comm_of(communicator), r);
  });
}

int irecv(MpiHandle communicator, void* data, std::int64_t capacity, int from, int tag, MpiHandle* request) {
  return with<MPI_Request>(request, [&](MPI_Request* r) {
    return MPI_Irecv(data, static_cast<int>(capacity), MPI_BYTE, from, tag, comm_of(communicator), r);
  });
}

int test(MpiHandle* request, int* done, MpiStatus* status) {
  MPI_Status s;
  int error = with<MPI_Request>(request, [&](MPI_Request* r) { return MPI_Test(r, done, &s); });
  if (error != MPI_SUCCESS || !*done) return error;
  int count = 0;
  error = MPI_Test_cancelled(&s, &status->cancelled);
  if (error == MPI_SUCCESS && !status->cancelled) error = MPI_Get_count(&s, MPI_BYTE, &count);
  status->source = s.MPI_SOURCE;
  status->tag = s.MPI_TAG;
  status->bytes = count < 0 ? 0 : count;  // of a send it says nothing
  return error;
}

int cancel(MpiHandle* request) {
  return with<MPI_Request>(request, [](MPI_Request* r) { return MPI_Cancel(r); });
}

int ibarrier(MpiHandle communicator, MpiHandle* request) {
  return with<MPI_Request>(request, [&](MPI_Request* r) { return MPI_Ibarrier(comm_of(communicator), r); });
}

int iall_gather(MpiHandle communicator, const void* in, void* out, int bytes, MpiHandle* request) {
  return with<MPI_Request>(request, [&](MPI_Request* r) {
    return MPI_Iallgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, comm_of(communicator), r);
  });
}

int takes_cuda_memory() {
// What it was compiled with need not be what it runs with: so the function, and not its header's word.
#if defined(OMPI_HAVE_MPI_EXT_CUDA) || (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40000000)
  return MPIX_Query_cuda_support();
#else
  return 0;
#endif
}

}  // namespace

extern "C" const MpiCalls* dcgn_mpi_calls() {
  static const MpiCalls calls = {
    .version = MpiCalls::current_version,
#if defined(OPEN_MPI)
    .name = "openmpi",
#else
    .name = "mpich",
#endif
    .describe = describe,
    .error_text = error_text,
    .stage = stage,
    .init = init,
    .threads = threads,
    .finalize = finalize,
    .open = open,
    .close = close,
    .rank = rank,
    .size = size,
    .isend = isend,
    .issend = issend,
    .irecv = irecv,
    .test = test,
    .cancel = cancel,
    .ibarrier = ibarrier,
    .iall_gather = iall_gather,
    .any_source = MPI_ANY_SOURCE,
    .tag_limit = 32767,
    .bytes_limit = std::numeric_limits<int>::max(),
    .eager_limit = 32 << 10,  // Open MPI over TCP: of fewer than 64 KiB
    .takes_cuda_memory = takes_cuda_memory,
  };
  return &calls;
}
