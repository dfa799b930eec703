// SPDX-License-Identifier: Apache-2.0
#include "examples/faces/blazeface.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace examples {
namespace {

constexpr std::size_t numbers_per_box = 16;

// This is the length that two intervals, given by middle and size, have in common.
float shared(float middle_a, float size_a, float middle_b, float size_b) {
  const float low = std::max(middle_a - size_a / 2, middle_b - size_b / 2);
  const float high = std::min(middle_a + size_a / 2, middle_b + size_b / 2);
  return std::max(0.0F, high - low);
}

void add(Point& sum, Point p, float weight) {
  sum.x += weight * p.x;
  sum.y += weight * p.y;
}

// The mean of faces, weighted by their scores; its score is the best of them.
Face mix(std::span<const Face> faces) {
  Face mean;
  float total = 0;
  for (const Face& face : faces) total += face.score;
  for (const Face& face : faces) {
    const float weight = face.score / total;
    add(mean.middle, face.middle, weight);
    add(mean.size, face.size, weight);
    for (std::size_t i = 0; i < mean.marks.size(); ++i) add(mean.marks[i], face.marks[i], weight);
    mean.score = std::max(mean.score, face.score);
  }
  return mean;
}

}  // namespace

std::vector<Face> decode_faces(const AnchorGrid& grid, int input_side, float threshold) {
  std::vector<Face> faces;
  const auto cells = static_cast<std::size_t>(grid.cells);
  const auto side = static_cast<float>(input_side);
  for (std::size_t i = 0; i < grid.scores.size(); ++i) {
    const float score = 1 / (1 + std::exp(-grid.scores[i]));
    if (score < threshold) continue;
    const std::size_t cell = i / static_cast<std::size_t>(grid.anchors_per_cell);
    const Point anchor{(static_cast<float>(cell % cells) + 0.5F) / static_cast<float>(cells),
                       (static_cast<float>(cell / cells) + 0.5F) / static_cast<float>(cells)};
    const auto box = grid.boxes.subspan(i * numbers_per_box, numbers_per_box);
    const auto point = [&](std::size_t at) {
      return Point{anchor.x + box[at] / side, anchor.y + box[at + 1] / side};
    };
    Face face{.middle = point(0), .size = {box[2] / side, box[3] / side}, .score = score};
    for (std::size_t k = 0; k < face.marks.size(); ++k) face.marks[k] = point(4 + 2 * k);
    faces.push_back(face);
  }
  return faces;
}

float overlap(const Face& a, const Face& b) {
  const float both = shared(a.middle.x, a.size.x, b.middle.x, b.size.x) *
                     shared(a.middle.y, a.size.y, b.middle.y, b.size.y);
  const float all = a.size.x * a.size.y + b.size.x * b.size.y - both;
  return all > 0 ? both / all : 0;
}

std::vector<Face> merge_faces(std::vector<Face> faces, float overlap_threshold) {
  std::sort(faces.begin(), faces.end(),
            [](const Face& a, const Face& b) { return a.score > b.score; });
  std::vector<Face> merged;
  for (auto first = faces.begin(); first != faces.end();) {
    const Face best = *first;
    const auto next = std::stable_partition(first + 1, faces.end(), [&](const Face& face) {
      return overlap(best, face) >= overlap_threshold;
    });
    merged.push_back(mix({first, next}));
    first = next;
  }
  return merged;
}

}  // namespace examples
