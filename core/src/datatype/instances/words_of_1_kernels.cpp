// The kernels that move words of 1 byte.
#include "datatype/launch_pieces.hpp"

DCGN_INSTANTIATE_MOVES(1)
