// SPDX-License-Identifier: Apache-2.0
#include "engine/planning/lower.h"

#include "engine/planning/place.h"

namespace quern {

Result<std::unique_ptr<Program>> lower(const Graph& graph, const LowerOptions& options) {
  return lower_with(graph, options, lowering::place);
}

}  // namespace quern
