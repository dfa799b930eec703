// SPDX-License-Identifier: Apache-2.0
// What a device does at most: the measure that `quern profile` and `quern bench` hold kernels to.
#pragma once

#include <memory>

#include <quern/device.h>

#include "engine/devices/vulkan/core.h"
#include "kernels/contract/gpu.h"

namespace quern::vulkan {

// Multiply-adds in registers: one buffer, of 4 bytes an invocation.
Dispatch roof_dispatch(std::uint32_t groups, const GpuTarget& target);

// Errors: those of Device::measure_roof().
Result<DeviceRoof> measure_roof(const std::shared_ptr<Core>& core);

}  // namespace quern::vulkan
