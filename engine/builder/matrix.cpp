// SPDX-License-Identifier: Apache-2.0
// GraphBuilder: products of matrices, reductions.
#include "engine/builder/graph_builder_impl.h"
#include "engine/builder/options.h"
#include "graph/ops/attention.h"
#include "graph/ops/cumulative.h"
#include "graph/ops/einsum.h"
#include "graph/ops/inverse.h"
#include "graph/ops/matmul.h"
#include "graph/ops/reduce.h"

namespace quern {

Operand GraphBuilder::reduce(std::string_view kind, Operand x, Integers axes,
                             const ReduceOptions& o) {
  const auto k = enumerator<ReduceKind>(*impl_, "reduce", kind);
  return impl_->emit(Reduce{.kind = k, .keepdims = o.keepdims}, {x, impl_->integers(axes)});
}
Operand GraphBuilder::argmax(Operand x, std::int64_t axis, const ReduceOptions& o) {
  return impl_->emit(ArgReduce{.is_max = true, .axis = axis, .keepdims = o.keepdims}, {x});
}
Operand GraphBuilder::argmin(Operand x, std::int64_t axis, const ReduceOptions& o) {
  return impl_->emit(ArgReduce{.is_max = false, .axis = axis, .keepdims = o.keepdims}, {x});
}
Operand GraphBuilder::cumsum(Operand x, std::int64_t axis, const CumulativeOptions& o) {
  return impl_->emit(Cumulative{CumulativeKind::sum, o.exclusive, o.reverse},
                     {x, scalar(static_cast<double>(axis), DType::i64)});
}
Operand GraphBuilder::cumprod(Operand x, std::int64_t axis, const CumulativeOptions& o) {
  return impl_->emit(Cumulative{CumulativeKind::prod, o.exclusive, o.reverse},
                     {x, scalar(static_cast<double>(axis), DType::i64)});
}

Operand GraphBuilder::matmul(Operand a, Operand b, const MatMulOptions& o) {
  return impl_->emit(MatMul{o.transpose_a, o.transpose_b, o.alpha}, {a, b});
}
Operand GraphBuilder::einsum(std::string equation, Operands operands) {
  return impl_->emit(Einsum{std::move(equation)}, operands);
}
Operand GraphBuilder::det(Operand x) {
  return impl_->emit(Det{}, {x});
}
Operand GraphBuilder::attention(Operand q, Operand k, Operand v, const AttentionOptions& o) {
  return impl_->emit(Attention{.scale = o.scale}, {q, k, v, o.mask});
}

}  // namespace quern
