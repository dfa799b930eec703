// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/matmul_shape.h"

#include <algorithm>

#include "graph/ops/products.h"
#include "kernels/contract/iterate.h"

namespace quern {

ProductShape product_shape(const Shape& a, const Shape& b, Transposed transposed) {
  ProductShape p;
  const std::size_t a_batch = a.rank() > 1 ? a.rank() - 2 : 0;
  const std::size_t b_batch = b.rank() > 1 ? b.rank() - 2 : 0;
  p.depth = a.rank() > 1 && transposed.left ? a[a_batch] : a.back();
  if (a.rank() > 1) {
    p.rows = transposed.left ? a.back() : a[a_batch];
    p.a_row = transposed.left ? 1 : a.back();
    p.a_column = transposed.left ? a.back() : 1;
  }
  if (b.rank() > 1) {
    p.columns = transposed.right ? b[b_batch] : b.back();
    p.b_row = transposed.right ? 1 : b.back();
    p.b_column = transposed.right ? b.back() : 1;
  }
  const Shape a_outer(a.dims().first(a_batch));
  const Shape b_outer(b.dims().first(b_batch));
  p.batch = Shape::filled(std::max(a_batch, b_batch), 1);
  for (std::size_t d = 0; d < p.batch.rank(); ++d) {
    const std::size_t from_end = p.batch.rank() - d;
    const std::int64_t x = from_end <= a_batch ? a[a_batch - from_end] : 1;
    p.batch[d] = x != 1 || from_end > b_batch ? x : b[b_batch - from_end];
  }
  p.a_batch = broadcast_strides(a_outer, row_major_strides(a), p.batch);
  p.b_batch = broadcast_strides(b_outer, row_major_strides(b), p.batch);
  return p;
}

}  // namespace quern
