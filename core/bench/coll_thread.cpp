// Collectives called by a thread.
#include "core/bench/coll_kernel.hpp"

namespace dcgn::bench {

template void add_slots<ScopeKind::thread, most_threads(ScopeKind::thread)>(Job&, int, const CollWork&, const CollPlan&,
                                                                            const CollMemory&);

}  // namespace dcgn::bench
