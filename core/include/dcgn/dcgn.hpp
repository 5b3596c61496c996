// All of the core's host and kernel interface. The headers that it includes can be had one by one. Other modules have
// their own: stencil.hpp, virtual_gpu.hpp, pixels.hpp.
#pragma once

#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/context.hpp>
#include <dcgn/cart.hpp>
#include <dcgn/comm.hpp>
#include <dcgn/config.hpp>
#include <dcgn/datatype.hpp>
#include <dcgn/device.hpp>
#include <dcgn/element.hpp>
#include <dcgn/error.hpp>
#include <dcgn/gpu/comm.hpp>
#include <dcgn/gpu/datatype.hpp>
#include <dcgn/gpu/device_datatype.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>
#include <dcgn/operation.hpp>
#include <dcgn/pack.hpp>
#include <dcgn/placement.hpp>
#include <dcgn/span.hpp>
#include <dcgn/status.hpp>
#include <dcgn/version.hpp>
#include <dcgn/world.hpp>
