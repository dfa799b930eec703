// SPDX-License-Identifier: Apache-2.0
// Reshapes that give wanted dimensions.
#pragma once

#include <optional>

#include "graph/ops/reshape.h"
#include "graph/type.h"

namespace quern::passes {

// A Reshape and its operand that give these dimensions; nullopt if more than one is unknown.
struct ReshapeTarget {
  Reshape op;
  Ints shape;
};
std::optional<ReshapeTarget> reshape_target(const Dims& dims);

}  // namespace quern::passes
