// SPDX-License-Identifier: Apache-2.0
// A device with its own memory that computes nothing: it checks every program, counts commands, and
// returns zeros. It is the example for writing a device (docs/adding-a-device.md), checks
// dispatches against their operands on machines without a driver, and with `quern bench --device
// null` measures the cost of a run on the host.
#pragma once

#include <memory>

#include <quern/device.h>

namespace quern::null {

// Its GpuTarget is that of a GPU of medium size. Any thread.
std::shared_ptr<Device> open();

}  // namespace quern::null
