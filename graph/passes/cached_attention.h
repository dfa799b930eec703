// SPDX-License-Identifier: Apache-2.0
// Attention to a cache in operators that every device has.
#pragma once

#include <quern/status.h>

#include "graph/graph.h"

namespace quern {

// Replaces each CacheAppend and CachedAttention, in bodies too, for devices without kernels of
// them: the rows of a cache become a gather of rows, what a row does not see a bias of -inf. A row
// beyond the cache, which the operators refuse, then reads zeros.
Status expand_cached_attention(Graph& graph);

}  // namespace quern
