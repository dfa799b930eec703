// SPDX-License-Identifier: Apache-2.0
// TimeWarping: c[i, j] = x[i, j] + min(c[i - 1, j - 1], c[i - 1, j], c[i, j - 1]), with 0 before
// the first element and infinity before the other rows and columns; the path is followed back from
// the last element.
//
// com.microsoft: DynamicTimeWarping. As in ONNX Runtime's kernel, a step goes back by both where
// that is cheaper than either, by a row where that is cheaper than the others, and else by a
// column, even if the others are equal and cheaper. Costs that are infinite or NaN may end a path
// at another element than the first.
#include <algorithm>
#include <limits>

#include "graph/ops/data_dependent.h"
#include "kernels/contract/kernel.h"

namespace quern {
namespace {

enum Move : std::uint8_t { by_both, by_row, by_column };

struct Costs {
  const float* x;
  std::int64_t rows, columns;
};

Costs costs_of(const ReferenceCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  return {call.inputs[0].as<float>(), shape[shape.rank() - 2], shape[shape.rank() - 1]};
}

// Writes the move that leads to each element, column by column. `sums` [rows + 1] are of the column
// before at first.
void find_moves(const Costs& c, float* sums, std::uint8_t* moves, StopCheck& check) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::fill_n(sums, c.rows + 1, infinity);
  sums[0] = 0;
  for (std::int64_t j = 0; j < c.columns; ++j) {
    if (check.spend(4 * c.rows)) return;
    float both = sums[0];
    sums[0] = infinity;
    for (std::int64_t i = 0; i < c.rows; ++i) {
      const float row = sums[i], column = sums[i + 1];
      const Move move = both < row && both < column  ? by_both
                        : row < both && row < column ? by_row
                                                     : by_column;
      const float least = move == by_both ? both : move == by_row ? row : column;
      both = column;
      sums[i + 1] = least + c.x[i * c.columns + j];
      moves[i * c.columns + j] = move;
    }
  }
}

// Calls f(row, column) from the last element back.
template <class F>
void follow_back(const Costs& c, const std::uint8_t* moves, F&& f) {
  std::int64_t i = c.rows - 1, j = c.columns - 1;
  while (i >= 0 && j >= 0) {
    f(i, j);
    const std::uint8_t move = moves[i * c.columns + j];
    i -= move != by_column;
    j -= move != by_row;
  }
}

Status time_warping_reference(const ReferenceCall& call) {
  const Costs c = costs_of(call);
  auto* sums = call.scratch.take<float>(static_cast<std::size_t>(c.rows) + 1);
  auto* moves = call.scratch.take<std::uint8_t>(static_cast<std::size_t>(c.rows * c.columns));
  StopCheck check(call.stop);
  find_moves(c, sums, moves, check);
  std::int64_t n = 0;
  if (!check.is_over()) follow_back(c, moves, [&](std::int64_t, std::int64_t) { ++n; });
  auto* y = call.outputs[0].as<std::int32_t>();
  if (!check.is_over())
    follow_back(c, moves, [&, at = n](std::int64_t i, std::int64_t j) mutable {
      --at;
      y[at] = static_cast<std::int32_t>(i);
      y[n + at] = static_cast<std::int32_t>(j);
    });
  call.outputs[0].type.shape = {2, n};
  return {};
}

std::size_t time_warping_scratch(const Op&, std::span<const TensorType> inputs,
                                 std::span<const TensorType>) {
  const Shape& shape = inputs[0].shape;
  const auto rows = static_cast<std::size_t>(shape[shape.rank() - 2]);
  return Scratch::bytes_for<float>(rows + 1) +
         Scratch::bytes_for<std::uint8_t>(static_cast<std::size_t>(shape.elements()));
}

}  // namespace

const OpKernels& TimeWarping::kernels() {
  static constexpr OpKernels table{.reference = {time_warping_reference, time_warping_scratch}};
  return table;
}

}  // namespace quern
