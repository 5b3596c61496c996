// Collectives called by several blocks of no more than 512 threads, which have twice the registers each.
#include "core/bench/coll_kernel.hpp"

namespace dcgn::bench {

template void add_slots<ScopeKind::blocks, 512>(Job&, int, const CollWork&, const CollPlan&, const CollMemory&);

}  // namespace dcgn::bench
