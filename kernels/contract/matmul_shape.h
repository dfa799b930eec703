// SPDX-License-Identifier: Apache-2.0
// Shapes of a product of matrices as NumPy's matmul has them: the last two dimensions multiply,
// those before broadcast; a vector on the left is one row, on the right one column, and leaves no
// dimension. Shared by the plain and the quantised products.
#pragma once

#include <cstdint>

#include <quern/shape.h>

#include "graph/ops/products.h"

namespace quern {

// Sizes and strides of concrete operands: element (m, k) of a is at a_batch . index + m * a_row + k
// * a_column.
struct ProductShape {
  Shape batch;
  Shape a_batch, b_batch;  // strides, 0 where an operand broadcasts
  std::int64_t rows = 1, columns = 1, depth = 1;
  std::int64_t a_row = 0, a_column = 1;  // strides over m and k
  std::int64_t b_row = 1, b_column = 0;  // strides over k and n

  double multiplications() const {
    return static_cast<double>(batch.elements()) * static_cast<double>(rows) *
           static_cast<double>(columns) * static_cast<double>(depth);
  }
};
ProductShape product_shape(const Shape& a, const Shape& b, Transposed transposed = {});

}  // namespace quern
