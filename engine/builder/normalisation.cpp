// SPDX-License-Identifier: Apache-2.0
// GraphBuilder: normalisation.
#include "engine/builder/graph_builder_impl.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/lp_norm.h"
#include "graph/ops/softmax.h"

namespace quern {

Operand GraphBuilder::batch_norm(Operand x, Operand scale, Operand bias, Operand mean,
                                 Operand variance, float epsilon) {
  return impl_->emit(BatchNorm{.epsilon = epsilon}, {x, scale, bias, mean, variance});
}
Operand GraphBuilder::layer_norm(Operand x, Operand scale, Operand bias, std::int64_t axis,
                                 float epsilon) {
  return impl_->emit(LayerNorm{axis, epsilon, true}, {x, scale, bias});
}
Operand GraphBuilder::rms_norm(Operand x, Operand scale, std::int64_t axis, float epsilon) {
  return impl_->emit(LayerNorm{axis, epsilon, false}, {x, scale});
}
Operand GraphBuilder::group_norm(Operand x, Operand scale, Operand bias, std::int64_t groups,
                                 float epsilon) {
  if (groups < 1) impl_->fail("group_norm", cat("has ", groups, " groups"));
  return impl_->emit(GroupNorm{groups, epsilon}, {x, scale, bias});
}
Operand GraphBuilder::instance_norm(Operand x, Operand scale, Operand bias, float epsilon) {
  return impl_->emit(GroupNorm{0, epsilon}, {x, scale, bias});
}
Operand GraphBuilder::lrn(Operand x, std::int64_t size, const LrnOptions& o) {
  return impl_->emit(Lrn{size, o.alpha, o.beta, o.bias}, {x});
}
Operand GraphBuilder::lp_norm(Operand x, std::int64_t axis, std::int64_t p) {
  return impl_->emit(LpNorm{.axis = axis, .p = p}, {x});
}
Operand GraphBuilder::softmax(Operand x, std::int64_t axis) {
  return impl_->emit(Softmax{SoftmaxKind::softmax, axis}, {x});
}
Operand GraphBuilder::log_softmax(Operand x, std::int64_t axis) {
  return impl_->emit(Softmax{SoftmaxKind::log_softmax, axis}, {x});
}
Operand GraphBuilder::hardmax(Operand x, std::int64_t axis) {
  return impl_->emit(Softmax{SoftmaxKind::hardmax, axis}, {x});
}

}  // namespace quern
