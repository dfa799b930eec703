// SPDX-License-Identifier: Apache-2.0
// The rules by family: each sets the bounds of a node's results from those of its operands.
#pragma once

#include <initializer_list>

#include "tools/oracle/values.h"

namespace quern {
struct AffineGrid;
struct ArgReduce;
struct Attention;
struct CachedAttention;
struct BatchNorm;
struct Binary;
struct BlockQuantizedMatMul;
struct Cast;
struct Col2Im;
struct Compress;
struct Conv;
struct ConvInteger;
struct ConvTranspose;
struct Cumulative;
struct DeformConv;
struct Dequantize;
struct Det;
struct Dft;
struct DynamicQuantize;
struct Einsum;
struct GridSample;
struct GroupNorm;
struct Inverse;
struct LayerNorm;
struct LpNorm;
struct Lrn;
struct MatMul;
struct MatMulInteger;
struct MelWeightMatrix;
struct NonZero;
struct PairwiseCoupling;
struct Pool;
struct QLinearConv;
struct QLinearMatMul;
struct Quantize;
struct Random;
struct Range;
struct Reduce;
struct Resize;
struct Rnn;
struct RoiPool;
struct Scatter;
struct Softmax;
struct SquaredDistance;
struct Stft;
struct TopK;
struct TreeEnsemble;
struct Unary;
struct Where;
}  // namespace quern

namespace quern::tools::rules {

// rules_elementwise.cpp
Status bound(const Unary& op, Evaluated& e);
Status bound(const Binary& op, Evaluated& e);
Status bound(const Where& op, Evaluated& e);
Status bound(const Cast& op, Evaluated& e);

// rules_movement.cpp
Status move(Evaluated& e, std::initializer_list<std::size_t> data);
Status move_all(Evaluated& e);
Status exact_or_undetermined(Evaluated& e);
// Of an operator that only its host knows: floats may be rounded in any way.
Status of_host(Evaluated& e);
Status bound(const Scatter& op, Evaluated& e);
Status bound(const Range& op, Evaluated& e);
Status bound(const Compress& op, Evaluated& e);

// rules_linear.cpp
Status bound(const Conv& op, Evaluated& e);
Status bound(const ConvTranspose& op, Evaluated& e);
Status bound(const MatMul& op, Evaluated& e);
Status bound(const Einsum& op, Evaluated& e);
Status bound(const Det& op, Evaluated& e);
Status bound(const PairwiseCoupling& op, Evaluated& e);
Status bound(const SquaredDistance& op, Evaluated& e);
Status bound(const TreeEnsemble& op, Evaluated& e);
Status bound(const Inverse& op, Evaluated& e);
Status bound(const Col2Im& op, Evaluated& e);
Status bound(const Pool& op, Evaluated& e);
Status bound(const Dft& op, Evaluated& e);
Status bound(const Stft& op, Evaluated& e);

// rules_reduction.cpp
Status bound(const Reduce& op, Evaluated& e);
Status bound(const Cumulative& op, Evaluated& e);
Status bound(const ArgReduce& op, Evaluated& e);
Status bound(const TopK& op, Evaluated& e);
Status bound(const NonZero& op, Evaluated& e);

// rules_norm.cpp
Status bound(const Softmax& op, Evaluated& e);
Status bound(const BatchNorm& op, Evaluated& e);
Status bound(const LayerNorm& op, Evaluated& e);
Status bound(const GroupNorm& op, Evaluated& e);
Status bound(const Lrn& op, Evaluated& e);
Status bound(const LpNorm& op, Evaluated& e);

// rules_attention.cpp, rules_recurrent.cpp
Status bound(const Attention& op, Evaluated& e);
Status bound(const CachedAttention& op, Evaluated& e);
Status bound(const Rnn& op, Evaluated& e);

// rules_block_quantized.cpp
Status bound(const BlockQuantizedMatMul& op, Evaluated& e);

// rules_quantized.cpp
Status bound(const Quantize& op, Evaluated& e);
Status bound(const Dequantize& op, Evaluated& e);
Status bound(const DynamicQuantize& op, Evaluated& e);
Status bound(const ConvInteger& op, Evaluated& e);
Status bound(const MatMulInteger& op, Evaluated& e);
Status bound(const QLinearConv& op, Evaluated& e);
Status bound(const QLinearMatMul& op, Evaluated& e);

// rules_resample.cpp
Status bound(const Resize& op, Evaluated& e);
Status bound(const GridSample& op, Evaluated& e);
Status bound(const AffineGrid& op, Evaluated& e);
Status bound(const DeformConv& op, Evaluated& e);
Status bound(const RoiPool& op, Evaluated& e);
Status bound(const Random& op, Evaluated& e);
Status bound(const MelWeightMatrix& op, Evaluated& e);

// ---- what they share ---------------------------------------------------------------------------

// The first result of `op` over f64 operands.
Result<Numbers> through(Evaluated& e, const Op& op, const std::vector<Tensor>& operands);
// Tensors of an operand's bound, size and magnitude, for its readers.
Result<Tensor> bound_tensor(const Traced& t);
Result<Tensor> size_tensor(const Traced& t);       // |value| + bound
Result<Tensor> magnitude_tensor(const Traced& t);  // at least that
Result<Tensor> absolute_tensor(const Traced& t);   // |value|
// f(i) for each element.
template <class F>
Result<Tensor> tensor_from(const Traced& t, F&& f) {
  Numbers all(static_cast<std::size_t>(t.elements()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = f(i);
  return number_tensor(t.value.shape(), all);
}

// For each element of a tensor of shape `to`, the element of one of shape `from` that broadcasts
// to it.
std::vector<std::size_t> broadcast_indices(const Shape& from, const Shape& to);

// A dimension between those before and those behind it.
struct Rows {
  std::int64_t outer = 1;
  std::int64_t length = 1;
  std::int64_t inner = 1;

  // f(start, step) for each row: element i of it is start + i * step.
  template <class F>
  void each(F&& f) const {
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i)
        f(static_cast<std::size_t>(o * length * inner + i), static_cast<std::size_t>(inner));
  }
};
Rows rows_along(const Shape& shape, std::int64_t axis);

}  // namespace quern::tools::rules
