// SPDX-License-Identifier: Apache-2.0
// com.microsoft: AttnLSTM, an LSTM whose input has beside it what it attended to in a memory the
// step before. Source: docs/ContribOperators.md of ONNX Runtime, and its kernel where the text says
// nothing.
//
// steps L, batch B, input I, hidden H, attention state A, memory M of depth D, attention T.
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/loop_body.h"
#include "frontends/onnx-parser/op_table.h"
#include "frontends/onnx-parser/recurrent_activations.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/control_flow.h"
#include "graph/ops/in_range.h"
#include "graph/ops/matmul.h"
#include "graph/ops/rearrange.h"
#include "graph/ops/slice.h"
#include "graph/ops/softmax.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

enum class Way : std::uint8_t { forward, reverse, both };

// One direction of the layer.
struct AttnLayer {
  std::vector<Unary> activations;  // f, g, h
  std::int64_t hidden = 0;
  float clip = 0;
  bool couples = false;  // the forget gate is what the input gate leaves

  ValueId gates = no_value;      // of the inputs, with the bias: [L, B, 4 H]
  ValueId state = no_value;      // weights of the attention state: [4 H, A]
  ValueId recurrent = no_value;  // [4 H, H]
  ValueId peepholes = no_value;  // [3 H]
  ValueId query = no_value;      // [H, T]
  ValueId keys = no_value;       // [B, M, T]
  ValueId scores = no_value;     // [T, 1]
  ValueId memory = no_value;     // [B, M, D]
  ValueId seen = no_value;       // bool [B, M]: no_value: all
  ValueId mixed = no_value;      // [H + D, A]; no_value: the state is what was attended to
  ValueId lengths = no_value;    // i64 [B, 1]; no_value: L

  AttnLayer inside(NodeImport& body) const {
    AttnLayer l = *this;
    for (ValueId AttnLayer::*v :
         {&AttnLayer::gates, &AttnLayer::state, &AttnLayer::recurrent, &AttnLayer::peepholes,
          &AttnLayer::query, &AttnLayer::keys, &AttnLayer::scores, &AttnLayer::memory,
          &AttnLayer::seen, &AttnLayer::mixed, &AttnLayer::lengths})
      l.*v = body.from_outside(l.*v);
    return l;
  }
};

ValueId product(NodeImport& n, ValueId a, ValueId b) {
  return n.add(MatMul{}, {a, b});
}

ValueId product_transposed(NodeImport& n, ValueId a, ValueId b) {
  return n.add(MatMul{.transpose_b = true}, {a, b});
}

struct Cell {
  ValueId hidden, cell;  // [B, H]
};

// The LSTM's step; the gates z [B, 4 H] are input, output, forget and cell.
Cell step(NodeImport& n, const AttnLayer& l, ValueId z, ValueId cell) {
  const auto gate = [&](std::int64_t i) {
    return slice(n, z, i * l.hidden, (i + 1) * l.hidden, 1);
  };
  const auto activated = [&](std::size_t i, ValueId x) {
    if (l.clip > 0) x = unary(n, UnaryKind::clip, x, -l.clip, l.clip);
    return n.add(l.activations[i], {x});
  };
  const auto peeped = [&](ValueId x, ValueId c, std::int64_t i) {
    if (l.peepholes == no_value) return x;
    const ValueId weights = slice(n, l.peepholes, i * l.hidden, (i + 1) * l.hidden, 0);
    return add(n, x, mul(n, c, weights));
  };
  const ValueId in = activated(0, peeped(gate(0), cell, 0));
  const ValueId one = n.scalar_like(in, 1);
  const ValueId forget = l.couples ? sub(n, one, in) : activated(0, peeped(gate(2), cell, 2));
  const ValueId fresh = mul(n, in, activated(1, gate(3)));
  const ValueId next = add(n, mul(n, forget, cell), fresh);
  const ValueId out = activated(0, peeped(gate(1), next, 1));
  return {mul(n, out, n.add(l.activations[2], {next})), next};
}

// What the hidden state attends to: [B, A].
ValueId attended(NodeImport& n, const AttnLayer& l, ValueId hidden) {
  const ValueId query = unsqueeze(n, product(n, hidden, l.query), {1});
  const ValueId energy = unary(n, UnaryKind::tanh, add(n, l.keys, query));
  ValueId scores = squeeze(n, product(n, energy, l.scores), {2});
  const ValueId nothing = n.scalar_like(scores, -std::numeric_limits<double>::infinity());
  if (l.seen != no_value) scores = where(n, l.seen, scores, nothing);
  const ValueId shares = unsqueeze(n, n.add(Softmax{.axis = 1}, {scores}), {1});
  const ValueId context = squeeze(n, product(n, shares, l.memory), {1});
  return l.mixed == no_value ? context : product(n, concat(n, {hidden, context}, 1), l.mixed);
}

// Hidden state, cell and attention state of the next step, and what the step hands out.
std::vector<ValueId> loop_outputs(NodeImport& b, const AttnLayer& outer) {
  const AttnLayer l = outer.inside(b);
  const ValueId at = b.body_input(0), hidden = b.body_input(2), cell = b.body_input(3);
  const ValueId state = b.body_input(4);
  ValueId z = gather(b, l.gates, at, 0);
  z = add(b, z, product_transposed(b, state, l.state));
  z = add(b, z, product_transposed(b, hidden, l.recurrent));
  Cell next = step(b, l, z, cell);
  ValueId out = next.hidden;
  if (l.lengths != no_value) {
    const ValueId goes_on = binary(b, BinaryKind::less, at, l.lengths);
    const ValueId zero = b.scalar_like(out, 0);
    out = where(b, goes_on, out, zero);
    next.hidden = where(b, goes_on, next.hidden, hidden);
    next.cell = where(b, goes_on, next.cell, cell);
  }
  return {b.body_input(1), next.hidden, next.cell, attended(b, l, next.hidden), out};
}

// ---- operands

// Input i of direction d, without the dimension of directions.
ValueId part(NodeImport& n, std::size_t i, std::int64_t d) {
  return n.has(i) ? squeeze(n, slice(n, n.in(i), d, d + 1, 0), {0}) : no_value;
}

ValueId columns(NodeImport& n, ValueId x, ValueId from, ValueId to) {
  const ValueId axis = n.ints_constant({1});
  return n.add(Slice{}, {x, from, to, axis});
}

// i64 [B]; L for each sequence where none are given.
ValueId lengths_of(NodeImport& n) {
  if (n.has(4)) return cast(n, n.in(4), DType::i64);
  const ValueId steps = dims_of(n, n.in(0), 0, 1);
  return expand_to(n, steps, dims_of(n, n.in(0), 1, 2));
}

void read_memory(NodeImport& n, AttnLayer& l, std::int64_t d) {
  l.memory = n.in(11);
  l.query = part(n, 8, d);
  l.keys = product(n, l.memory, part(n, 9, d));
  l.scores = unsqueeze(n, part(n, 10, d), {1});
  l.mixed = part(n, 13, d);
  if (!n.has(12)) return;
  const ValueId one = n.scalar(DType::i64, 1);
  const ValueId most = dims_of(n, l.memory, 1, 2);
  const ValueId given = cast(n, n.in(12), DType::i64);
  const ValueId lengths = n.add(InRange{.what = "memory_seq_lens"}, {given, one, most});
  const ValueId place = counting(n, scalar_dim(n, l.memory, 1));
  l.seen = binary(n, BinaryKind::less, place, unsqueeze(n, lengths, {1}));
}

void read_weights(NodeImport& n, AttnLayer& l, std::int64_t d, ValueId x) {
  const ValueId weights = part(n, 1, d);
  const ValueId zero = n.ints_constant({0});
  const ValueId width = dims_of(n, x, 2, 3);
  const ValueId end = n.ints_constant({std::numeric_limits<std::int64_t>::max()});
  l.gates = product_transposed(n, x, columns(n, weights, zero, width));
  l.state = columns(n, weights, width, end);
  l.recurrent = part(n, 2, d);
  l.peepholes = part(n, 7, d);
  if (!n.has(3)) return;
  const ValueId bias = part(n, 3, d);
  const ValueId own = slice(n, bias, 0, 4 * l.hidden, 0);
  l.gates = add(n, l.gates, add(n, own, slice(n, bias, 4 * l.hidden, 8 * l.hidden, 0)));
}

// ---- the layer

struct Outputs {
  ValueId all, hidden, cell;  // [L, 1, B, H], [1, B, H] each
};

Outputs run_direction(NodeImport& n, AttnLayer l, std::int64_t d, Way way) {
  const ValueId lengths = lengths_of(n);
  const bool turns = way == Way::reverse;
  const ValueId x = turns ? n.add(ReverseSequence{}, {n.in(0), lengths}) : n.in(0);
  read_weights(n, l, d, x);
  read_memory(n, l, d);
  if (n.has(4)) l.lengths = unsqueeze(n, lengths, {1});
  const ValueId batch = dims_of(n, n.in(0), 1, 2);
  const ValueId width = n.ints_constant({l.hidden});
  const DType type = n.dtype(n.in(0));
  const ValueId nothing = filled(n, join_dims(n, {batch, width}), type, 0);
  const ValueId no_state = filled(n, join_dims(n, {batch, dims_of(n, l.state, 1, 2)}), type, 0);
  const ValueId hidden = n.has(5) ? part(n, 5, d) : nothing;
  const ValueId cell = n.has(6) ? part(n, 6, d) : nothing;
  std::vector<ValueId> captures;
  const MakeBody make = [&](std::span<const ValueType> types, std::vector<ValueId>& read) {
    return n.written_body(types, read, [&](NodeImport& b) { return loop_outputs(b, l); });
  };
  if (!n.ok()) return {no_value, no_value, no_value};
  const std::vector<ValueType> types = {ValueType(DType::i64, Dims()),
                                        ValueType(DType::boolean, Dims()), n.type(hidden),
                                        n.type(cell), n.type(no_state)};
  auto body = steady_body(n, make, {2, 1, 3}, types, captures);
  if (!body) return {no_value, no_value, no_value};
  const ValueId steps = scalar_dim(n, n.in(0), 0);
  const ValueId yes = n.constant(number_tensor(DType::boolean, 1));
  std::vector<ValueId> inputs = {steps, yes, hidden, cell, no_state};
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  std::vector<Graph> bodies;
  bodies.push_back(*std::move(body));
  const auto out = n.add_many(Loop{.carried = 3}, std::move(inputs), 4, std::move(bodies));
  if (!n.ok()) return {no_value, no_value, no_value};
  const ValueId all = turns ? n.add(ReverseSequence{}, {out[3], lengths}) : out[3];
  const ValueId row = unsqueeze(n, all, {1});
  const ValueId last = unsqueeze(n, out[0], {0});
  return {row, last, unsqueeze(n, out[1], {0})};
}

void check_ranks(NodeImport& n, const AttnLayer& l, std::int64_t directions) {
  static constexpr std::int64_t ranks[] = {3, 3, 3, 2, 1, 3, 3, 2, 3, 3, 2, 3, 1, 3};
  for (const std::size_t i : {8, 9, 10, 11})
    if (!n.has(i)) return n.fail(cat("input ", i, " is left out, but its kernel wants it"));
  for (std::size_t i = 0; i < n.inputs().size() && n.ok(); ++i)
    if (n.has(i) && n.known_rank(n.in(i)) != ranks[i])
      n.fail(cat("input ", i, " wants rank ", ranks[i]));
  const Dim found = n.dim(n.in(1), 0);
  if (found.known() && found.value() != directions)
    n.fail(cat("weights of ", found.value(), " directions, wants ", directions));
  constexpr std::int64_t most = std::int64_t{1} << 24;
  if (l.hidden < 1 || l.hidden > most) n.fail(cat("'hidden_size' is ", l.hidden));
}

void import_attn_lstm(NodeImport& n) {
  const Way way = n.choice<Way>(
      "direction", "forward",
      {{"forward", Way::forward}, {"reverse", Way::reverse}, {"bidirectional", Way::both}});
  const Dim hidden = n.dim(n.in(2), 2);
  AttnLayer l{.hidden = n.integer("hidden_size", hidden.known() ? hidden.value() : 0),
              .clip = n.number("clip", 0),
              .couples = n.flag("input_forget", Flag::off)};
  const std::size_t directions = way == Way::both ? 2 : 1;
  std::vector<std::string> names = n.texts("activations");
  if (names.empty())
    for (std::size_t d = 0; d < directions; ++d)
      names.insert(names.end(), {"Sigmoid", "Tanh", "Tanh"});
  const auto activations = recurrent_activations(n, names);
  if (n.ok() && activations.size() != 3 * directions)
    n.fail(cat(names.size(), " activations, wants ", 3 * directions));
  check_ranks(n, l, static_cast<std::int64_t>(directions));
  std::vector<ValueId> outputs[3];
  for (std::size_t d = 0; d < directions && n.ok(); ++d) {
    l.activations.assign(activations.begin() + static_cast<std::ptrdiff_t>(3 * d),
                         activations.begin() + static_cast<std::ptrdiff_t>(3 * d + 3));
    const Way own = d == 1 ? Way::reverse : way == Way::both ? Way::forward : way;
    const Outputs o = run_direction(n, l, static_cast<std::int64_t>(d), own);
    outputs[0].push_back(o.all);
    outputs[1].push_back(o.hidden);
    outputs[2].push_back(o.cell);
  }
  if (!n.ok()) return;
  for (std::size_t i = 0; i < 3; ++i)
    n.set(i, outputs[i].size() == 1 ? outputs[i][0] : concat(n, outputs[i], i == 0 ? 1 : 0));
}

constexpr OpRow microsoft_attn_lstm_rows[] = {
    {"AttnLSTM", 1, import_attn_lstm, {3, 14}, {0, 3}},
};

}  // namespace

OpRows microsoft_attn_lstm_ops() {
  return microsoft_attn_lstm_rows;
}

}  // namespace quern::onnx
