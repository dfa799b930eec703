// SPDX-License-Identifier: Apache-2.0
// Geometry of pooling, for all of its implementations.
#pragma once

#include "graph/ops/windows.h"

namespace quern {

struct Pool;

// The window for spatial sizes that inference has accepted; a global pool's window covers all of
// them.
ResolvedWindow resolve_pool_window(const Pool& op, std::span<const std::int64_t> in);
// The number of taps along dimension d that an average counts at `position`: those inside the input
// or, with count_include_pad, inside the padded input (the overhang in ceil_mode never counts).
std::int64_t counted_taps(const Pool& op, const ResolvedWindow& w, const Shape& in, std::size_t d,
                          std::int64_t position);

}  // namespace quern
