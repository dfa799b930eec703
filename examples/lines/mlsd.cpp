// SPDX-License-Identifier: Apache-2.0
#include "examples/lines/mlsd.h"

#include <algorithm>
#include <cmath>

namespace examples {

std::vector<Segment> decode_segments(std::span<const float> scores, std::span<const float> offsets,
                                     int side, const SegmentOptions& options) {
  std::vector<Segment> segments;
  const auto width = static_cast<std::size_t>(side);
  const auto cells = static_cast<float>(side);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] < options.threshold) continue;
    const auto x = static_cast<float>(i % width), y = static_cast<float>(i / width);
    const auto offset = offsets.subspan(4 * i, 4);
    const Segment segment{.from = {(x + offset[0]) / cells, (y + offset[1]) / cells},
                          .to = {(x + offset[2]) / cells, (y + offset[3]) / cells},
                          .score = scores[i]};
    const float length = std::hypot(segment.to.x - segment.from.x, segment.to.y - segment.from.y);
    if (length >= options.min_length) segments.push_back(segment);
  }
  std::sort(segments.begin(), segments.end(),
            [](const Segment& a, const Segment& b) { return a.score > b.score; });
  if (segments.size() > options.max_count) segments.resize(options.max_count);
  return segments;
}

}  // namespace examples
