// SPDX-License-Identifier: Apache-2.0
// Sequences and optionals: lists of tensors.
#include "graph/ops/sequences.h"

#include "engine/vocabulary/text_util.h"
#include "graph/ops/concat.h"
#include "graph/ops/reshape.h"
#include "graph/ops/slice.h"
#include "tools/oracle/walk.h"

namespace quern::tools {
namespace {

bool is_given(const std::vector<Traces>& in, std::size_t i) {
  return i < in.size() && in[i].kind != BoundedValue::Kind::none;
}

// A position in a list of `size`, counted from its end where it is negative.
Result<std::size_t> position(const Node& n, std::int64_t at, std::size_t size, std::size_t last) {
  const std::int64_t i = at < 0 ? at + static_cast<std::int64_t>(size) : at;
  if (i < 0 || i > static_cast<std::int64_t>(last) || last == static_cast<std::size_t>(-1))
    return refused(n, cat("position ", at, " of ", size, " elements"));
  return static_cast<std::size_t>(i);
}

}  // namespace

Result<Traces> Walk::run_sequence(const Node& n, const std::vector<Traces>& in) {
  const SequenceKind kind = n.as<Sequence>()->kind;
  Traces out{BoundedValue::Kind::sequence, {}};
  if (kind == SequenceKind::empty) return out;
  if (kind == SequenceKind::construct) {
    for (const Traces& t : in) out.tensors.push_back(t.tensors.at(0));
    return out;
  }
  out.tensors = in[0].tensors;
  const std::size_t size = out.tensors.size();
  if (kind == SequenceKind::length)
    return tensor_of(Tensor::scalar(DType::i64, static_cast<std::int64_t>(size)), DType::i64);
  const std::size_t operand = kind == SequenceKind::insert ? 2 : 1;
  std::optional<std::int64_t> given;
  if (is_given(in, operand)) {
    given = whole_number(in[operand]);
    if (!given) return Traces::undetermined();
  }
  if (kind == SequenceKind::insert) {
    QUERN_ASSIGN(const std::size_t at,
                 position(n, given.value_or(static_cast<std::int64_t>(size)), size, size));
    out.tensors.insert(out.tensors.begin() + static_cast<std::ptrdiff_t>(at), in[1].tensors.at(0));
    return out;
  }
  QUERN_ASSIGN(const std::size_t at, position(n, given.value_or(-1), size, size - 1));
  if (kind == SequenceKind::at) return Traces{BoundedValue::Kind::tensor, {out.tensors[at]}};
  out.tensors.erase(out.tensors.begin() + static_cast<std::ptrdiff_t>(at));
  return out;
}

Result<Traces> Walk::run_split(const Node& n, const std::vector<Traces>& in) {
  const SplitToSequence& op = *n.as<SplitToSequence>();
  const Traced* x = in[0].tensor();
  if (!x) return Traces::undetermined();
  const Shape& shape = x->value.shape();
  const std::int64_t axis =
      op.axis < 0 ? op.axis + static_cast<std::int64_t>(shape.rank()) : op.axis;
  if (axis < 0 || axis >= static_cast<std::int64_t>(shape.rank()))
    return refused(n, "no such axis");
  const std::int64_t length = shape[static_cast<std::size_t>(axis)];
  Ints sizes;
  if (is_given(in, 1)) {
    const Traced* split = in[1].tensor();
    const auto all = split && split->exact() ? int_elements(split->value) : std::nullopt;
    if (!all || all->empty()) return Traces::undetermined();
    sizes = *all;
    if (split->value.shape().empty()) {
      const std::int64_t each = sizes[0];
      if (each <= 0) return refused(n, "parts of no elements");
      sizes.clear();
      for (std::int64_t at = 0; at < length; at += each)
        sizes.push_back(std::min(each, length - at));
    }
  } else {
    sizes.assign(static_cast<std::size_t>(length), 1);
  }
  Traces out{BoundedValue::Kind::sequence, {}};
  std::int64_t at = 0;
  for (std::int64_t size : sizes) {
    const std::array<std::int64_t, 1> from = {at};
    const std::array<std::int64_t, 1> to = {at += size};
    const std::array<std::int64_t, 1> along = {axis};
    const auto list = [](std::span<const std::int64_t> v) {
      return Tensor::from_values<std::int64_t>(DType::i64, {1}, v);
    };
    QUERN_ASSIGN(Traces part, moved(Slice{}, in[0], {list(from), list(to), list(along)}));
    if (!is_given(in, 1) && !op.keepdims) {
      QUERN_ASSIGN(part, moved(Squeeze{}, part, {list(along)}));
    }
    out.tensors.push_back(part.tensors.at(0));
  }
  if (at != length) return refused(n, "the parts are not the whole axis");
  return out;
}

Result<Traces> Walk::run_concat(const Node& n, const std::vector<Traces>& in) {
  const ConcatFromSequence& op = *n.as<ConcatFromSequence>();
  if (in[0].tensors.empty()) return refused(n, "nothing to concatenate");
  std::vector<Traces> parts;
  for (const TracedPtr& t : in[0].tensors) parts.push_back({BoundedValue::Kind::tensor, {t}});
  const DType type = in[0].tensors[0]->type;
  if (op.new_axis) return stacked(parts, op.axis, ValueType(type, std::nullopt));
  QUERN_ASSIGN(std::vector<Traces> out, plain(Concat{.axis = op.axis}, parts, {&type, 1}, n.name));
  return std::move(out[0]);
}

Result<Traces> Walk::run_optional(const Node& n, const std::vector<Traces>& in) {
  switch (n.as<Optional>()->kind) {
    case OptionalKind::make: return is_given(in, 0) ? in[0] : Traces{BoundedValue::Kind::none, {}};
    case OptionalKind::has_element:
      return tensor_of(Tensor::scalar(DType::boolean, is_given(in, 0)), DType::boolean);
    case OptionalKind::get_element: break;
  }
  if (!is_given(in, 0)) return refused(n, "nothing in the optional");
  return in[0];
}

}  // namespace quern::tools
