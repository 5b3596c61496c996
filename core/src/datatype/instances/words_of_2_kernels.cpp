// The kernels that move words of 2 bytes.
#include "datatype/launch_pieces.hpp"

DCGN_INSTANTIATE_MOVES(2)
