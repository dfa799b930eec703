// SPDX-License-Identifier: Apache-2.0
// Rocks and sand: the skyline is built of what is large, and the rest fills what it leaves.
//
// A skyline wastes next to nothing while there is much to choose from and a lot in the end. What is
// kept back for the end fits into holes that the skyline has left below.
#pragma once

#include <optional>

#include "graph/memory/offsets/placer.h"

namespace quern {

struct Sand {
  double share = 0.1;    // of size x life of all, that is sand
  bool by_life = false;  // what lives the shortest is, else what has the least of size x life
};

// Empty where there is no skyline.
std::optional<MemoryPlan> place_rocks_first(Placer& placer, const Sand& sand);

}  // namespace quern
