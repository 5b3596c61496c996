// The kernels that move words of 16 bytes.
#include "datatype/launch_pieces.hpp"

DCGN_INSTANTIATE_MOVES(16)
