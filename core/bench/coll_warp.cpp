// Collectives called by a warp.
#include "core/bench/coll_kernel.hpp"

namespace dcgn::bench {

template void add_slots<ScopeKind::warp, most_threads(ScopeKind::warp)>(Job&, int, const CollWork&, const CollPlan&,
                                                                        const CollMemory&);

}  // namespace dcgn::bench
