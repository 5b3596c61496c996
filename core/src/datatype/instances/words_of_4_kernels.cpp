// The kernels that move words of 4 bytes.
#include "datatype/launch_pieces.hpp"

DCGN_INSTANTIATE_MOVES(4)
