// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/op_def.h"

namespace quern {

// Runs the reference of `op` over constants whose elements are at hand; for small work when a plan is
// made. An invalid Tensor is an absent input; `types` are the inferred outputs.
Result<std::vector<Tensor>> evaluate(const OpDef& def, const Op& op, std::span<const Tensor> inputs,
                                     std::span<const TensorType> types);

}  // namespace quern
