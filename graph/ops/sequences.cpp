// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/sequences.h"

#include <algorithm>
#include <array>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

// ---- names of enumerators

constexpr EnumNames<6> sequence_names = {"construct", "empty", "at", "insert", "erase", "length"};
constexpr EnumNames<3> optional_names = {"make", "has_element", "get_element"};

// ---- sequence

using Kind = ValueType::Kind;

Status want_kind(const InferContext& c, std::size_t i, Kind kind) {
  if (!c.has(i)) return c.error(cat("input ", i, " is left out"));
  if (c.type(i).kind == kind) return {};
  return c.error(cat(c.describe(i), " must be a ", kind == Kind::tensor ? "tensor" : "sequence"));
}

void set_sequence(InferContext& c, DType dtype, std::optional<Dims> dims) {
  c.set(0, ValueType(dtype, std::move(dims), Kind::sequence));
}

Status infer_construct(InferContext& c) {
  if (c.input_count() == 0) return c.error("has no inputs, wants at least 1");
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    QUERN_TRY(want_kind(c, i, Kind::tensor));
    QUERN_TRY(c.want_same_dtype(0, i));
  }
  std::optional<Dims> dims = c.type(0).dims;
  for (std::size_t i = 1; i < c.input_count(); ++i) dims = generalise(dims, c.type(i).dims);
  set_sequence(c, c.dtype(0), std::move(dims));
  return {};
}

// A position is an i32 or i64 scalar.
Status want_position(const InferContext& c, std::size_t i) {
  QUERN_TRY(want_index_dtype(c, i));
  return want_single(c, i);
}

Status infer_insert(InferContext& c) {
  QUERN_TRY(want_kind(c, 1, Kind::tensor));
  QUERN_TRY(c.want_same_dtype(0, 1));
  QUERN_TRY(want_position(c, 2));
  set_sequence(c, c.dtype(0), generalise(c.type(0).dims, c.type(1).dims));
  return {};
}

Status check_count(const InferContext& c, std::size_t least, std::size_t most) {
  if (c.input_count() >= least && c.input_count() <= most) return {};
  return c.error(cat("has ", c.input_count(), " inputs, wants ", least, " to ", most));
}

Status infer_sequence(InferContext& c) {
  const auto& op = c.op<Sequence>();
  if (op.kind == SequenceKind::construct) return infer_construct(c);
  if (op.kind == SequenceKind::empty) {
    set_sequence(c, op.dtype, std::nullopt);
    return check_count(c, 0, 0);
  }
  QUERN_TRY(want_kind(c, 0, Kind::sequence));
  switch (op.kind) {
    case SequenceKind::insert: QUERN_TRY(check_count(c, 2, 3)); return infer_insert(c);
    case SequenceKind::length: c.set(0, DType::i64, Dims()); return check_count(c, 1, 1);
    case SequenceKind::erase:
      QUERN_TRY(check_count(c, 1, 2));
      c.set(0, c.type(0));
      return want_position(c, 1);
    default: break;
  }
  QUERN_TRY(check_count(c, 2, 2));
  if (!c.has(1)) return c.error("input 1 is left out");
  c.set(0, c.dtype(0), c.type(0).dims);
  return want_position(c, 1);
}

// The position decides which tensor, so which shape, comes out.
std::uint32_t position_operand(const Op& op) {
  switch (op.as<Sequence>()->kind) {
    case SequenceKind::at:
    case SequenceKind::erase: return 1u << 1;
    case SequenceKind::insert: return 1u << 2;
    default: return 0;
  }
}

// The size of every part along the axis, if there is one.
Result<Dim> part_size(const InferContext& c, const ListOperand& split, Dim d) {
  if (!split.values) return Dim();
  const Ints& sizes = *split.values;
  for (std::int64_t v : sizes)
    if (v < 0) return c.error(cat("a part of ", v, " elements"));
  const bool one_size = c.type(1).dims && c.type(1).dims->empty();
  if (one_size) {
    if (sizes.front() == 0) return c.error("parts of 0 elements");
    const bool even = d.known() && d.value() % sizes.front() == 0;
    return even ? Dim(sizes.front()) : Dim();
  }
  Dim total = 0;
  for (std::int64_t v : sizes) total = total + Dim(v);
  if (d.known() && d != total)
    return c.error(cat("the parts have ", total.value(), " elements, the axis has ", d.value()));
  const bool equal = !sizes.empty() && std::equal(sizes.begin() + 1, sizes.end(), sizes.begin());
  return equal ? Dim(sizes.front()) : Dim();
}

Status infer_split_to_sequence(InferContext& c) {
  const auto& op = c.op<SplitToSequence>();
  QUERN_TRY(want_kind(c, 0, Kind::tensor));
  QUERN_ASSIGN(const ListOperand split, list_operand(c, 1));
  std::optional<Dims> dims = c.type(0).dims;
  if (dims) {
    QUERN_ASSIGN(const std::size_t axis, c.axis(op.axis, dims->size()));
    if (c.has(1)) {
      QUERN_ASSIGN((*dims)[axis], part_size(c, split, (*dims)[axis]));
    } else if (op.keepdims) {
      (*dims)[axis] = 1;
    } else {
      dims->erase(dims->begin() + static_cast<std::ptrdiff_t>(axis));
    }
  }
  set_sequence(c, c.dtype(0), std::move(dims));
  return {};
}

Status infer_concat(InferContext& c) {
  const auto& op = c.op<ConcatFromSequence>();
  QUERN_TRY(want_kind(c, 0, Kind::sequence));
  std::optional<Dims> dims = c.type(0).dims;
  if (dims) {
    QUERN_ASSIGN(const std::size_t axis, c.axis(op.axis, dims->size() + (op.new_axis ? 1 : 0)));
    const auto at = dims->begin() + static_cast<std::ptrdiff_t>(axis);
    if (op.new_axis) {
      dims->insert(at, Dim());
    } else {
      *at = Dim();
    }
  }
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

Status infer_map(InferContext& c) {
  const std::int64_t inputs = c.op<SequenceMap>().inputs;
  if (inputs < 1 || inputs > static_cast<std::int64_t>(c.input_count()))
    return c.error(cat("maps ", inputs, " of ", c.input_count(), " inputs"));
  QUERN_TRY(want_kind(c, 0, Kind::sequence));
  for (std::size_t i = 1; i < static_cast<std::size_t>(inputs); ++i)
    if (!c.has(i) || c.type(i).is_optional())
      return c.error(cat(c.describe(i), " must be a sequence or a tensor"));
  if (c.body_outputs().size() != 1 || c.body_outputs()[0].size() != c.output_count())
    return c.error(cat("wants one body that hands out ", c.output_count(), " values"));
  for (std::size_t i = 0; i < c.output_count(); ++i) {
    const ValueType& element = c.body_outputs()[0][i];
    if (!element.is_tensor()) return c.error(cat("output ", i, " is no sequence of tensors"));
    c.set(i, ValueType(element.dtype, element.dims, Kind::sequence));
  }
  return {};
}

Kind optional_of(Kind kind) {
  return kind == Kind::tensor || kind == Kind::optional_tensor ? Kind::optional_tensor
                                                               : Kind::optional_sequence;
}

Kind element_of_optional(Kind kind) {
  return kind == Kind::tensor || kind == Kind::optional_tensor ? Kind::tensor : Kind::sequence;
}

Status infer_optional(InferContext& c) {
  const auto& op = c.op<Optional>();
  switch (op.kind) {
    case OptionalKind::has_element: c.set(0, DType::boolean, Dims()); return {};
    case OptionalKind::get_element:
      if (!c.has(0)) return c.error("input 0 is left out");
      c.set(0, ValueType(c.dtype(0), c.type(0).dims, element_of_optional(c.type(0).kind)));
      return {};
    case OptionalKind::make: break;
  }
  if (!c.has(0)) {
    const Kind kind = op.of_sequence ? Kind::optional_sequence : Kind::optional_tensor;
    c.set(0, ValueType(op.dtype, std::nullopt, kind));
    return {};
  }
  if (c.type(0).is_optional()) return c.error(cat(c.describe(0), " is an optional already"));
  c.set(0, ValueType(c.dtype(0), c.type(0).dims, optional_of(c.type(0).kind)));
  return {};
}

}  // namespace

std::span<const std::string_view> enum_names(SequenceKind) {
  return sequence_names;
}
std::span<const std::string_view> enum_names(OptionalKind) {
  return optional_names;
}

const OpDef& Sequence::def() {
  static constexpr OpDef def{.name = "Sequence",
                             .inputs = {0, any_number},
                             .traits = OpTrait::structural,
                             .plan_operands_of = position_operand,
                             .infer = infer_sequence,
                             .attributes = &op_struct<Sequence>};
  return def;
}

const OpDef& SplitToSequence::def() {
  static constexpr OpDef def{.name = "SplitToSequence",
                             .inputs = {1, 2},
                             .traits = OpTrait::structural,
                             .plan_operands = 1u << 1,
                             .infer = infer_split_to_sequence,
                             .attributes = &op_struct<SplitToSequence>};
  return def;
}

const OpDef& ConcatFromSequence::def() {
  static constexpr OpDef def{.name = "ConcatFromSequence",
                             .traits = OpTrait::structural,
                             .infer = infer_concat,
                             .attributes = &op_struct<ConcatFromSequence>};
  return def;
}

const OpDef& SequenceMap::def() {
  static constexpr OpDef def{.name = "SequenceMap",
                             .inputs = {1, any_number},
                             .outputs = {1, any_number},
                             .traits = OpTrait::structural,
                             .infer = infer_map,
                             .attributes = &op_struct<SequenceMap>};
  return def;
}

const OpDef& Optional::def() {
  static constexpr OpDef def{.name = "Optional",
                             .inputs = {0, 1},
                             .traits = OpTrait::structural,
                             .infer = infer_optional,
                             .attributes = &op_struct<Optional>};
  return def;
}

}  // namespace quern
