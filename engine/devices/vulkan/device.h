// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <quern/device.h>

namespace quern::vulkan {

// GPUs of this machine, best first; empty where there is no Vulkan.
std::vector<DeviceInfo> list();

// "vulkan", "vulkan:N", "vulkan:UUID" or "vulkan:PART OF THE NAME", then any of ",validate",
// ",strict" (a node without a kernel for the device is an error), ",f16" (operands of products may
// be rounded to half precision where the device is faster so), ",split=N" (at most N dispatches a
// submission, for systems that stop long ones), ",tune" or ",tune=MS" (measures which candidates of
// kernels are fastest, that long at most for each plan, and keeps the answer on disk),
// ",no-FEATURE" for the features that `quern devices` lists, ",cpu=FAMILY" for a family of
// operators (as `quern inspect` names them) that is to run on the CPU and, for tests,
// ",lose-after=N" (counts as lost after N submissions), ",as-hardware" (a device in software gets
// what kernels choose for GPUs), ",emulate-matrices" (loops for the matrices of f16 that a device
// lacks) and ",candidate=N" (the Nth candidate of dispatches that have so many).
Result<std::shared_ptr<Device>> open(std::string_view name);

}  // namespace quern::vulkan
