// SPDX-License-Identifier: Apache-2.0
// The attention operators of ai.onnx and com.microsoft share these parts.
#pragma once

#include <cstdint>
#include <optional>

#include "frontends/onnx-parser/expand.h"

namespace quern::onnx {

// [batch, rows, heads * width] -> [batch, heads, rows, width]
ValueId split_heads(NodeImport& n, ValueId x, std::int64_t heads);
// The inverse.
ValueId join_heads(NodeImport& n, ValueId x);

// The rows of x [T, C] at the places that `offsets` [B, S] lists first: [B, S, C], zeros elsewhere.
ValueId with_padding(NodeImport& n, ValueId x, ValueId offsets);
// The inverse: the `count`, i64 [1], rows that it lists first of x [B, S, C].
ValueId without_padding(NodeImport& n, ValueId x, ValueId offsets, ValueId count);

// From 1 to most_heads; 1 after an error.
inline constexpr std::int64_t most_heads = std::int64_t{1} << 20;
std::int64_t head_count(NodeImport& n, std::string_view attribute);

// The factor of the scores.
struct ScoreScale {
  float factor = 1;      // the part known at import
  ValueId q = no_value;  // the queries, already scaled by the part that is not known
};
// `given`, or 1 / sqrt(width) of q [..., width].
ScoreScale score_scale(NodeImport& n, ValueId q, std::optional<float> given);

// Repeats every head of k or v [batch, heads, rows, width] for each of its heads of q.
ValueId repeat_heads(NodeImport& n, ValueId x, ValueId q);

// The pairs to rotate: neighbours, or one element of each half.
enum class Pairs : std::uint8_t { neighbours, of_halves };
struct Rotation {
  ValueId cos, sin;        // [..., pairs], which broadcast to the pairs of x
  std::int64_t width = 0;  // of the part of the last dimension that turns; 0: all of it, or
  ValueId width_at_run = no_value;  // i64 [1]: as much as this says
};
// x with its last dimension turned.
ValueId rotated(NodeImport& n, ValueId x, const Rotation& r, Pairs pairs);

}  // namespace quern::onnx
