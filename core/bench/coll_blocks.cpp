// Collectives called by several blocks.
#include "core/bench/coll_kernel.hpp"

namespace dcgn::bench {

template void add_slots<ScopeKind::blocks, most_threads(ScopeKind::blocks)>(Job&, int, const CollWork&, const CollPlan&,
                                                                            const CollMemory&);

}  // namespace dcgn::bench
