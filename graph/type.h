// SPDX-License-Identifier: Apache-2.0
// The types of graph values: a dimension may be a number, a named symbol or unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <quern/dtype.h>
#include <quern/shape.h>
#include <quern/tensor.h>

namespace quern {

// A number (>= 0), a symbol of the graph (equal symbols are equal numbers), or unknown.
class Dim {
 public:
  constexpr Dim() = default;                                                    // unknown
  constexpr Dim(std::int64_t value) : v_(value < 0 ? unknown_value : value) {}  // NOLINT
  static constexpr Dim symbol(std::uint32_t id) {
    Dim d;
    d.v_ = -2 - static_cast<std::int64_t>(id);
    return d;
  }

  constexpr bool known() const { return v_ >= 0; }
  constexpr bool is_symbol() const { return v_ <= -2; }
  constexpr bool unknown() const { return v_ == unknown_value; }
  constexpr std::int64_t value() const { return v_; }  // only when known()
  constexpr std::uint32_t symbol_id() const { return static_cast<std::uint32_t>(-2 - v_); }
  // True if both are known to be the same number; false if either is unknown.
  constexpr bool same(Dim o) const { return v_ == o.v_ && !unknown(); }
  constexpr bool is(std::int64_t n) const { return v_ == n && known(); }
  // The number, or -1 as in the public API.
  constexpr std::int64_t or_minus_one() const { return known() ? v_ : -1; }

  constexpr bool operator==(const Dim&) const = default;

 private:
  static constexpr std::int64_t unknown_value = -1;
  std::int64_t v_ = unknown_value;
};

// Arithmetic of shape inference: unknown stays unknown, overflow saturates (and is refused when the
// size in bytes is computed).
Dim operator+(Dim a, Dim b);
Dim operator*(Dim a, Dim b);
Dim sub_clamped(Dim a, std::int64_t b);  // max(a - b, 0)
Dim div_exact(Dim a, std::int64_t b);    // unknown unless b divides a
Dim ceil_div(Dim a, std::int64_t b);

// The dimensions of a value whose rank is known.
using Dims = std::vector<Dim>;

// The type of a graph value. For a sequence or an optional, dtype and dims describe its element.
struct ValueType {
  enum class Kind : std::uint8_t { tensor, sequence, optional_tensor, optional_sequence };

  DType dtype = DType::f32;
  std::optional<Dims> dims;  // nullopt: not even the rank is known
  Kind kind = Kind::tensor;

  ValueType() = default;
  ValueType(DType d, std::optional<Dims> ds, Kind k = Kind::tensor)
      : dtype(d), dims(std::move(ds)), kind(k) {}
  explicit ValueType(const TensorType& t)
      : ValueType(t.dtype, Dims(t.shape.begin(), t.shape.end())) {}

  bool is_tensor() const { return kind == Kind::tensor; }
  bool is_sequence() const { return kind == Kind::sequence || kind == Kind::optional_sequence; }
  bool is_optional() const {
    return kind == Kind::optional_tensor || kind == Kind::optional_sequence;
  }
  bool has_rank() const { return dims.has_value(); }
  // The concrete shape, once every dimension is a number and the rank is at most max_rank.
  std::optional<Shape> shape() const;
  bool fully_known() const { return is_tensor() && shape().has_value(); }

  bool operator==(const ValueType&) const = default;
};

Dims to_dims(const Shape& shape);
// The product of the dimensions; unknown if one of them is unknown.
Dim product(std::span<const Dim> dims);
// NumPy broadcasting of two shapes; nullopt if two sizes are incompatible.
std::optional<Dims> broadcast(const Dims& a, const Dims& b);
std::optional<Shape> broadcast(const Shape& a, const Shape& b);
// The more precise dimensions of both sides: a number wins over a symbol, a symbol over unknown.
// nullopt if two numbers differ.
std::optional<Dims> meet(const Dims& a, const Dims& b);

inline std::size_t positive_axis(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

}  // namespace quern
