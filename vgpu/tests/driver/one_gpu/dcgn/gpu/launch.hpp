// In place of the core's: see ../virtual_gpu.hpp.
#pragma once

#include <dcgn/launch.hpp>
