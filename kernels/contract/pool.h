// SPDX-License-Identifier: Apache-2.0
// Geometry of pooling, for all of its implementations.
#pragma once

#include "graph/ops/windows.h"

namespace quern {

struct Pool;

// For spatial sizes that inference has accepted; of a global pool the whole of them.
ResolvedWindow resolve_pool_window(const Pool& op, std::span<const std::int64_t> in);
// How many taps along dimension d an average counts at `position`: those inside of the input or,
// with count_include_pad, of the padded input (what hangs over in ceil_mode never counts).
std::int64_t counted_taps(const Pool& op, const ResolvedWindow& w, const Shape& in, std::size_t d,
                          std::int64_t position);

}  // namespace quern
