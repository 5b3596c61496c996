// The kernels that move words of 4 and 8 bytes.
#include "datatype/launch_pieces.hpp"

DCGN_INSTANTIATE_MOVES(4)
DCGN_INSTANTIATE_MOVES(8)
