// The scopes that measurements are tested with.
#pragma once

#include "core/bench/p2p.hpp"

namespace dcgn::test {

inline const bench::Scope thread{.kind = bench::ScopeKind::thread}, warp{.kind = bench::ScopeKind::warp},
    block{.kind = bench::ScopeKind::block, .threads = 64},
    two_blocks{.kind = bench::ScopeKind::blocks, .blocks = 2, .threads = 48};

}  // namespace dcgn::test
