// SPDX-License-Identifier: Apache-2.0
// GraphBuilder: elementwise operators.
#include "engine/builder/graph_builder_impl.h"
#include "graph/ops/binary.h"
#include "graph/ops/cast.h"
#include "graph/ops/unary.h"
#include "graph/ops/where.h"

namespace quern {

#define QUERN_UNARY(kind)                            \
  Operand GraphBuilder::kind(Operand x) {            \
    return impl_->emit(Unary{UnaryKind::kind}, {x}); \
  }
#define QUERN_UNARY_ALPHA(kind)                             \
  Operand GraphBuilder::kind(Operand x, double alpha) {     \
    return impl_->emit(Unary{UnaryKind::kind, alpha}, {x}); \
  }
#define QUERN_BINARY(kind)                                \
  Operand GraphBuilder::kind(Operand a, Operand b) {      \
    return impl_->emit(Binary{BinaryKind::kind}, {a, b}); \
  }

// clang-format off
QUERN_UNARY(abs) QUERN_UNARY(neg) QUERN_UNARY(sign) QUERN_UNARY(ceil) QUERN_UNARY(floor)
QUERN_UNARY(round) QUERN_UNARY(sqrt) QUERN_UNARY(reciprocal) QUERN_UNARY(exp) QUERN_UNARY(log)
QUERN_UNARY(sin) QUERN_UNARY(cos) QUERN_UNARY(tan) QUERN_UNARY(asin) QUERN_UNARY(acos)
QUERN_UNARY(atan) QUERN_UNARY(sinh) QUERN_UNARY(cosh) QUERN_UNARY(tanh) QUERN_UNARY(asinh)
QUERN_UNARY(acosh) QUERN_UNARY(atanh) QUERN_UNARY(erf) QUERN_UNARY(sigmoid) QUERN_UNARY(relu)
QUERN_UNARY(hard_swish) QUERN_UNARY(softplus) QUERN_UNARY(softsign) QUERN_UNARY(mish)
QUERN_UNARY(gelu) QUERN_UNARY(gelu_tanh) QUERN_UNARY(is_nan) QUERN_UNARY(logical_not)
QUERN_UNARY(bitwise_not)

QUERN_UNARY_ALPHA(leaky_relu) QUERN_UNARY_ALPHA(elu) QUERN_UNARY_ALPHA(celu)
QUERN_UNARY_ALPHA(swish) QUERN_UNARY_ALPHA(thresholded_relu)

QUERN_BINARY(add) QUERN_BINARY(sub) QUERN_BINARY(mul) QUERN_BINARY(div) QUERN_BINARY(pow)
QUERN_BINARY(mod) QUERN_BINARY(fmod) QUERN_BINARY(min) QUERN_BINARY(max) QUERN_BINARY(prelu)
QUERN_BINARY(logical_and) QUERN_BINARY(logical_or) QUERN_BINARY(logical_xor)
QUERN_BINARY(bitwise_and) QUERN_BINARY(bitwise_or) QUERN_BINARY(bitwise_xor)
QUERN_BINARY(shift_left) QUERN_BINARY(shift_right) QUERN_BINARY(equal) QUERN_BINARY(less)
QUERN_BINARY(less_equal) QUERN_BINARY(greater) QUERN_BINARY(greater_equal)
// clang-format on

#undef QUERN_UNARY
#undef QUERN_UNARY_ALPHA
#undef QUERN_BINARY

                                                                            Operand
    GraphBuilder::selu(Operand x, double alpha, double gamma) {
  return impl_->emit(Unary{UnaryKind::selu, alpha, gamma}, {x});
}
Operand GraphBuilder::hard_sigmoid(Operand x, double slope, double offset) {
  return impl_->emit(Unary{UnaryKind::hard_sigmoid, slope, offset}, {x});
}
Operand GraphBuilder::shrink(Operand x, double lambd, double bias) {
  return impl_->emit(Unary{UnaryKind::shrink, lambd, bias}, {x});
}
Operand GraphBuilder::clip(Operand x, double low, double high) {
  return impl_->emit(Unary{UnaryKind::clip, low, high}, {x});
}
Operand GraphBuilder::is_inf(Operand x, const IsInfOptions& o) {
  return impl_->emit(
      Unary{UnaryKind::is_inf, o.detect_negative ? 1.0 : 0.0, o.detect_positive ? 1.0 : 0.0}, {x});
}
Operand GraphBuilder::where(Operand condition, Operand x, Operand y) {
  return impl_->emit(Where{}, {condition, x, y});
}
Operand GraphBuilder::cast(Operand x, DType to) {
  return impl_->emit(Cast{.to = to}, {x});
}
Operand GraphBuilder::bit_cast(Operand x, DType to) {
  return impl_->emit(BitCast{.to = to}, {x});
}

}  // namespace quern
