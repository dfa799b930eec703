// SPDX-License-Identifier: Apache-2.0
// From the detector's map of "how likely is this pixel text" to rectangles around lines of text.
// Source: Liao et al., "Real-time Scene Text Detection with Differentiable Binarization", 2020.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "examples/common/image.h"

namespace examples {

// A rectangle that may be turned. Corners clockwise; text runs from the first to the second.
struct TextRegion {
  std::array<Point, 4> corners;
  float score = 0;  // mean likelihood of its pixels
};

struct TextRegionOptions {
  float pixel_threshold = 0.3F;   // pixels above it are text
  float region_threshold = 0.6F;  // regions below it are dropped
  float expand = 1.6F;  // the map shows the core of a line: grow by area * expand / perimeter
  float min_side = 3;   // of the core, in pixels of the map
};

// `likelihood`: height x width, row by row. Regions come in reading order, in pixels of the map.
std::vector<TextRegion> find_text(std::span<const float> likelihood, int width, int height,
                                  const TextRegionOptions& options = {});

}  // namespace examples
