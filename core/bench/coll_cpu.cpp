// Collectives called by a CPU rank. Apart from the kernels, so that the host's compiler alone sees it.
#include "core/bench/coll_ranks.hpp"

#include <dcgn/comm.hpp>
#include <dcgn/operation.hpp>

namespace dcgn::bench {

namespace {

class CpuCollEnd {
 public:
  explicit CpuCollEnd(Comm& comm) : comm_(comm) {}
  unsigned rank() const { return 0; }
  unsigned size() const { return 1; }
  bool leader() const { return true; }
  void sync() const {}
  int me() const { return comm_.rank(); }
  int ranks() const { return comm_.size(); }
  bool barrier() const {
    comm_.barrier();
    return true;
  }
  bool broadcast(Span<std::uint64_t> words) const {
    comm_.broadcast(words, 0);
    return true;
  }
  bool call(Collective op, const float* in, std::int64_t in_count, float* out, std::int64_t out_count) const {
    const Span<const float> from(in, static_cast<std::size_t>(in_count));
    const Span<float> to(out, static_cast<std::size_t>(out_count));
    switch (op) {
      case Collective::barrier: comm_.barrier(); break;
      case Collective::broadcast: comm_.broadcast(to, 0); break;
      case Collective::reduce: comm_.reduce(from, to, Sum{}, 0); break;
      case Collective::all_reduce: comm_.all_reduce(from, to, Sum{}); break;
      case Collective::reduce_scatter: comm_.reduce_scatter(from, to, Sum{}); break;
      case Collective::all_gather: comm_.all_gather(from, to); break;
      case Collective::gather: comm_.gather(from, to, 0); break;
      case Collective::scatter: comm_.scatter(from, to, 0); break;
      case Collective::all_to_all: comm_.all_to_all(from, to); break;
      case Collective::scan: comm_.scan(from, to, Sum{}); break;
    }
    return true;
  }

 private:
  Comm& comm_;
};

}  // namespace

void take_part(Comm& comm, const CollPlan& plan, const CollBuffers& buffers) {
  take_part(CpuCollEnd(comm), plan, buffers);
}

}  // namespace dcgn::bench
