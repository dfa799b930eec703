// SPDX-License-Identifier: Apache-2.0
// Tensors whose elements lie in another place: what a view of the result shows is the tensor again.
#pragma once

#include <quern/shape.h>
#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/ops/windows.h"

namespace quern::tools {

// The position of a tensor's elements in a larger one: index i of axis d is at starts[d] + i *
// steps[d].
struct Window {
  Shape whole;
  Ints starts;
  Ints steps;
};

// Axis d of the result is axis perm[d] of `t`.
Result<Tensor> transposed(const TensorView& t, const Ints& perm);
// A tensor of window.whole that shows `t` in the window. Elements outside are NaN or -1, so that
// who reads them is found out.
Result<Tensor> spread(const TensorView& t, const Window& window);
// The elements in the window of `t`, which has the shape window.whole.
Result<Tensor> cut(const TensorView& t, const Window& window, const Shape& shape);
// The same elements under another shape with equally many elements.
Result<Tensor> reshaped(const TensorView& t, const Shape& shape);

// n-1, ..., 1, 0
Ints reversed_axes(std::size_t rank);

}  // namespace quern::tools
