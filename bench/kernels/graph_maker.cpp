// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernels.h"
#include "engine/vocabulary/text_util.h"
#include "graph/text.h"
#include "kernels/contract/kernel.h"
#include "tools/inputs.h"

namespace quern::bench {

GraphMaker::GraphMaker() : graph_(std::make_unique<Graph>(builtin_ops())) {}

ValueId GraphMaker::input(DType dtype, const Shape& shape) {
  return graph_->add_input(cat("x", graph_->inputs().size()), ValueType(TensorType{dtype, shape}));
}

ValueId GraphMaker::weights(DType dtype, const Shape& shape) {
  auto t = tools::generate_tensor({dtype, shape}, "", graph_->value_count());
  if (t) return graph_->add_constant(*std::move(t));
  if (status_.ok()) status_ = std::move(t).error();
  return graph_->add_constant(Tensor());
}

ValueId GraphMaker::node(std::string_view op, std::string_view attributes,
                         std::vector<ValueId> inputs) {
  auto made = make_op(op, attributes);
  if (made) return node(*std::move(made), std::move(inputs));
  if (status_.ok()) status_ = std::move(made).error();
  return no_value;
}

ValueId GraphMaker::node(Op op, std::vector<ValueId> inputs) {
  if (!status_.ok()) return no_value;
  auto output = graph_->add(std::move(op), std::move(inputs));
  if (output) return *output;
  status_ = std::move(output).error();
  return no_value;
}

Result<Model> GraphMaker::finish(ValueId output) && {
  QUERN_TRY(std::move(status_));
  graph_->add_output(output, "y");
  return Model(std::move(graph_), {});
}

}  // namespace quern::bench
