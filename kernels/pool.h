// SPDX-License-Identifier: Apache-2.0
// Geometry of pooling, for all of its implementations.
#pragma once

#include "kernels/infer.h"

namespace quern {

// For spatial sizes that inference has accepted; of a global pool the whole of them.
ResolvedWindow resolve_pool_window(const Pool& op, std::span<const std::int64_t> in);
// What an average divides by at `position`: the taps inside of the input or, with
// count_include_pad, inside of the padded input (what hangs over in ceil_mode never counts).
double pool_divisor(const Pool& op, const ResolvedWindow& w, const Shape& in,
                    const Shape& position);

}  // namespace quern
