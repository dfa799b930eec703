// SPDX-License-Identifier: Apache-2.0
// Kernels of one's own beside the engine's: operators of the host that have the name of a problem's
// operator.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <quern/custom_ops.h>

#include "tools/kernel/problem.h"

namespace quern::tools::lab {

struct OwnKernel {
  std::string name;  // "org.example.Softmax"; "own Softmax" of the domain ""
  Problem problem;   // the same, computed by that operator
};

// One for each operator of the registry that is called as the problem's is, in any domain. It gets
// the attributes that are not the default.
std::vector<OwnKernel> own_kernels(const Problem& problem, const CustomOps& ops);

// Has spirv-val look at the files that stand for shaders of a device, "vulkan,shader=NAME=FILE";
// it says on the standard error what is wrong. Nothing is done where there is no spirv-val. Errors:
// device_lost, as of all that is wrong with a device, where it refuses one or takes minutes.
Status validate_own_shaders(std::string_view device);

}  // namespace quern::tools::lab
