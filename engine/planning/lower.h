// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <quern/status.h>

#include "engine/lowering/lower.h"

namespace quern {

// Lowers with a search for an order of steps and places in memory.
Result<std::unique_ptr<Program>> lower(const Graph& graph, const LowerOptions& options);

}  // namespace quern
