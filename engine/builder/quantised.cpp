// SPDX-License-Identifier: Apache-2.0
// GraphBuilder: quantised operators.
#include "engine/builder/graph_builder_impl.h"
#include "engine/builder/window.h"
#include "graph/ops/quantised_products.h"
#include "graph/ops/quantize.h"

namespace quern {

Operand GraphBuilder::quantize(Operand x, Operand scale, Operand zero_point,
                               const QuantizeOptions& o) {
  Quantize op{.axis = o.axis, .block_size = o.block_size, .to = o.to};
  const auto zero = impl_->value("quantize", zero_point);
  if (zero && *zero != no_value) op.to = impl_->graph.type(*zero).dtype;
  return impl_->emit(op, {x, scale, zero_point});
}
Operand GraphBuilder::dequantize(Operand x, Operand scale, Operand zero_point, std::int64_t axis,
                                 std::int64_t block_size) {
  return impl_->emit(Dequantize{axis, block_size}, {x, scale, zero_point});
}
std::array<Operand, 3> GraphBuilder::dynamic_quantize(Operand x) {
  const Operands y = impl_->emit(DynamicQuantize{}, {x}, 3);
  return {y[0], y[1], y[2]};
}
Operand GraphBuilder::conv_integer(Operand x, Operand w, Operand x_zero_point, Operand w_zero_point,
                                   const ConvOptions& o) {
  return impl_->emit(ConvInteger{window_of(*impl_, "conv_integer", o), o.group},
                     {x, w, x_zero_point, w_zero_point});
}
Operand GraphBuilder::matmul_integer(Operand a, Operand b, Operand a_zero_point,
                                     Operand b_zero_point) {
  return impl_->emit(MatMulInteger{}, {a, b, a_zero_point, b_zero_point});
}
Operand GraphBuilder::qlinear_conv(Operands operands, const ConvOptions& o) {
  return impl_->emit(QLinearConv{window_of(*impl_, "qlinear_conv", o), o.group}, operands);
}
Operand GraphBuilder::qlinear_matmul(Operands operands) {
  return impl_->emit(QLinearMatMul{}, operands);
}

}  // namespace quern
