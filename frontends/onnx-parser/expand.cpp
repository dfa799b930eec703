// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/expand.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "graph/numeric.h"
#include "graph/ops/binary.h"
#include "graph/ops/cast.h"
#include "graph/ops/concat.h"
#include "graph/ops/fill.h"
#include "graph/ops/gather.h"
#include "graph/ops/quantised_products.h"
#include "graph/ops/reduce.h"
#include "graph/ops/reshape.h"
#include "graph/ops/shape_of.h"
#include "graph/ops/slice.h"
#include "graph/ops/tile.h"
#include "graph/ops/transpose.h"
#include "graph/ops/unary.h"
#include "graph/ops/where.h"

namespace quern::onnx {
namespace {

struct ScalarOf {
  DType dtype;
  double value;
  template <class T>
  Tensor operator()(TypeTag<T>) const {
    if constexpr (std::is_same_v<T, StringRef>) {
      return {};
    } else if constexpr (std::is_arithmetic_v<T>) {
      return Tensor::scalar<T>(dtype, convert<T>(value));
    } else if constexpr (requires(T t) { t.v; }) {  // of 4 or 2 bits, one per byte
      return Tensor::scalar<T>(dtype, T(convert<decltype(T::v)>(value)));
    } else {
      return Tensor::scalar<T>(dtype, T(value));
    }
  }
};

// Arithmetic on known shapes makes a constant instead of a node, so that types stay precise.
ValueId folded(NodeImport& n, BinaryKind kind, ValueId a, ValueId b) {
  const auto x = n.constant_ints(a);
  const auto y = n.constant_ints(b);
  if (!x || !y || n.type(a) != n.type(b) || n.dtype(a) != DType::i64 || n.rank(a) != 1)
    return no_value;
  Ints out = *x;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t r = (*y)[i];
    if (kind == BinaryKind::sub && !__builtin_sub_overflow(out[i], r, &out[i])) continue;
    if (kind != BinaryKind::div || r <= 0) return no_value;
    out[i] /= r;
  }
  return n.ints_constant(out);
}

}  // namespace

ValueId unary(NodeImport& n, UnaryKind kind, ValueId x, double alpha, double beta) {
  return n.add(Unary{.kind = kind, .alpha = alpha, .beta = beta}, {x});
}

ValueId binary(NodeImport& n, BinaryKind kind, ValueId a, ValueId b) {
  const ValueId constant = folded(n, kind, a, b);
  return constant != no_value ? constant : n.add(Binary{.kind = kind}, {a, b});
}

ValueId add(NodeImport& n, ValueId a, ValueId b) {
  return binary(n, BinaryKind::add, a, b);
}
ValueId sub(NodeImport& n, ValueId a, ValueId b) {
  return binary(n, BinaryKind::sub, a, b);
}
ValueId mul(NodeImport& n, ValueId a, ValueId b) {
  return binary(n, BinaryKind::mul, a, b);
}
ValueId div(NodeImport& n, ValueId a, ValueId b) {
  return binary(n, BinaryKind::div, a, b);
}

ValueId add(NodeImport& n, ValueId a, double b) {
  return add(n, a, n.scalar_like(a, b));
}
ValueId mul(NodeImport& n, ValueId a, double b) {
  return mul(n, a, n.scalar_like(a, b));
}

ValueId where(NodeImport& n, ValueId condition, ValueId x, ValueId y) {
  return n.add(Where{}, {condition, x, y});
}

ValueId cast(NodeImport& n, ValueId x, DType to) {
  return n.dtype(x) == to ? x : n.add(Cast{.to = to}, {x});
}

ValueId reduce(NodeImport& n, ReduceKind kind, ValueId x, const Ints& axes) {
  return n.add(Reduce{.kind = kind, .keepdims = true}, {x, n.ints_constant(axes)});
}

ValueId shape_of(NodeImport& n, ValueId x) {
  const auto rank = n.rank(x);
  return rank ? dims_of(n, x, 0, *rank) : n.add(ShapeOf{}, {x});
}

ValueId dims_of(NodeImport& n, ValueId x, std::int64_t start, std::int64_t end) {
  Ints known;
  for (std::int64_t axis = start; axis < end && end <= n.rank(x).value_or(-1); ++axis)
    if (const Dim d = n.dim(x, axis); d.known()) known.push_back(d.value());
  if (known.size() == static_cast<std::size_t>(end - start)) return n.ints_constant(known);
  return n.add(ShapeOf{.start = start, .end = end}, {x});
}

ValueId scalar_dim(NodeImport& n, ValueId x, std::int64_t axis) {
  const Dim d = n.dim(x, axis);
  if (d.known()) return n.scalar(DType::i64, static_cast<double>(d.value()));
  return reshape(n, dims_of(n, x, axis, axis + 1), Ints{});
}

ValueId reshape(NodeImport& n, ValueId x, ValueId shape) {
  return n.add(Reshape{}, {x, shape});
}
ValueId reshape(NodeImport& n, ValueId x, const Ints& shape) {
  return reshape(n, x, n.ints_constant(shape));
}

ValueId unsqueeze(NodeImport& n, ValueId x, const Ints& axes) {
  return axes.empty() ? x : n.add(Unsqueeze{}, {x, n.ints_constant(axes)});
}

ValueId squeeze(NodeImport& n, ValueId x, const Ints& axes) {
  return n.add(Squeeze{}, {x, n.ints_constant(axes)});
}

ValueId transpose(NodeImport& n, ValueId x, const Ints& perm) {
  return n.add(Transpose{.perm = perm}, {x});
}

ValueId channels_first(NodeImport& n, ValueId x, std::int64_t rank) {
  Ints perm = {0, rank - 1};
  for (std::int64_t i = 1; i + 1 < rank; ++i) perm.push_back(i);
  return transpose(n, x, perm);
}

ValueId channels_last(NodeImport& n, ValueId x, std::int64_t rank) {
  Ints perm = {0};
  for (std::int64_t i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return transpose(n, x, perm);
}

ValueId concat(NodeImport& n, std::vector<ValueId> parts, std::int64_t axis) {
  return parts.size() == 1 ? parts[0] : n.add(Concat{.axis = axis}, std::move(parts));
}

ValueId join_dims(NodeImport& n, std::vector<ValueId> parts) {
  Ints all;
  for (ValueId part : parts) {
    const auto known = n.constant_ints(part);
    if (!known) return concat(n, std::move(parts), 0);
    all.insert(all.end(), known->begin(), known->end());
  }
  return n.ints_constant(all);
}

ValueId slice(NodeImport& n, ValueId x, std::int64_t start, std::int64_t end, std::int64_t axis) {
  return n.add(Slice{},
               {x, n.ints_constant({start}), n.ints_constant({end}), n.ints_constant({axis})});
}

ValueId windows_along(NodeImport& n, ValueId x, std::int64_t axis, Slices s) {
  const auto size = static_cast<double>(s.size), step = static_cast<double>(s.step);
  const ValueId length = scalar_dim(n, x, axis);
  const ValueId room = sub(n, length, n.scalar(DType::i64, size));
  const ValueId steps = div(n, room, n.scalar(DType::i64, step));
  const ValueId starts = mul(n, counting(n, add(n, steps, 1)), step);
  const ValueId within = counting(n, n.scalar(DType::i64, size));
  return gather(n, x, add(n, unsqueeze(n, starts, {1}), within), axis);
}

ValueId expand_to(NodeImport& n, ValueId x, ValueId shape) {
  return n.add(Expand{}, {x, shape});
}

ValueId gather(NodeImport& n, ValueId x, ValueId indices, std::int64_t axis) {
  return n.add(Gather{.axis = axis}, {x, indices});
}

ValueId filled(NodeImport& n, ValueId shape, DType dtype, double value) {
  return n.add(ConstantOfShape{.dtype = dtype, .bits = element_bits(number_tensor(dtype, value))},
               {shape});
}

ValueId with_trailing_ones(NodeImport& n, ValueId x, std::int64_t rank) {
  Ints axes;
  for (std::int64_t i = n.known_rank(x); i < rank; ++i) axes.push_back(i);
  return unsqueeze(n, x, axes);
}

ValueId counting(NodeImport& n, ValueId limit) {
  return n.add(Range{}, {n.scalar(DType::i64, 0), limit, n.scalar(DType::i64, 1)});
}

std::uint64_t element_bits(const Tensor& t) {
  std::uint64_t bits = 0;
  if (t.valid() && t.bytes() <= sizeof bits) std::memcpy(&bits, t.data(), t.bytes());
  return bits;
}

ValueId scaled_product(NodeImport& n, std::vector<ValueId> operands, ValueId scale) {
  while (!operands.empty() && operands.back() == no_value) operands.pop_back();
  const ValueId product = n.add(MatMulInteger{}, std::move(operands));
  return mul(n, cast(n, product, n.dtype(scale)), scale);
}

Tensor string_tensor(const Shape& shape, std::vector<std::string> texts) {
  struct Storage {
    std::vector<std::string> texts;
    std::vector<StringRef> refs;
  };
  auto storage = std::make_shared<Storage>();
  storage->texts = std::move(texts);
  for (const std::string& s : storage->texts) storage->refs.push_back({s.data(), s.size()});
  if (storage->refs.empty()) storage->refs.reserve(1);  // a tensor's data is never null
  const auto* data = reinterpret_cast<const std::byte*>(storage->refs.data());
  return {{DType::string, shape}, std::move(storage), data};
}

Tensor number_tensor(DType dtype, double value) {
  return visit_dtype(dtype, ScalarOf{dtype, value});
}

}  // namespace quern::onnx
