// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quern/shape.h>

#include "graph/ops.h"

namespace quern {

// The shape of what was pooled, from that of what came of it: what indices count in.
Shape unpooled_shape(const MaxUnpool& op, const Shape& x);

}  // namespace quern
