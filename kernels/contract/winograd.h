// SPDX-License-Identifier: Apache-2.0
// Where a convolution of whole tensors is computed by a form that stripes do not have.
#pragma once

#include <quern/shape.h>

#include "graph/ops/conv.h"

namespace quern {

// True if a convolution of whole tensors in f32 takes Winograd's form
// (kernels/cpu/conv_winograd.cpp) where kernels have scratch memory: in stripes of rows it does
// not.
bool faster_by_winograd(const Conv& conv, const Shape& weights, const Shape& result);

}  // namespace quern
