// SPDX-License-Identifier: Apache-2.0
// Padding in front of a sliding window becomes the window's own.
#include <algorithm>
#include <limits>

#include "graph/ops/conv.h"
#include "graph/ops/pad.h"
#include "graph/ops/pool.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

constexpr std::int64_t max_pad = std::int64_t{1} << 31;  // sums of two stay numbers

// Pads of the spatial dimensions, all begins, then all ends, when the node pads nothing else.
std::optional<Ints> spatial_pads(const Graph& g, const Node& n) {
  const auto& dims = g.type(n.inputs[0]).dims;
  const auto pads = ints(g, n.inputs[1]);
  if (!dims || dims->size() < 3 || !pads) return std::nullopt;
  const std::size_t rank = dims->size();
  Ints axes(rank);
  for (std::size_t i = 0; i < rank; ++i) axes[i] = static_cast<std::int64_t>(i);
  if (has_input(n, 3)) {
    const auto given = ints(g, n.inputs[3]);
    if (!given) return std::nullopt;
    axes = *given;
  }
  if (pads->size() != 2 * axes.size()) return std::nullopt;
  Ints spatial(2 * (rank - 2), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = positive_axis(g, n.inputs[0], axes[i]);
    const std::int64_t begin = (*pads)[i];
    const std::int64_t end = (*pads)[axes.size() + i];
    if (!axis || begin < 0 || end < 0 || begin > max_pad || end > max_pad) return std::nullopt;
    if (begin == 0 && end == 0) continue;
    if (*axis < 2) return std::nullopt;
    spatial[*axis - 2] = begin;
    spatial[*axis - 2 + rank - 2] = end;
  }
  return spatial;
}

// The value of a constant Pad.
std::optional<double> pad_value(const Graph& g, const Node& n) {
  if (n.as<Pad>()->mode != PadMode::constant) return std::nullopt;
  return has_input(n, 2) ? splat(g, n.inputs[2]) : 0;
}

bool has_explicit_pads(const Window& w) {
  return w.auto_pad == AutoPad::notset || w.auto_pad == AutoPad::valid;
}

bool has_no_pads(const Window& w) {
  return w.auto_pad == AutoPad::valid ||
         std::ranges::all_of(w.pads, [](std::int64_t p) { return p == 0; });
}

Window with_pads(Window w, const Ints& more) {
  if (w.pads.empty() || w.auto_pad == AutoPad::valid) w.pads.assign(more.size(), 0);
  w.auto_pad = AutoPad::notset;
  for (std::size_t i = 0; i < more.size() && i < w.pads.size(); ++i) w.pads[i] += more[i];
  return w;
}

// The pool over what is padded by `pads` with `value`; nullopt if the result would differ.
std::optional<Pool> padded_pool(Pool op, double value, const Ints& pads) {
  if (op.global || op.ceil_mode || !has_explicit_pads(op.window)) return std::nullopt;
  const double neutral = op.kind == PoolKind::max ? -std::numeric_limits<double>::infinity() : 0;
  if (value != neutral) return std::nullopt;
  if (op.kind == PoolKind::average && !op.count_include_pad) {
    if (!has_no_pads(op.window)) return std::nullopt;
    op.count_include_pad = true;
  }
  op.window = with_pads(op.window, pads);
  return op;
}

}  // namespace

// conv(pad(x, 0))  =>  conv(x) that pads
Result<bool> absorb_conv_pads(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Node* pad = bare<Pad>(g, n.inputs[0]);
  Conv op = *n.as<Conv>();
  if (!pad || !has_explicit_pads(op.window) || pad_value(g, *pad) != 0.0) return false;
  const auto pads = spatial_pads(g, *pad);
  if (!pads) return false;
  op.window = with_pads(op.window, *pads);
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = pad->inputs[0];
  return replace_keeping_post_ops(g, id, op, std::move(inputs));
}

// max_pool(pad(x, -inf)), average_pool(pad(x, 0)), lp_pool(pad(x, 0))  =>  the pool that pads; an
// average that counts the padding
Result<bool> absorb_pool_pads(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Node* pad = bare<Pad>(g, n.inputs[0]);
  const bool has_indices = n.outputs.size() > 1 && n.outputs[1] != no_value;
  if (!pad || has_indices || !is_number_float(g, n.outputs[0])) return false;
  const auto value = pad_value(g, *pad);
  const auto pads = value ? spatial_pads(g, *pad) : std::nullopt;
  const auto op = pads ? padded_pool(*n.as<Pool>(), *value, *pads) : std::nullopt;
  if (!op) return false;
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = pad->inputs[0];
  return replace_keeping_post_ops(g, id, *op, std::move(inputs));
}

}  // namespace quern::passes
