// SPDX-License-Identifier: Apache-2.0
// Sums and products seen through their tree: exporters write 0.5 * x * (1 + erf(x / sqrt 2)) in
// every order there is, and a rule should not care.
//
// Shapes are not looked at, but for numbers: a rule that uses these finds that all values come from
// one, element by element, and so have its shape.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "graph/graph.h"

namespace quern::passes {

// A few values in no order, and a number: c * (factors), or c + (terms).
class Terms {
 public:
  static constexpr std::size_t max_size = 4;

  explicit Terms(double constant) : constant(constant) {}

  std::span<const ValueId> values() const { return {values_.data(), size_}; }
  std::size_t size() const { return size_; }
  // n times `v` and nothing else.
  bool are_all(ValueId v, std::size_t n) const;
  // Of two, the one that is not `v`.
  std::optional<ValueId> other(ValueId v) const;
  bool add(ValueId v);  // false: too many

  double constant;

 private:
  std::array<ValueId, max_size> values_{};
  std::size_t size_ = 0;
};

// `v` as a product: through Mul, Div by a number, Neg, squares and cubes, but not through `whole`.
// Nothing when there are more than a few factors.
std::optional<Terms> product_of(const Graph& g, ValueId v, ValueId whole = no_value);
// `v` as a sum: through Add and Sub of a number, but not through `whole`.
std::optional<Terms> sum_of(const Graph& g, ValueId v, ValueId whole = no_value);

// slope * x + offset.
struct Line {
  ValueId x;
  double slope = 1;
  double offset = 0;
};
// `v` with the numbers that are added to it and multiplied with it taken off, down to `whole`.
Line line_of(const Graph& g, ValueId v, ValueId whole = no_value);

// All values in the tree of products that makes `v`, leaves and inner ones.
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
