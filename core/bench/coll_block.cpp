// Collectives called by a block.
#include "core/bench/coll_kernel.hpp"

namespace dcgn::bench {

template void add_slots<ScopeKind::block, most_threads(ScopeKind::block)>(Job&, int, const CollWork&, const CollPlan&,
                                                                          const CollMemory&);

}  // namespace dcgn::bench
