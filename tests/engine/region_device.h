// SPDX-License-Identifier: Apache-2.0
// A device with memory of its own that compiles every region as a whole, as one with a compiler of
// its own would: it extracts the region as a graph and runs that on the CPU.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <quern/device.h>

#include "graph/graph.h"

namespace quern::testing {

struct RegionDeviceOptions {
  // The nodes that the device takes; besides, it leaves what fits_in_region() refuses.
  std::function<bool(NodeId)> takes = [](NodeId) { return true; };
  bool is_strict = false;
};
std::shared_ptr<Device> open_region_device(RegionDeviceOptions options = {});

}  // namespace quern::testing
