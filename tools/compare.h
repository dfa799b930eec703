// SPDX-License-Identifier: Apache-2.0
// Compares a tensor with the expected one and finds the largest difference.
#pragma once

#include <cstdint>
#include <string>

#include <quern/status.h>
#include <quern/tensor.h>

#include "tools/json.h"

namespace quern::tools {

// The tolerance of a comparison. Type and shape must be equal; integers, bool and strings too; NaN
// equals NaN, an infinity itself.
struct Criterion {
  enum class Kind : std::uint8_t {
    // |got - wanted| <= atol + rtol * |wanted| for every element
    elementwise,
    // mean |got - wanted| <= mean_abs, and the share of elements outside of atol + rtol * |wanted|
    // is at most max_outside; of integers: the share of elements that differ.
    statistical,
  };

  Kind kind = Kind::elementwise;
  double rtol = 1e-3;
  double atol = 1e-7;
  double mean_abs = 0;
  double max_outside = 0;
  // Elementwise: besides, so much of the largest |wanted| of the tensor. What is nearly 0 because
  // large numbers cancelled has their rounding.
  double of_largest = 0;

  bool operator==(const Criterion&) const = default;
};

struct Comparison {
  bool ok = true;
  std::string reason;        // empty when ok
  std::int64_t outside = 0;  // elements
  double max_abs = 0;
  double mean_abs = 0;
};

Comparison compare(const TensorView& got, const TensorView& wanted, const Criterion& criterion);
// Byte for byte; strings by their text.
bool identical(const TensorView& a, const TensorView& b);

// The largest magnitude of the finite elements; 0 if the type has no rounding.
double largest_magnitude(const TensorView& tensor);
std::string element_text(const TensorView& tensor, std::int64_t element);
// "[0,3,17]"
std::string position_text(const Shape& shape, std::int64_t element);
// "f32[3] = {1, 2, 3}", at most `max` elements.
std::string elements_text(const TensorView& tensor, std::int64_t max);

// The criterion in an index.json for output `output` of data set `set` of `model` (an entry of
// "models").
Criterion criterion_of(const Json& model, std::size_t set, std::size_t output);
// The entry of the model called `name`; null if there is none.
const Json* find_model(const Json& index, std::string_view name);

}  // namespace quern::tools
