// SPDX-License-Identifier: Apache-2.0
// Kernels of one's own beside the engine's: operators of the host that have the name of a problem's
// operator.
#pragma once

#include <string>
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

}  // namespace quern::tools::lab
