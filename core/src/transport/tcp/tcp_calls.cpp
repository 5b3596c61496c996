#include "tcp_calls.hpp"

#include "mesh.hpp"
#include "transport/mpi_library.hpp"

#include <dcgn/error.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>

namespace dcgn::transport {

namespace {

// As MPI's state is the process's own, so is this.
struct State {
  std::unique_ptr<Mesh> mesh;
  MpiStage stage = MpiStage::none;
  std::string error;
};
State state;

constexpr MpiHandle the_communicator = 1;

// What throws is told as MPI tells errors.
template <class Call>
int guarded(const Call& call) noexcept {
  try {
    call(*state.mesh);
    return 0;
  } catch (const std::exception& e) {
    state.error = e.what();
    return 1;
  }
}

void describe(char* text, int length) {
  std::snprintf(text, static_cast<std::size_t>(length), "no MPI: as torchrun starts processes");
}
void error_text(int, char* text, int length) {
  std::snprintf(text, static_cast<std::size_t>(length), "%s", state.error.c_str());
}
MpiStage stage() { return state.stage; }

int init(MpiThreads, double within_s, MpiThreads* provided) {
  const auto launch = find_launch("tcp");
  state.mesh = std::make_unique<Mesh>(bootstrap(launch->rank, launch->size, within_s));
  state.stage = MpiStage::running;
  *provided = MpiThreads::serialized;
  return 0;
}
int threads(MpiThreads* provided) {
  *provided = MpiThreads::serialized;
  return 0;
}
int finalize() {
  state.mesh.reset();
  state.stage = MpiStage::finalized;
  return 0;
}

int open(const void*, MpiHandle* communicator) {
  *communicator = the_communicator;
  return 0;
}
int close(MpiHandle* communicator) {
  *communicator = 0;
  return 0;
}
int rank(MpiHandle, int* rank) {
  *rank = state.mesh->rank();
  return 0;
}
int size(MpiHandle, int* size) {
  *size = state.mesh->size();
  return 0;
}

int isend(MpiHandle, const void* data, std::int64_t bytes, int to, int tag, MpiHandle* request) {
  return guarded([&](Mesh& m) { *request = m.send(data, static_cast<std::size_t>(bytes), to, tag); });
}
int issend(MpiHandle, const void* data, std::int64_t bytes, int to, int tag, MpiHandle* request) {
  return guarded([&](Mesh& m) { *request = m.send(data, static_cast<std::size_t>(bytes), to, tag, true); });
}
int irecv(MpiHandle, void* data, std::int64_t capacity, int from, int tag, MpiHandle* request) {
  return guarded([&](Mesh& m) { *request = m.receive(data, static_cast<std::size_t>(capacity), from, tag); });
}
int test(MpiHandle* request, int* done, MpiStatus* status) {
  return guarded([&](Mesh& m) {
    *done = !*request || m.test(*request, *status);
    if (*done) *request = 0;
  });
}
int cancel(MpiHandle* request) {
  return guarded([&](Mesh& m) { m.cancel(*request); });
}
int ibarrier(MpiHandle, MpiHandle* request) {
  return guarded([&](Mesh& m) { *request = m.all_gather(nullptr, nullptr, 0); });
}
int iall_gather(MpiHandle, const void* in, void* out, int bytes, MpiHandle* request) {
  return guarded([&](Mesh& m) { *request = m.all_gather(in, out, static_cast<std::size_t>(bytes)); });
}
int takes_cuda_memory() { return 0; }

}  // namespace

const MpiCalls& tcp_calls() {
  static const MpiCalls calls = {
      .version = MpiCalls::current_version,
      .name = "tcp",
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
      .any_source = Mesh::any_source,
      .tag_limit = 1 << 30,
      .bytes_limit = std::int64_t{1} << 40,
      .eager_limit = std::int64_t{1} << 40,
      .takes_cuda_memory = takes_cuda_memory,
  };
  return calls;
}

}  // namespace dcgn::transport
