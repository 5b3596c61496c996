// Packing and unpacking of layouts, in a GPU's memory and in the host's.
#pragma once

#include "core/bench/ddt_buffers.hpp"
#include "core/bench/ddt_row.hpp"
#include "core/bench/ddt_shape.hpp"

#include <dcgn/datatype.hpp>

#include <string>
#include <vector>

namespace dcgn::bench {

// Of about so many bytes.
Datatype datatype_of(const DdtShape& shape, std::int64_t bytes);

// A copy of the same bytes without gaps, then packing, then unpacking, each compared with a walk over the blocks.
// Throws what pack() does.
std::vector<DdtRow> measure_ddt(const DdtWork& work);

// `name` is a peer: "mpi", MPI_Pack on the host; "cuda", cudaMemcpy2DAsync or cub's batched copy, and "torch",
// PyTorch's strided copy, on the device. Whether it can say this shape. Throws Error(configuration) where there is no
// such peer.
bool ddt_has_peer(const std::string& name, const DdtShape& shape, const std::string& place);
// Throws Error(io), saying what is missing, where its program is not built.
void find_ddt_peer(const std::string& name);
// The same work by a peer, for each of these shapes. Throws Error(io) where its program fails.
std::vector<DdtRow> run_ddt_peer(const std::string& name, const std::vector<DdtShape>& shapes, std::int64_t bytes,
                                 double seconds);

}  // namespace dcgn::bench
