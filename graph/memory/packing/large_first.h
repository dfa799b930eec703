// SPDX-License-Identifier: Apache-2.0
// Places large buffers first, as a skyline; the small ones fill the holes that it leaves.
//
// A skyline wastes very little while there are many buffers to choose from, and much at its end.
// Small buffers that are held back until then fit into the holes below.
#pragma once

#include <optional>

#include "graph/memory/offsets/placer.h"

namespace quern {

// Definition of small buffers.
struct SmallBuffers {
  double share = 0.1;    // their part of the sum of size x lifetime over all buffers
  bool by_life = false;  // small: the shortest lifetime; else the least size x lifetime
};

// Returns nothing if the skyline search fails.
std::optional<MemoryPlan> place_large_first(Placer& placer, const SmallBuffers& small);

}  // namespace quern
