// SPDX-License-Identifier: Apache-2.0
// One-line summaries of tensors, and the ranking of class scores.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <quern/session.h>
#include <quern/tensor.h>

#include "tools/json.h"

namespace quern::tools {

struct Statistics {
  double min = 0, mean = 0, max = 0;  // of the finite elements
  std::int64_t finite = 0;
  std::int64_t not_a_number = 0;
  std::int64_t infinite = 0;
};
Statistics statistics(const TensorView& tensor);
// "min -1.2, mean 0.05, max 3.4, 2 NaN; {0.1, 0.2, ...}"
std::string summary_text(const TensorView& tensor);
Json summary_json(const TensorView& tensor);
// "{setosa: 0.97, virginica: 0.03}": the first entries of a map, [n] both.
std::string map_text(const TensorView& keys, const TensorView& values);

struct RankedClass {
  std::int64_t index = 0;
  double probability = 0;
};
struct Ranking {
  std::vector<RankedClass> classes;  // best first
  bool softmax_applied = false;      // the numbers were no distribution
};
// The ranking for row `row` of `rows` equal parts of `scores`, which has a float or integer type.
Ranking rank_classes(const TensorView& scores, std::int64_t row, std::int64_t rows, int count);

// The number of rows of class scores in the tensor: [C], [N,C] or [N,C,1,1]; nullopt for other
// shapes or types.
std::optional<std::int64_t> score_rows(const TensorView& tensor);

// Lines without their ends; empty ones at the end are dropped.
std::vector<std::string> lines_of(std::string_view text);

}  // namespace quern::tools
