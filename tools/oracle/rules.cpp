// SPDX-License-Identifier: Apache-2.0
// Which rule an operator has.
#include "tools/oracle/rules.h"

#include <array>
#include <numeric>
#include <unordered_map>

#include "graph/ops/all.h"

namespace quern::tools {
namespace rules {
namespace {

template <class T, class... Ts>
constexpr bool is_one_of = (std::is_same_v<T, Ts> || ...);

template <class T>
Status dispatch(const T& op, Evaluated& e) {
  if constexpr (is_one_of<T, Concat>) {
    return move_all(e);
  } else if constexpr (is_one_of<T, CacheAppend>) {
    return move(e, {0, 1});
  } else if constexpr (is_one_of<T, Pad>) {
    return move(e, {0, 2});
  } else if constexpr (is_one_of<T, OneHot>) {
    return move(e, {2});
  } else if constexpr (is_one_of<T, Identity, Reshape, Squeeze, Unsqueeze, Flatten, Transpose,
                                 Split, Slice, Expand, Tile, Gather, DepthSpace, Trilu,
                                 ReverseSequence, MaxUnpool>) {
    return move(e, {0});
  } else if constexpr (is_one_of<T, ShapeOf, SizeOf, EyeLike>) {
    e.storing = Storing::moved;  // of the shape alone
    return {};
  } else if constexpr (is_one_of<T, Custom, CustomRandom>) {
    return of_host(e);
  } else if constexpr (requires { bound(op, e); }) {
    return bound(op, e);
  } else {
    return exact_or_undetermined(e);
  }
}

template <class... T>
std::unordered_map<const OpDef*, Status (*)(Evaluated&)> table(OpList<T...>) {
  return {{&T::def(), [](Evaluated& e) { return dispatch(e.as<T>(), e); }}...};
}

}  // namespace
}  // namespace rules

Status bound_errors(Evaluated& e) {
  static const auto known = rules::table(AllOps());
  return known.at(&e.op.def())(e);
}

Width width_of(const Op& op, std::size_t input) {
  if (op.is<Resize>()) return input == 0 ? Width::f64 : Width::narrow;
  if (const auto* cast = op.as<Cast>(); cast && cast->to == DType::string) return Width::narrow;
  return op.is_any_of<BitCast, Custom, CustomRandom, DynamicQuantize, Range, Random, Multinomial,
                      MelWeightMatrix, NonMaxSuppression, PairwiseCoupling, QLinearConv,
                      QLinearMatMul, TfIdfVectorizer, StringNormalizer, StringConcat,
                      StringPartCount, StringSplit, RegexFullMatch, TokenCount, Tokens, StringHash,
                      TimeWarping, PictureExtent, DecodePicture>()
             ? Width::narrow
             : Width::f64;
}

bool decides_structure(const OpDef& def, const Op& op, std::size_t input) {
  if (op.is<Pad>() && input == 2) return false;
  if (op.is<Compress>()) return input == 1;
  return def.needs_value(op, input) || op.is<Unique>() || op.is<NonMaxSuppression>() ||
         op.is<StringNormalizer>() || op.is<TimeWarping>() || op.is<DecodePicture>();
}

namespace rules {

Result<Numbers> through(Evaluated& e, const Op& op, const std::vector<Tensor>& operands) {
  QUERN_ASSIGN(const std::vector<Tensor> out, e.run(op, operands));
  return as_numbers(out[0]);
}

Result<Tensor> bound_tensor(const Traced& t) {
  return tensor_from(t, [&](std::size_t i) { return t.error(i); });
}
Result<Tensor> size_tensor(const Traced& t) {
  const Numbers v = as_numbers(t.value);
  return tensor_from(t, [&](std::size_t i) { return std::fabs(v[i]) + t.error(i); });
}
Result<Tensor> magnitude_tensor(const Traced& t) {
  return t.magnitude.empty() ? size_tensor(t) : number_tensor(t.value.shape(), t.magnitude);
}
Result<Tensor> absolute_tensor(const Traced& t) {
  const Numbers v = as_numbers(t.value);
  return tensor_from(t, [&](std::size_t i) { return std::fabs(v[i]); });
}

std::vector<std::size_t> broadcast_indices(const Shape& from, const Shape& to) {
  const auto n = static_cast<std::size_t>(to.elements());
  std::vector<std::size_t> out(n, 0);
  if (from.elements() == 1) return out;
  if (from == to) {
    std::iota(out.begin(), out.end(), std::size_t{0});
    return out;
  }
  const std::size_t rank = to.rank();
  std::array<std::size_t, Shape::max_rank> strides{};
  std::size_t stride = 1;
  for (std::size_t back = 1; back <= from.rank(); ++back) {
    const auto extent = static_cast<std::size_t>(from[from.rank() - back]);
    strides[rank - back] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
  std::array<std::int64_t, Shape::max_rank> at{};
  std::size_t offset = 0;
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = offset;
    for (std::size_t d = rank; d-- > 0;) {
      offset += strides[d];
      if (++at[d] < to[d]) break;
      offset -= strides[d] * static_cast<std::size_t>(to[d]);
      at[d] = 0;
    }
  }
  return out;
}

Rows rows_along(const Shape& shape, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(shape.rank());
  if (rank == 0) return {};
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return {shape.elements(0, at), shape[at], shape.elements(at + 1)};
}

}  // namespace rules
}  // namespace quern::tools
