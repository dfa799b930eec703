// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression: per batch and class, boxes in the order of their scores, without those that
// overlap an earlier one too much. Rows of the result: batch, class, box.
//
// ONNX: NonMaxSuppression (opsets 10, 11). Boxes below or at the score threshold are out (NaN is
// too), of equal scores the lower index is first; a box goes when its intersection over union with
// a selected one is above the threshold. No max_output_boxes_per_class selects nothing.
#include <algorithm>

#include "graph/ops/data_dependent.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/contract/sorting.h"

namespace quern {
namespace {

// ---- reference

struct Box {
  float low_y, low_x, high_y, high_x;

  float area() const { return (high_y - low_y) * (high_x - low_x); }
};

// The meaning of the four numbers of a box: two corners (y, x), or the centre (x, y), width and
// height.
enum class BoxForm : std::uint8_t { corners, center };

Box box_at(const float* b, BoxForm form) {
  if (form == BoxForm::center) {
    const float x = b[2] / 2;
    const float y = b[3] / 2;
    return {b[1] - y, b[0] - x, b[1] + y, b[0] + x};
  }
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

bool overlap(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.high_y, b.high_y) - std::max(a.low_y, b.low_y);
  const float width = std::min(a.high_x, b.high_x) - std::max(a.low_x, b.low_x);
  if (!(height > 0) || !(width > 0)) return false;
  const float common = height * width;
  const float all = a.area() + b.area() - common;
  return all > 0 && common / all > threshold;
}

struct Limits {
  std::int64_t per_class;
  float overlap;
  const float* score;  // null: none
  BoxForm form;
};

// The candidates' indices, best first; says how many.
std::int64_t sort_candidates(const float* scores, std::int64_t n, const float* threshold,
                             std::int64_t* order, StopCheck& check) {
  std::int64_t count = 0;
  for_each_until(n, 2, check, [&](std::int64_t i) {
    if (threshold ? scores[i] > *threshold : !std::isnan(scores[i])) order[count++] = i;
  });
  const auto better = [&](std::int64_t a, std::int64_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  partial_sort_until(order, count, count, better, check);
  return count;
}

// Moves the indices that stay to the front of `order`; says how many.
std::int64_t select(const float* boxes, const Limits& limits, std::int64_t candidates,
                    std::int64_t* order, StopCheck& check) {
  std::int64_t selected = 0;
  for (std::int64_t i = 0; i < candidates && selected < limits.per_class; ++i) {
    if (check.spend(8 + 4 * selected)) break;
    const Box box = box_at(boxes + 4 * order[i], limits.form);
    const bool goes = std::any_of(order, order + selected, [&](std::int64_t earlier) {
      return overlap(box_at(boxes + 4 * earlier, limits.form), box, limits.overlap);
    });
    if (!goes) order[selected++] = order[i];
  }
  return selected;
}

Limits limits_of(const ReferenceCall& call) {
  return {call.has(2) ? index_at(call.inputs[2], 0) : 0,
          call.has(3) ? *call.inputs[3].as<float>() : 0.0f,
          call.has(4) ? call.inputs[4].as<float>() : nullptr,
          call.as<NonMaxSuppression>().center_point_box ? BoxForm::center : BoxForm::corners};
}

Status non_max_suppression_reference(const ReferenceCall& call) {
  const Shape& scores = call.inputs[1].type.shape;
  const std::int64_t n = scores[2];
  const Limits limits = limits_of(call);
  auto* order = call.scratch.take<std::int64_t>(static_cast<std::size_t>(n));
  auto* out = call.outputs[0].as<std::int64_t>();
  std::int64_t rows = 0;
  StopCheck check(call.stop);
  if (n == 0) {
    call.outputs[0].type.shape = {0, 3};
    return {};
  }
  for (std::int64_t b = 0; b < scores[0] && !check.is_over(); ++b)
    for (std::int64_t c = 0; c < scores[1] && !check.spend(16); ++c) {
      const float* score = call.inputs[1].as<float>() + (b * scores[1] + c) * n;
      const std::int64_t candidates = sort_candidates(score, n, limits.score, order, check);
      const std::int64_t kept =
          select(call.inputs[0].as<float>() + b * n * 4, limits, candidates, order, check);
      for (std::int64_t i = 0; i < kept; ++i, ++rows) {
        out[3 * rows] = b;
        out[3 * rows + 1] = c;
        out[3 * rows + 2] = order[i];
      }
    }
  call.outputs[0].type.shape = {rows, 3};
  return {};
}

std::size_t non_max_suppression_scratch(const Op&, std::span<const TensorType> inputs,
                                        std::span<const TensorType>) {
  return Scratch::bytes_for<std::int64_t>(static_cast<std::size_t>(inputs[1].shape[2]));
}

}  // namespace

const OpKernels& NonMaxSuppression::kernels() {
  static constexpr OpKernels table{
      .reference = {non_max_suppression_reference, non_max_suppression_scratch}};
  return table;
}

}  // namespace quern
