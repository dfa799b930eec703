// SPDX-License-Identifier: Apache-2.0
// A transposed convolution that moves by single steps is a convolution, for which more and faster
// kernels exist.
#include <algorithm>

#include "graph/ops/conv.h"
#include "graph/ops/reshape.h"
#include "graph/ops/slice.h"
#include "graph/ops/transpose.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

// The dimensions of `v` if all of them are known, and at least 1.
std::optional<Ints> known_dims(const Graph& g, ValueId v) {
  const auto& dims = g.type(v).dims;
  if (!dims) return std::nullopt;
  Ints known;
  for (const Dim& d : *dims) {
    if (!d.known() || d.value() < 1) return std::nullopt;
    known.push_back(d.value());
  }
  return known;
}

// w [groups x c, m, kernel...]  =>  [groups x m, c, kernel...]
Result<ValueId> swap_channels(Graph& g, ValueId w, const Ints& dims, std::int64_t groups) {
  Ints split = {groups, dims[0] / groups};
  split.insert(split.end(), dims.begin() + 1, dims.end());
  Ints order(split.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  std::swap(order[1], order[2]);
  Ints joined = {groups * dims[1], dims[0] / groups};
  joined.insert(joined.end(), dims.begin() + 2, dims.end());
  QUERN_ASSIGN(const ValueId apart, g.add(Reshape{}, {w, add_ints(g, split)}));
  QUERN_ASSIGN(const ValueId swapped, g.add(Transpose{order}, {apart}));
  return g.add(Reshape{}, {swapped, add_ints(g, joined)});
}

// The kernel dimensions of w from the last tap to the first.
Result<ValueId> reverse_kernel(Graph& g, ValueId w, const Ints& dims) {
  Ints starts, ends, axes, steps;
  for (std::size_t d = 2; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    starts.push_back(dims[d] - 1);
    ends.push_back(-dims[d] - 1);
    axes.push_back(static_cast<std::int64_t>(d));
    steps.push_back(-1);
  }
  if (axes.empty()) return w;
  return g.add(Slice{},
               {w, add_ints(g, starts), add_ints(g, ends), add_ints(g, axes), add_ints(g, steps)});
}

// A convolution visits every place of the result, those that few elements reach, too.
bool is_mostly_inside(const Ints& x, const Ints& y) {
  double places = 1;
  for (std::size_t d = 2; d < x.size(); ++d)
    places *= static_cast<double>(y[d]) / static_cast<double>(x[d]);
  return places <= 2;
}

// The window of the convolution; nullopt if it would have to cut something off.
std::optional<Window> window_of_conv(const ConvTranspose& op, const Ints& weights) {
  const auto all = [](const Ints& list, std::int64_t v) {
    return std::ranges::all_of(list, [v](std::int64_t i) { return i == v; });
  };
  const Window& from = op.window;
  const bool has_pads = from.auto_pad == AutoPad::notset && !from.pads.empty();
  if (from.auto_pad != AutoPad::notset && from.auto_pad != AutoPad::valid) return std::nullopt;
  if (!all(from.strides, 1) || !all(op.output_padding, 0) || !op.output_shape.empty())
    return std::nullopt;
  const std::size_t rank = weights.size() - 2;
  if (has_pads && from.pads.size() != 2 * rank) return std::nullopt;
  if (!from.dilations.empty() && from.dilations.size() != rank) return std::nullopt;
  Window to{.dilations = from.dilations};
  to.pads.resize(2 * rank);
  for (std::size_t i = 0; i < 2 * rank; ++i) {
    const std::int64_t dilation = from.dilations.empty() ? 1 : from.dilations[i % rank];
    to.pads[i] = dilation * (weights[2 + i % rank] - 1) - (has_pads ? from.pads[i] : 0);
    if (to.pads[i] < 0) return std::nullopt;
  }
  return to;
}

}  // namespace

// conv_transpose(x, w) by steps of 1, w constant  =>  conv(x, w with channels swapped, reversed)
Result<bool> transposed_conv_to_conv(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const ConvTranspose op = *n.as<ConvTranspose>();
  const auto weights = known_dims(g, n.inputs[1]);
  const auto x = known_dims(g, n.inputs[0]);
  const auto y = known_dims(g, n.outputs[0]);
  if (!weights || !x || !y || !is_constant_expression(g, n.inputs[1]) || !is_mostly_inside(*x, *y))
    return false;
  auto window = window_of_conv(op, *weights);
  if (!window) return false;
  std::vector<ValueId> inputs = n.inputs;
  QUERN_ASSIGN(const ValueId swapped, swap_channels(g, inputs[1], *weights, op.group));
  const Ints dims = {op.group * (*weights)[1], (*weights)[0] / op.group};
  Ints all = dims;
  all.insert(all.end(), weights->begin() + 2, weights->end());
  QUERN_ASSIGN(inputs[1], reverse_kernel(g, swapped, all));
  return replace_keeping_post_ops(g, id, Conv{std::move(*window), op.group}, std::move(inputs));
}

}  // namespace quern::passes
