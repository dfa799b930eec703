// SPDX-License-Identifier: Apache-2.0
#include "graph/type.h"

#include <limits>

namespace quern {
namespace {
constexpr std::int64_t largest_size = std::numeric_limits<std::int64_t>::max();
}

Dim operator+(Dim a, Dim b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  if (!a.known() || !b.known()) return {};
  std::int64_t r = 0;
  return __builtin_add_overflow(a.value(), b.value(), &r) ? largest_size : r;
}

Dim operator*(Dim a, Dim b) {
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  if (a.is(0) || b.is(0)) return 0;
  if (!a.known() || !b.known()) return {};
  std::int64_t r = 0;
  return __builtin_mul_overflow(a.value(), b.value(), &r) ? largest_size : r;
}

Dim sub_clamped(Dim a, std::int64_t b) {
  if (b == 0) return a;
  if (!a.known()) return {};
  return a.value() > b ? a.value() - b : 0;
}

Dim div_exact(Dim a, std::int64_t b) {
  if (b == 1) return a;
  if (!a.known() || b <= 0 || a.value() % b != 0) return {};
  return a.value() / b;
}

Dim ceil_div(Dim a, std::int64_t b) {
  if (b == 1) return a;
  if (!a.known() || b <= 0) return {};
  return a.value() / b + (a.value() % b != 0);
}

std::optional<Shape> ValueType::shape() const {
  if (!dims || dims->size() > Shape::max_rank) return std::nullopt;
  Shape s;
  for (Dim d : *dims) {
    if (!d.known()) return std::nullopt;
    s.push_back(d.value());
  }
  return s;
}

Dims to_dims(const Shape& shape) {
  return Dims(shape.begin(), shape.end());
}

Dim product(std::span<const Dim> dims) {
  Dim n = 1;
  for (Dim d : dims) n = n * d;
  return n;
}

namespace {

// One pair of broadcast dimensions; false when they clash.
bool broadcast_dim(Dim a, Dim b, Dim& out) {
  if (a.is(1) || a.same(b)) {
    out = b;
  } else if (b.is(1)) {
    out = a;
  } else if (a.known() && b.known()) {
    return false;
  } else if (a.known() || b.known()) {
    out = a.known() ? a : b;  // the other one is 1 or the same number
  } else {
    out = Dim();
  }
  return true;
}

}  // namespace

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i)
    if (!broadcast_dim(longer[offset + i], shorter[i], out[offset + i])) return std::nullopt;
  return out;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const auto dims = broadcast(to_dims(a), to_dims(b));
  return dims ? ValueType(DType::f32, dims).shape() : std::nullopt;
}

std::optional<Dims> meet(const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return std::nullopt;
  Dims out = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].known() && b[i].known() && a[i] != b[i]) return std::nullopt;
    if (!a[i].known() && (b[i].known() || a[i].unknown())) out[i] = b[i];
  }
  return out;
}

}  // namespace quern
