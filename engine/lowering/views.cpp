// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/views.h"

#include "graph/ops/reshape.h"
#include "graph/ops/slice.h"
#include "graph/ops/split.h"
#include "graph/ops/tile.h"
#include "graph/ops/transpose.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/slice.h"

namespace quern::lowering {
namespace {

using Views = std::optional<std::vector<View>>;

Views transpose(const Transpose& op, const TensorDesc& in) {
  if (in.layout.block) return std::nullopt;
  View v;
  const std::size_t rank = in.shape.rank();
  for (std::size_t i = 0; i < rank; ++i)
    v.layout.strides.push_back(in.layout.strides[source_of(op, i, rank)]);
  return std::vector{v};
}

Views reshape(const Shape& to, const TensorDesc& in) {
  View v;
  if (!reshape_in_place(in, to, v.layout)) return std::nullopt;
  return std::vector{v};
}

// The operands are constants of the graph; their bytes may be unaligned.
Views slice(const Graph& g, const Node& n, const TensorDesc& in) {
  if (in.layout.block) return std::nullopt;
  std::vector<Tensor> operands(1);
  std::vector<TensorView> inputs = {{{in.dtype, in.shape}, nullptr}};
  for (std::size_t i = 1; i < n.inputs.size(); ++i) {
    operands.emplace_back();
    if (n.inputs[i] != no_value) {
      const Tensor& t = g.value(n.inputs[i]).constant;
      auto copy = Tensor::copy_of(t.type(), {t.data(), t.bytes()});
      if (!t.valid() || !copy) return std::nullopt;
      operands.back() = std::move(*copy);
    }
    inputs.push_back(operands.back().view());
  }
  const auto steps = slice_steps(in.shape, inputs);
  const Shape shape = *g.type(n.outputs[0]).shape();
  View v;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (steps[d].step < 0 && shape[d] > 1) return std::nullopt;
    v.offset += shape.elements() ? steps[d].start * in.layout.strides[d] : 0;
    v.layout.strides.push_back(shape[d] > 1 ? steps[d].step * in.layout.strides[d]
                                            : in.layout.strides[d]);
  }
  return std::vector{v};
}

Views split(const Graph& g, const Node& n, const TensorDesc& in) {
  if (in.layout.block) return std::nullopt;
  const std::size_t axis = positive_axis(n.as<Split>()->axis, in.shape.rank());
  const auto parts = g.infer(n.op, n.inputs, n.outputs.size(), n.name);  // unused outputs too
  if (!parts) return std::nullopt;
  std::vector<View> views;
  std::int64_t at = 0;
  for (const ValueType& part : *parts) {
    views.push_back({at * in.layout.strides[axis], in.layout});
    at += (*part.shape())[axis];
  }
  return views;
}

Views expand(const Shape& to, const TensorDesc& in) {
  if (in.layout.block) return std::nullopt;
  return std::vector{View{0, {broadcast_strides(in.shape, in.layout.strides, to), 0}}};
}

}  // namespace

Views views_of(const Graph& g, NodeId id, const TensorDesc& input) {
  const Node& n = g.node(id);
  if (!n.post_ops.empty() || n.outputs.empty()) return std::nullopt;
  if (n.as<Split>()) return split(g, n, input);  // of which any output may be unused
  if (n.outputs[0] == no_value) return std::nullopt;
  if (n.as<Identity>()) return std::vector{View{0, input.layout}};
  if (g.def(id).is(OpTrait::view)) return reshape(*g.type(n.outputs[0]).shape(), input);
  if (const auto* t = n.as<Transpose>()) return transpose(*t, input);
  if (n.as<Slice>()) return slice(g, n, input);
  if (n.as<Expand>()) return expand(*g.type(n.outputs[0]).shape(), input);
  return std::nullopt;
}

}  // namespace quern::lowering
