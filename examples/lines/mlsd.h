// SPDX-License-Identifier: Apache-2.0
// From M-LSD's maps to line segments.
// Source: Gu et al., "Towards Light-weight and Real-time Line Segment Detection", 2022.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "examples/common/image.h"

namespace examples {

// In shares of the picture: (0, 0) is its upper left corner, (1, 1) the lower right.
struct Segment {
  Point from, to;
  float score = 0;
};

struct SegmentOptions {
  float threshold = 0.1F;
  float min_length = 0.06F;  // in shares of the picture
  std::size_t max_count = 200;
};

// The middle of each segment is a cell of a square map. `scores`: side x side, zero where a
// neighbour scores higher. `offsets`: side x side x 4, from the cell to both ends (x, y, x, y), in
// cells. The best segments come first.
std::vector<Segment> decode_segments(std::span<const float> scores, std::span<const float> offsets,
                                     int side, const SegmentOptions& options = {});

}  // namespace examples
