// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/control_flow.h"

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"
#include "graph/ops/windows.h"
#include "graph/text.h"

namespace quern {
namespace {

// ---- control_flow

// The types that a body hands out, which must be `count`.
Result<const std::vector<ValueType>*> body_types(const InferContext& c, std::size_t body,
                                                 std::size_t count) {
  if (body >= c.body_outputs().size()) return c.error(cat("body ", body, " is missing"));
  const auto& types = c.body_outputs()[body];
  if (types.size() != count)
    return c.error(cat("body ", body, " hands out ", types.size(), " values, wants ", count));
  return &types;
}

// A value that is either a or b. A sequence where the other is an optional one: no optional.
Result<ValueType> either(const InferContext& c, std::size_t output, const ValueType& a,
                         const ValueType& b) {
  if (a.dtype != b.dtype || a.is_sequence() != b.is_sequence())
    return c.error(cat("output ", output, " is ", type_text(a), " in one case and ", type_text(b),
                       " in another"));
  return ValueType(b.dtype, generalise(a.dims, b.dims), b.kind);
}

Status want_condition(const InferContext& c, std::size_t i) {
  QUERN_TRY(c.want_dtype(i, DType::boolean));
  return want_single(c, i);
}

Status infer_if(InferContext& c) {
  if (!c.has(0)) return c.error("the condition is left out");
  QUERN_TRY(want_condition(c, 0));
  QUERN_ASSIGN(const auto* then_types, body_types(c, 0, c.output_count()));
  QUERN_ASSIGN(const auto* else_types, body_types(c, 1, c.output_count()));
  const Tensor* condition = c.value(0);
  const bool known = condition && condition->shape().elements() == 1;
  for (std::size_t i = 0; i < c.output_count(); ++i) {
    if (known) {
      const bool is_true = element_of<std::uint8_t>(*condition) != 0;
      c.set(i, is_true ? (*then_types)[i] : (*else_types)[i]);
    } else {
      QUERN_ASSIGN(ValueType type, either(c, i, (*then_types)[i], (*else_types)[i]));
      c.set(i, std::move(type));
    }
  }
  return {};
}

// The type of a body output that is stacked over iterations, with a dimension `n` of iterations at
// `axis`.
Result<ValueType> stacked(const InferContext& c, std::size_t output, const ValueType& element,
                          std::int64_t axis, Dim n) {
  if (!element.is_tensor())
    return c.error(cat("output ", output, " cannot stack values of type ", type_text(element)));
  std::optional<Dims> dims = element.dims;
  if (dims) {
    QUERN_ASSIGN(const std::size_t at, c.axis(axis, dims->size() + 1));
    dims->insert(dims->begin() + static_cast<std::ptrdiff_t>(at), n);
  }
  return ValueType(element.dtype, std::move(dims));
}

Status infer_loop(InferContext& c) {
  const std::int64_t given = c.op<Loop>().carried;
  const auto carried = static_cast<std::size_t>(given);
  if (given < 0 || carried > c.output_count() || carried + 2 > c.input_count())
    return c.error(cat(given, " carried values for ", c.input_count(), " inputs and ",
                       c.output_count(), " outputs"));
  QUERN_TRY(c.want_dtype(0, DType::i64));
  QUERN_TRY(want_single(c, 0));
  QUERN_TRY(want_condition(c, 1));
  QUERN_ASSIGN(const auto* body, body_types(c, 0, c.output_count() + 1));
  const ValueType& goes_on = body->front();
  if (!goes_on.is_tensor() || goes_on.dtype != DType::boolean)
    return c.error(cat("the body's condition is ", type_text(goes_on), ", wants one bool"));
  for (std::size_t i = 0; i < c.output_count(); ++i) {
    const ValueType& type = (*body)[i + 1];
    if (i < carried) {
      if (!c.has(i + 2)) return c.error(cat("carried value ", i, " has no initial value"));
      QUERN_ASSIGN(ValueType both, either(c, i, c.type(i + 2), type));
      c.set(i, std::move(both));
    } else {
      QUERN_ASSIGN(ValueType all, stacked(c, i, type, 0, Dim()));
      c.set(i, std::move(all));
    }
  }
  return {};
}

Status check_list(const InferContext& c, std::string_view name, const Ints& list,
                  std::size_t size) {
  if (list.empty() || list.size() == size) return {};
  return c.error(cat(name, " has ", list.size(), " entries, wants ", size));
}

Status check_directions(const InferContext& c, std::string_view name, const Ints& list,
                        std::size_t size) {
  for (std::int64_t v : list)
    if (v != 0 && v != 1) return c.error(cat(name, " holds ", v, ", wants 0 or 1"));
  return check_list(c, name, list, size);
}

std::int64_t entry(const Ints& list, std::size_t i) {
  return list.empty() ? 0 : list[i];
}

// The iterations that the scanned inputs agree on.
Result<Dim> scan_length(const InferContext& c, const Scan& op) {
  Dims length{Dim()};
  for (std::size_t i = 0; i < static_cast<std::size_t>(op.scanned_inputs); ++i) {
    const std::size_t input = static_cast<std::size_t>(op.states) + i;
    if (!c.has(input)) return c.error(cat("input ", input, " is left out"));
    QUERN_TRY(want_tensor(c, input));
    if (!c.dims(input)) continue;
    QUERN_ASSIGN(const std::size_t axis, c.axis(entry(op.input_axes, i), c.dims(input)->size()));
    const auto both = meet(length, {(*c.dims(input))[axis]});
    if (!both)
      return c.error(cat(c.describe(input), " is scanned ", (*c.dims(input))[axis].value(),
                         " times, others ", length.front().value()));
    length = *both;
  }
  return length.front();
}

Status check_scan(const InferContext& c, const Scan& op) {
  const auto limit = static_cast<std::int64_t>(c.input_count());
  const bool fits = op.states >= 0 && op.scanned_inputs >= 1 && op.states <= limit &&
                    op.scanned_inputs <= limit - op.states &&
                    op.states <= static_cast<std::int64_t>(c.output_count());
  if (!fits)
    return c.error(cat(op.states, " states and ", op.scanned_inputs, " scanned inputs for ", limit,
                       " inputs and ", c.output_count(), " outputs"));
  const auto inputs = static_cast<std::size_t>(op.scanned_inputs);
  const std::size_t outputs = c.output_count() - static_cast<std::size_t>(op.states);
  QUERN_TRY(check_list(c, "scan_input_axes", op.input_axes, inputs));
  QUERN_TRY(check_list(c, "scan_output_axes", op.output_axes, outputs));
  QUERN_TRY(check_directions(c, "scan_input_directions", op.input_directions, inputs));
  return check_directions(c, "scan_output_directions", op.output_directions, outputs);
}

Status infer_scan(InferContext& c) {
  const auto& op = c.op<Scan>();
  QUERN_TRY(check_scan(c, op));
  QUERN_ASSIGN(const Dim length, scan_length(c, op));
  QUERN_ASSIGN(const auto* body, body_types(c, 0, c.output_count()));
  const auto states = static_cast<std::size_t>(op.states);
  for (std::size_t i = 0; i < c.output_count(); ++i) {
    if (i < states) {
      if (!c.has(i)) return c.error(cat("state ", i, " has no initial value"));
      QUERN_ASSIGN(ValueType both, either(c, i, c.type(i), (*body)[i]));
      c.set(i, std::move(both));
    } else {
      QUERN_ASSIGN(ValueType all,
                   stacked(c, i, (*body)[i], entry(op.output_axes, i - states), length));
      c.set(i, std::move(all));
    }
  }
  return {};
}

}  // namespace

const OpDef& If::def() {
  static constexpr OpDef def{.name = "If",
                             .inputs = {1, any_number},
                             .outputs = {1, any_number},
                             .traits = OpTrait::structural,
                             .plan_operands = 1u << 0,
                             .infer = infer_if,
                             .attributes = &op_struct<If>};
  return def;
}

const OpDef& Loop::def() {
  static constexpr OpDef def{.name = "Loop",
                             .inputs = {2, any_number},
                             .outputs = {1, any_number},
                             .traits = OpTrait::structural,
                             .infer = infer_loop,
                             .attributes = &op_struct<Loop>};
  return def;
}

const OpDef& Scan::def() {
  static constexpr OpDef def{.name = "Scan",
                             .inputs = {1, any_number},
                             .outputs = {1, any_number},
                             .traits = OpTrait::structural,
                             .infer = infer_scan,
                             .attributes = &op_struct<Scan>};
  return def;
}

}  // namespace quern
