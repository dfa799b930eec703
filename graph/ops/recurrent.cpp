// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/recurrent.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"
#include "graph/ops/unary.h"
#include "graph/ops/windows.h"
#include "graph/text.h"

namespace quern {
namespace {

// ---- names of enumerators

constexpr EnumNames<3> rnn_names = {"rnn", "gru", "lstm"};
constexpr EnumNames<3> direction_names = {"forward", "reverse", "bidirectional"};

// ---- rnn

bool is_activation(const Unary& u) {
  return u.kind < UnaryKind::is_nan;
}

Status check_attributes(const InferContext& c, const Rnn& op) {
  if (op.hidden_size < 0 || op.hidden_size > max_extent)
    return c.error(cat("hidden_size is ", op.hidden_size));
  const std::size_t wanted = activations(op.kind) * static_cast<std::size_t>(directions(op));
  if (!op.activations.empty() && op.activations.size() < wanted)
    return c.error(cat("has ", op.activations.size(), " activations, wants ", wanted));
  for (const Unary& u : op.activations)
    if (!is_activation(u)) return c.error(cat(unary_text(u), " is no activation"));
  if (op.kind != RnnKind::lstm && (c.has(Rnn::in_c) || c.has(Rnn::in_p) || c.output_count() > 2))
    return c.error(cat(enum_name(op.kind), " has no cell state"));
  return {};
}

Status want_dims(const InferContext& c, std::size_t i, const Dims& wanted) {
  if (!c.dims(i) || meet(*c.dims(i), wanted)) return {};
  return c.error(
      cat(c.describe(i), " does not fit, wants ", type_text(ValueType(c.dtype(i), wanted))));
}

struct Sizes {
  Dim steps, batch, input, hidden;
};

Dims state_dims(const Rnn& op, const Sizes& s) {
  if (op.batch_first) return {s.batch, directions(op), s.hidden};
  return {directions(op), s.batch, s.hidden};
}

Status check_shapes(const InferContext& c, const Rnn& op, const Sizes& s) {
  const Dim d = directions(op);
  const Dim rows = s.hidden * gates(op.kind);
  QUERN_TRY(want_dims(c, Rnn::in_w, {d, rows, s.input}));
  QUERN_TRY(want_dims(c, Rnn::in_r, {d, rows, s.hidden}));
  QUERN_TRY(want_dims(c, Rnn::in_b, {d, rows * 2}));
  QUERN_TRY(want_dims(c, Rnn::in_lengths, {s.batch}));
  QUERN_TRY(want_dims(c, Rnn::in_h, state_dims(op, s)));
  QUERN_TRY(want_dims(c, Rnn::in_c, state_dims(op, s)));
  return want_dims(c, Rnn::in_p, {d, s.hidden * 3});
}

Status infer_rnn(InferContext& c) {
  const auto& op = c.op<Rnn>();
  QUERN_TRY(want_floats(c, Rnn::in_x));
  for (std::size_t i : {Rnn::in_w, Rnn::in_r, Rnn::in_b, Rnn::in_h, Rnn::in_c, Rnn::in_p})
    QUERN_TRY(c.want_same_dtype(Rnn::in_x, i));
  if (c.has(Rnn::in_lengths) && c.dtype(Rnn::in_lengths) != DType::i64)
    QUERN_TRY(c.want_dtype(Rnn::in_lengths, DType::i32));
  QUERN_TRY(check_attributes(c, op));
  const Dims x = c.dims(Rnn::in_x) ? *c.dims(Rnn::in_x) : Dims(3);
  if (x.size() != 3) return c.error(cat(c.describe(Rnn::in_x), " must have rank 3"));
  if (c.dims(Rnn::in_r) && c.dims(Rnn::in_r)->size() != 3)
    return c.error(cat(c.describe(Rnn::in_r), " must have rank 3"));
  Sizes s{x[op.batch_first ? 1 : 0], x[op.batch_first ? 0 : 1], x[2], Dim()};
  if (c.dims(Rnn::in_r)) s.hidden = (*c.dims(Rnn::in_r))[2];
  if (op.hidden_size > 0) s.hidden = op.hidden_size;
  QUERN_TRY(check_shapes(c, op, s));
  const Dim d = directions(op);
  c.set(0, c.dtype(Rnn::in_x),
        op.batch_first ? Dims{s.batch, s.steps, d, s.hidden} : Dims{s.steps, d, s.batch, s.hidden});
  for (std::size_t i = 1; i < c.output_count(); ++i)
    c.set(i, c.dtype(Rnn::in_x), state_dims(op, s));
  return {};
}

}  // namespace

std::span<const std::string_view> enum_names(RnnKind) {
  return rnn_names;
}
std::span<const std::string_view> enum_names(Direction) {
  return direction_names;
}

const OpDef& Rnn::def() {
  static constexpr OpDef def{.name = "Rnn",
                             .inputs = {3, 8},
                             .outputs = {1, 3},
                             .traits = OpTrait::flushes_denormals,
                             .infer = infer_rnn,
                             .attributes = &op_struct<Rnn>};
  return def;
}

}  // namespace quern
