// The kernels that move words of 8 bytes.
#include "datatype/launch_pieces.hpp"

DCGN_INSTANTIATE_MOVES(8)
