// The kernels that move words of 1 and 2 bytes.
#include "datatype/launch_pieces.hpp"

DCGN_INSTANTIATE_MOVES(1)
DCGN_INSTANTIATE_MOVES(2)
