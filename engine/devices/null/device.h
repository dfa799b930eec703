// SPDX-License-Identifier: Apache-2.0
// A device with memory of its own that computes nothing: it checks every program, counts what it is
// told to do, and answers zeros. It is the example of how a device is written
// (docs/adding-a-device.md), holds dispatches to their operands where no driver is at hand, and
// shows by `quern bench --device null` what a run costs the host.
#pragma once

#include <memory>

#include <quern/device.h>

namespace quern::null {

// The target of its kernels is a GPU of middling size. Any thread.
std::shared_ptr<Device> open();

}  // namespace quern::null
