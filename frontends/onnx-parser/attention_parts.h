// SPDX-License-Identifier: Apache-2.0
// What the attention operators of ai.onnx and com.microsoft have in common.
#pragma once

#include <cstdint>
#include <optional>

#include "frontends/onnx-parser/expand.h"

namespace quern::onnx {

// [batch, rows, heads * width] -> [batch, heads, rows, width]
ValueId split_heads(NodeImport& n, ValueId x, std::int64_t heads);
// The inverse.
ValueId join_heads(NodeImport& n, ValueId x);

// A positive number of heads.
std::int64_t head_count(NodeImport& n, std::string_view attribute);

// The factor of the scores.
struct ScoreScale {
  float factor = 1;      // the part known at import
  ValueId q = no_value;  // the queries, already scaled by the part that is not known
};
// `given`, or 1 / sqrt(width) of q [..., width].
ScoreScale score_scale(NodeImport& n, ValueId q, std::optional<float> given);

// Keys that a causal query sees, [rows, keys]: those up to `past` plus its own row. `past`: i64 of
// one element, or no_value for none.
ValueId causal_keys(NodeImport& n, ValueId q, ValueId k, ValueId past);

}  // namespace quern::onnx
