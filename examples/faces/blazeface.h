// SPDX-License-Identifier: Apache-2.0
// From BlazeFace's raw outputs to faces.
// Source: Bazarevsky et al., "BlazeFace: Sub-millisecond Neural Face Detection on Mobile GPUs",
// 2019.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "examples/common/image.h"

namespace examples {

// In shares of the model's input: (0, 0) is its upper left corner, (1, 1) the lower right.
struct Face {
  Point middle, size;
  std::array<Point, 6> marks;  // right eye, left eye, nose, mouth, right ear, left ear
  float score = 0;             // 0..1
};

// The network looks with anchors: points on a grid, several on each. For each anchor it gives one
// score (before the sigmoid) and 16 numbers in pixels of its input: middle of the box relative to
// the anchor, size of the box, six marks relative to the anchor.
struct AnchorGrid {
  int cells = 0;  // a side
  int anchors_per_cell = 0;
  std::span<const float> scores;  // cells * cells * anchors_per_cell
  std::span<const float> boxes;   // as many times 16
};

// Faces above the threshold of one grid, several for each face.
std::vector<Face> decode_faces(const AnchorGrid& grid, int input_side, float threshold);

// One for each face: those that overlap are mixed, each weighs as much as its score.
std::vector<Face> merge_faces(std::vector<Face> faces, float overlap_threshold = 0.3F);

// Area that two faces share, relative to what they cover together.
float overlap(const Face& a, const Face& b);

}  // namespace examples
