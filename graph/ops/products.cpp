// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/products.h"

#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/conv.h"
#include "graph/ops/matmul.h"

namespace quern {
namespace {

// An operand with its two matrix dimensions at the end, added where it is a vector.
Dims as_matrix(Dims dims, Factor factor, Transposed transposed) {
  if (dims.size() == 1) {
    dims.insert(factor == Factor::left ? dims.begin() : dims.end(), Dim(1));
  } else if (transposed.of(factor)) {
    std::swap(dims[dims.size() - 2], dims[dims.size() - 1]);
  }
  return dims;
}

}  // namespace

Transposed transposed_in(const MatMul& op) {
  return {op.transpose_a, op.transpose_b};
}

Result<std::optional<Dims>> infer_product(const InferContext& c, std::size_t i, std::size_t j,
                                          Transposed transposed) {
  for (std::size_t k : {i, j})
    if (c.dims(k) && c.dims(k)->empty()) return c.error(cat(c.describe(k), " is not a matrix"));
  if (!c.dims(i) || !c.dims(j)) return std::optional<Dims>();
  const Dims a = as_matrix(*c.dims(i), Factor::left, transposed);
  const Dims b = as_matrix(*c.dims(j), Factor::right, transposed);
  const Dim depth = a.back();
  const Dim rows = b[b.size() - 2];
  if (depth.known() && rows.known() && depth != rows)
    return c.error(cat(c.describe(i), " has ", depth.value(), " columns, ", c.describe(j), " has ",
                       rows.value(), " rows"));
  auto y = broadcast(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2));
  if (!y)
    return c.error(cat(c.describe(i), " and ", c.describe(j), " differ in the batch dimensions"));
  if (c.dims(i)->size() > 1) y->push_back(a[a.size() - 2]);
  if (c.dims(j)->size() > 1) y->push_back(b.back());
  return y;
}

Op with_result(const Op& op, ProductType type) {
  const bool is_f32 = type == ProductType::f32;
  if (const auto* conv = op.as<Conv>()) {
    Conv made = *conv;
    made.f32_result = is_f32;
    return made;
  }
  MatMul made = *op.as<MatMul>();
  made.f32_result = is_f32;
  return made;
}

Status want_16bit_for_f32(const InferContext& c) {
  if (c.dtype(0) == DType::f16 || c.dtype(0) == DType::bf16) return {};
  return c.error(cat(c.describe(0), " must be of f16 or bf16 for a result of f32"));
}

}  // namespace quern
