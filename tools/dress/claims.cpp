// SPDX-License-Identifier: Apache-2.0
// Dresses that change what is known of the inputs: more (they are constants), or less.
#include "engine/vocabulary/text_util.h"
#include "tools/dress/dress.h"
#include "tools/dress/remake.h"

namespace quern::tools {
namespace {

// Inputs from `first` on that are tensors become constants.
Result<std::optional<Dressed>> with_constants(const Plain& plain, std::size_t first) {
  const Graph& old = plain.graph;
  Remake remake(old);
  std::vector<InputValue> left;
  QUERN_TRY(remake.run([&](Graph& into, std::size_t i) -> Result<ValueId> {
    const Value& v = old.value(old.inputs()[i]);
    const InputValue& given = plain.inputs[i];
    if (i >= first && v.type.is_tensor() && given.kind == InputValue::Kind::tensor)
      return into.add_constant(given.tensors[0], v.name);
    left.push_back(given);
    return into.add_input(v.name, into.adopt(v.type, old));
  }));
  if (left.size() == plain.inputs.size()) return std::optional<Dressed>();
  return std::optional(Dressed{remake.finish(), std::move(left), plain_outputs(old), {}});
}

enum class Erased : std::uint8_t { symbols, dims, ranks };

ValueType erased_type(ValueType type, Erased what) {
  if (!type.dims) return type;
  if (what == Erased::ranks) {
    type.dims.reset();
  } else {
    type.dims = Dims(type.dims->size());
  }
  return type;
}

// A scalar of a body is one by the rules of ONNX (a condition, a count): that is no claim.
ValueType erased_in_body(const ValueType& type, Erased what) {
  return type.dims && type.dims->empty() ? type : erased_type(type, what);
}

Result<std::optional<Dressed>> with_erased(const Plain& plain, Erased what) {
  const Graph& old = plain.graph;
  if (old.inputs().empty()) return std::optional<Dressed>();
  Remake remake(old, [what](const ValueType& type) { return erased_in_body(type, what); });
  QUERN_TRY(remake.run([&](Graph& into, std::size_t i) -> Result<ValueId> {
    const Value& v = old.value(old.inputs()[i]);
    ValueType type = erased_type(v.type, what);
    // The elements of a sequence may differ: a name in their type would say that they do not.
    if (what == Erased::symbols && type.dims && !type.is_sequence())
      for (std::size_t d = 0; d < type.dims->size(); ++d)
        (*type.dims)[d] = into.symbol(cat("input", i, "_dim", d));
    return into.add_input(v.name, std::move(type));
  }));
  return std::optional(Dressed{remake.finish(), copied(plain.inputs), plain_outputs(old), {}});
}

// ---- other inputs for a run between -----------------------------------------------------------

// Shapes, axes, counts: other ones would make another graph of it.
bool may_be_a_shape(const TensorType& type) {
  return type.dtype == DType::i64 && type.shape.rank() <= 1;
}

// Elements of `t` over and over, from the last one backwards: what was valid stays valid.
Result<Tensor> refilled(const Tensor& t, const Shape& shape) {
  if (!shape.checked_elements(size_of(t.dtype())))
    return Status(Code::out_of_memory, "other inputs would be too large");
  QUERN_ASSIGN(Tensor result, Tensor::zeros({t.dtype(), shape}));
  const std::size_t element = size_of(t.dtype());
  const std::int64_t n = t.shape().elements();
  if (n == 0 && t.dtype() == DType::string) return t;
  for (std::int64_t i = 0; n > 0 && i < shape.elements(); ++i)
    __builtin_memcpy(result.mutable_data() + static_cast<std::size_t>(i) * element,
                     t.data() + static_cast<std::size_t>(n - 1 - i % n) * element, element);
  return result;
}

// One more of everything that there is more than one of: sizes that were equal stay equal.
Shape grown(const Shape& shape) {
  Shape s = shape;
  for (std::size_t d = 0; d < s.rank(); ++d) s[d] += s[d] > 1;
  return s;
}

enum class Sizes : std::uint8_t { same, grown };

Result<std::optional<std::vector<InputValue>>> other_inputs(std::span<const InputValue> inputs,
                                                            Sizes sizes) {
  std::vector<InputValue> others = copied(inputs);
  bool differ = false;
  for (InputValue& v : others) {
    if (v.kind != InputValue::Kind::tensor || may_be_a_shape(v.tensors[0].type())) continue;
    const Shape shape = sizes == Sizes::grown ? grown(v.tensors[0].shape()) : v.tensors[0].shape();
    differ = differ || shape != v.tensors[0].shape() || sizes == Sizes::same;
    QUERN_ASSIGN(v.tensors[0], refilled(v.tensors[0], shape));
  }
  if (!differ) return std::optional<std::vector<InputValue>>();
  return std::optional(std::move(others));
}

}  // namespace

Result<std::optional<Dressed>> dress_constants(const Plain& plain) {
  return with_constants(plain, 0);
}

Result<std::optional<Dressed>> dress_weights(const Plain& plain) {
  return with_constants(plain, 1);
}

Result<std::optional<Dressed>> dress_symbols(const Plain& plain) {
  return with_erased(plain, Erased::symbols);
}

Result<std::optional<Dressed>> dress_unknown_dims(const Plain& plain) {
  return with_erased(plain, Erased::dims);
}

Result<std::optional<Dressed>> dress_unknown_ranks(const Plain& plain) {
  return with_erased(plain, Erased::ranks);
}

Result<std::optional<Dressed>> dress_other_values(const Plain& plain) {
  QUERN_ASSIGN(auto others, other_inputs(plain.inputs, Sizes::same));
  if (!others) return std::optional<Dressed>();
  return std::optional(Dressed{plain.graph.clone(), copied(plain.inputs),
                               plain_outputs(plain.graph), *std::move(others)});
}

Result<std::optional<Dressed>> dress_other_shapes(const Plain& plain) {
  QUERN_ASSIGN(auto others, other_inputs(plain.inputs, Sizes::grown));
  if (!others) return std::optional<Dressed>();
  QUERN_ASSIGN(auto dressed, with_erased(plain, Erased::dims));
  if (dressed) dressed->between = *std::move(others);
  return dressed;
}

}  // namespace quern::tools
