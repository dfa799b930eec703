// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <quern/device.h>

namespace quern::vulkan {

// The GPUs of this machine, best first; empty if there is no Vulkan.
std::vector<DeviceInfo> list();

// "vulkan", "vulkan:N", "vulkan:UUID" or "vulkan:PART OF THE NAME", then any of ",validate",
// ",strict" (a node without a kernel for the device is an error), ",f16" (operands of products may
// be rounded to half precision where that makes the device faster), ",idle=BYTES" (of pipelines
// that nobody uses), ",split=N" (at most N dispatches per submission, for systems that stop long
// ones), ",tune" or ",tune=MS" (measures which candidates of kernels are fastest, for at most MS
// milliseconds per plan, and keeps the result on disk), ",no-FEATURE" for the features that `quern
// devices` lists, ",cpu=FAMILY" for a family of operators (as `quern inspect` names them) that must
// run on the CPU, ",shader=NAME=FILE" for SPIR-V that stands for a shader of the build and, for
// tests,
// ",lose-after=N" (counts as lost after N submissions), ",piece=N" (runs with a deadline are cut
// into pieces of N operations), ",as-hardware" (a software device gets the
// kernels that are chosen for GPUs), ",emulate-matrices" (loops in place of f16 matrices that a
// device lacks) and ",candidate=N" (the Nth candidate of dispatches that have at least N).
Result<std::shared_ptr<Device>> open(std::string_view name);

}  // namespace quern::vulkan
