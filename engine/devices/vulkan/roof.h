// SPDX-License-Identifier: Apache-2.0
// Measures the peak performance of a device, to which `quern profile` and `quern bench` compare
// kernels.
#pragma once

#include <memory>

#include <quern/device.h>

#include "engine/devices/vulkan/core.h"
#include "kernels/contract/gpu.h"

namespace quern::vulkan {

// A dispatch of multiply-adds in registers, with one buffer of 4 bytes per invocation.
Dispatch roof_dispatch(std::uint32_t groups, const GpuTarget& target);

// Errors: those of Device::measure_roof().
Result<DeviceRoof> measure_roof(const std::shared_ptr<Core>& core);

}  // namespace quern::vulkan
