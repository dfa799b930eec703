// SPDX-License-Identifier: Apache-2.0
// The nodes of a model whose products can be those of 8-bit integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "tools/quantize/edited_model.h"

namespace quern::tools {

// A Conv, MatMul or Gemm with constant weights of f32.
struct ProductNode {
  std::size_t node;  // of the graph
  std::string_view input;
  std::string_view weights;
  std::string_view bias;  // "": none
  // The dimension of the weights that has a number for each channel of the result; nothing: a stack
  // of matrices, which share one scale.
  std::optional<std::size_t> channel_axis;
};

// Batch normalisations that follow a convolution, and nothing else, become part of its weights.
// Returns their number.
Result<std::size_t> fold_batch_norms(EditedModel& model);

// In the order of the graph, without the nodes whose names, or first outputs, are in `kept`.
// Errors: invalid_argument, a name that no node has.
Result<std::vector<ProductNode>> find_targets(const EditedModel& model,
                                              std::span<const std::string> kept);

}  // namespace quern::tools
