// SPDX-License-Identifier: Apache-2.0
// Types of what loops carry from iteration to iteration.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "frontends/onnx-parser/node_import.h"

namespace quern::onnx {

// The dimensions that both types have: a carried value may change its shape, except for dimensions
// that the body declares and the initial value confirms.
std::optional<Dims> common(const std::optional<Dims>& a, const std::optional<Dims>& b);

// The carried values of a body: first input, first output and number.
struct CarriedValues {
  std::size_t input = 0;
  std::size_t output = 0;
  std::size_t count = 0;
};

// Makes a body with inputs of these types; nullopt after an error, which is already reported.
using MakeBody = std::function<std::optional<Graph>(std::span<const ValueType> types,
                                                    std::vector<ValueId>& captures)>;

// Makes the body with inputs of `types`, weakened until they hold in every iteration by induction,
// regardless of the model's declarations.
std::optional<Graph> steady_body(NodeImport& n, const MakeBody& make, const CarriedValues& carried,
                                 std::vector<ValueType> types, std::vector<ValueId>& captures);

}  // namespace quern::onnx
