// SPDX-License-Identifier: Apache-2.0
// A device with its own memory that computes nothing: it checks every program, counts commands, and
// returns zeros. It is the example for writing a device (docs/adding-a-device.md), checks
// dispatches against their operands on machines without a driver, and with `quern bench --device
// null` measures the cost of a run on the host.
#pragma once

#include <memory>
#include <string_view>

#include <quern/device.h>
#include <quern/status.h>

namespace quern::null {

// `name` is "null": each node is dispatches for a GPU of medium size; or "null,regions": each
// region is compiled as a whole, as on a device with a compiler of its own. Errors: not_found. Any
// thread.
Result<std::shared_ptr<Device>> open(std::string_view name);

}  // namespace quern::null
