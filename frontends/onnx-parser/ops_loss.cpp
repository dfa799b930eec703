// SPDX-License-Identifier: Apache-2.0
// Loss functions, in primitives.
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/gather.h"
#include "graph/ops/reduce.h"
#include "graph/ops/softmax.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

enum class Reduction : std::uint8_t { none, mean, sum };

struct Loss {
  Reduction reduction = Reduction::mean;
  bool ignores = false;
  std::int64_t ignore_index = 0;
};

Loss read_loss(NodeImport& n) {
  return {.reduction = n.choice<Reduction>(
              "reduction", "mean",
              {{"none", Reduction::none}, {"mean", Reduction::mean}, {"sum", Reduction::sum}}),
          .ignores = n.has_attribute("ignore_index"),
          .ignore_index = n.integer("ignore_index", 0)};
}

ValueId total(NodeImport& n, ReduceKind kind, ValueId x) {
  return n.add(Reduce{.kind = kind, .keepdims = false}, {x});
}

// -log_probability[sample, target], times weight[target], 0 for the ignored target; the mean is
// over the sum of the weights that took part.
ValueId negative_log_likelihood(NodeImport& n, const Loss& loss, ValueId log_probability) {
  ValueId target = n.in(1);
  ValueId ignored = no_value;
  const ValueId zero = n.scalar_like(log_probability, 0);
  if (loss.ignores) {
    const ValueId index = n.scalar_like(target, static_cast<double>(loss.ignore_index));
    ignored = binary(n, BinaryKind::equal, target, index);
    target = where(n, ignored, n.scalar_like(target, 0), target);
  }
  const ValueId picked = n.add(Gather{.kind = GatherKind::elements, .axis = 1},
                               {log_probability, unsqueeze(n, target, {1})});
  ValueId y = unary(n, UnaryKind::neg, squeeze(n, picked, {1}));
  ValueId weight = n.has(2) ? gather(n, n.in(2), target, 0) : no_value;
  if (weight != no_value) y = mul(n, y, weight);
  if (loss.ignores) {
    y = where(n, ignored, zero, y);
    weight = where(n, ignored, zero, weight == no_value ? n.scalar_like(zero, 1) : weight);
  }
  if (loss.reduction == Reduction::none) return y;
  if (loss.reduction == Reduction::sum) return total(n, ReduceKind::sum, y);
  if (weight == no_value) return total(n, ReduceKind::mean, y);
  const ValueId sum = total(n, ReduceKind::sum, y);
  return div(n, sum, total(n, ReduceKind::sum, weight));
}

void import_negative_log_likelihood(NodeImport& n) {
  const Loss loss = read_loss(n);
  n.set(0, negative_log_likelihood(n, loss, n.in(0)));
}

void import_softmax_cross_entropy(NodeImport& n) {
  const Loss loss = read_loss(n);
  const ValueId log_probability =
      n.add(Softmax{.kind = SoftmaxKind::log_softmax, .axis = 1}, {n.in(0)});
  n.set(0, negative_log_likelihood(n, loss, log_probability));
  n.set(1, log_probability);
}

constexpr OpRow loss_rows[] = {
    {"NegativeLogLikelihoodLoss", 12, import_negative_log_likelihood, {2, 3}},
    {"SoftmaxCrossEntropyLoss", 12, import_softmax_cross_entropy, {2, 3}, {1, 2}},
};

}  // namespace

OpRows loss_ops() {
  return loss_rows;
}

}  // namespace quern::onnx
