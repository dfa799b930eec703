// SPDX-License-Identifier: Apache-2.0
// Values while a graph is evaluated, and what a rule sees of a node.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "tools/oracle/error_bounds.h"
#include "tools/oracle/rounding.h"

namespace quern::tools {

using Numbers = std::vector<double>;

// A tensor on its way through the graph.
struct Traced {
  Tensor value;   // as BoundedTensor::value
  Numbers bound;  // empty: exact
  DType type = DType::f32;
  // The bound of what passes may do to the value. `magnitude`, by element: the operands of the
  // sums and products by constants that end here, without cancellation; empty: |value| + bound.
  // `roundings`: those of the sum of products that ends here. `step`: of the integers that were
  // dequantised to this.
  Numbers magnitude;
  double roundings = 0;
  double step = 0;

  std::int64_t elements() const { return value.shape().elements(); }
  bool is_float() const { return value.dtype() == DType::f64; }
  bool exact() const { return bound.empty(); }
  double error(std::size_t i) const { return bound.empty() ? 0 : bound[i]; }
  Ball at(std::size_t i) const { return {value.span<double>()[i], error(i)}; }
  double size(std::size_t i) const { return magnitude.empty() ? at(i).size() : magnitude[i]; }
};
using TracedPtr = std::shared_ptr<const Traced>;

struct Traces {
  BoundedValue::Kind kind = BoundedValue::Kind::tensor;
  std::vector<TracedPtr> tensors;

  const Traced* tensor() const {
    return kind == BoundedValue::Kind::tensor && !tensors.empty() ? tensors[0].get() : nullptr;
  }
  static Traces undetermined() { return {BoundedValue::Kind::undetermined, {}}; }
};

// f64 for the floats that arithmetic is defined on.
Result<Tensor> widened(const Tensor& t);
// Back: `type` is f16, bf16 or f32.
Result<Tensor> narrowed(const Tensor& t, DType type);
// Any element type but strings as numbers.
Numbers as_numbers(const Tensor& t);
Result<Tensor> number_tensor(const Shape& shape, const Numbers& values);
bool all_zero(const Numbers& values);

// Tells whether the shapes of a node's results are the same in every run.
enum class Structure : std::uint8_t { determined, open };

// Tells whether results are computed, and so rounded to their type, or only moved.
enum class Storing : std::uint8_t { computed, moved };

// One node, evaluated: its rule fills the bounds of `out`.
struct Evaluated {
  const Op& op;
  std::vector<const Traced*> in;  // null: left out
  std::vector<Tensor> values;     // the operands as they were evaluated
  std::vector<Traced>& out;
  // Runs the node's reference, or that of another op, over other operands.
  std::function<Result<std::vector<Tensor>>(const Op&, std::span<const Tensor>)> run;
  Arithmetic arithmetic;
  Structure structure = Structure::determined;
  Storing storing = Storing::computed;

  bool has(std::size_t i) const { return i < in.size() && in[i]; }
  bool exact() const {
    return std::ranges::all_of(in, [](const Traced* t) { return !t || t->exact(); });
  }
  template <class T>
  const T& as() const {
    return *op.as<T>();
  }
  Rounding rounding(std::size_t i = 0) const { return {out[i].type, arithmetic}; }
  Numbers& bound(std::size_t i = 0) {
    out[i].bound.resize(static_cast<std::size_t>(out[i].elements()));
    return out[i].bound;
  }
  void undetermined(std::size_t i) { std::ranges::fill(bound(i), infinity); }
};

// Sets the bounds of every output. Errors: those of references.
Status bound_errors(Evaluated& e);

enum class Width : std::uint8_t { f64, narrow };
// Selects whether a float operand is evaluated as f64 or in its own type.
Width width_of(const Op& op, std::size_t input);
// True if an operand that is not exact leaves the shape of the results open.
bool decides_structure(const OpDef& def, const Op& op, std::size_t input);

}  // namespace quern::tools
