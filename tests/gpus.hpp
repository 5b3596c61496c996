// What tests ask of a machine's GPUs.
#pragma once

#include <dcgn/device.hpp>
#include <dcgn/placement.hpp>

#include <gtest/gtest.h>

// Leaves out a test for want of GPUs: emulated ones, on a machine without any, are as many as it asks for.
#define DCGN_SKIP_WITHOUT_GPUS(nodes)                                                                       \
  do {                                                                                                      \
    const ::dcgn::NodeShape& n = (nodes);                                                                   \
    if (::dcgn::Device(0).kind() == ::dcgn::DeviceKind::cuda && n.gpus * n.count > ::dcgn::Device::count()) \
      GTEST_SKIP() << "this machine has " << ::dcgn::Device::count() << " GPUs";                            \
  } while (false)
