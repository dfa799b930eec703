// SPDX-License-Identifier: Apache-2.0
// Flattened trees of sums and products: exporters write 0.5 * x * (1 + erf(x / sqrt 2)) in every
// possible order, and a rule should match all of them.
//
// Shapes are checked for numbers only: a rule that uses these functions finds that all values are
// computed element by element from one value, and so have its shape.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "graph/graph.h"

namespace quern::passes {

// A few unordered values and a number: c * (factors), or c + (terms).
class Terms {
 public:
  static constexpr std::size_t max_size = 4;

  explicit Terms(double constant) : constant(constant) {}

  std::span<const ValueId> values() const { return {values_.data(), size_}; }
  std::size_t size() const { return size_; }
  // True if the values are n times `v` and nothing else.
  bool are_all(ValueId v, std::size_t n) const;
  // If there are two values, one of them `v`: the other one.
  std::optional<ValueId> other(ValueId v) const;
  bool add(ValueId v);  // false if there are too many

  double constant;

 private:
  std::array<ValueId, max_size> values_{};
  std::size_t size_ = 0;
};

// `v` as a product: through Mul, Div by a number, Neg, squares and cubes, but not through `whole`.
// nullopt if there are more than max_size factors.
std::optional<Terms> product_of(const Graph& g, ValueId v, ValueId whole = no_value);
// `v` as a sum: through Add and Sub of a number, but not through `whole`.
std::optional<Terms> sum_of(const Graph& g, ValueId v, ValueId whole = no_value);

// slope * x + offset.
struct Line {
  ValueId x;
  double slope = 1;
  double offset = 0;
};
// `v` as a linear function: strips the numbers added to it and multiplied with it, down to `whole`.
Line line_of(const Graph& g, ValueId v, ValueId whole = no_value);

// All values in the tree of products that computes `v`, leaves and inner nodes.
class FactorTree {
 public:
  FactorTree(const Graph& g, ValueId v) { collect(g, v, 3); }
  std::span<const ValueId> values() const { return {values_.data(), size_}; }

 private:
  void collect(const Graph& g, ValueId v, int depth);

  std::array<ValueId, 14> values_{};
  std::size_t size_ = 0;
};

}  // namespace quern::passes
