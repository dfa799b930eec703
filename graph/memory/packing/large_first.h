// SPDX-License-Identifier: Apache-2.0
// Large buffers first: they become a skyline, and the small ones fill the holes that it leaves.
//
// A skyline wastes next to nothing while there is much to choose from and much at its end. Small
// buffers that are held back until then fit into the holes below.
#pragma once

#include <optional>

#include "graph/memory/offsets/placer.h"

namespace quern {

// Which buffers count as small.
struct SmallBuffers {
  double share = 0.1;    // their part of the sum of size x lifetime over all buffers
  bool by_life = false;  // the shortest lived are small; else those with the least size x lifetime
};

// Empty where there is no skyline.
std::optional<MemoryPlan> place_large_first(Placer& placer, const SmallBuffers& small);

}  // namespace quern
