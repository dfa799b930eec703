// SPDX-License-Identifier: Apache-2.0
#include "examples/ocr/text_regions.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

namespace examples {
namespace {

float dot(Point a, Point b) {
  return a.x * b.x + a.y * b.y;
}

// A rectangle by its middle, the direction along the text, and its size.
struct Rectangle {
  Point middle, along;
  float length = 0, thickness = 0;
};

// Pixels that hang together, and their mean likelihood.
struct Blob {
  std::vector<Point> outline;  // corners of the first and last pixel of each row
  float score = 0;
};

// Collects the pixels of one blob, starting at `start`, and marks them as seen.
Blob flood(std::span<const float> likelihood, int width, int height, int start, float threshold,
           std::vector<char>& seen) {
  struct Row {
    int first = std::numeric_limits<int>::max(), last = -1;
  };
  std::vector<Row> rows(static_cast<std::size_t>(height));
  std::vector<int> open = {start};
  seen[static_cast<std::size_t>(start)] = 1;
  float sum = 0;
  std::size_t count = 0;
  while (!open.empty()) {
    const int at = open.back(), x = at % width, y = at / width;
    open.pop_back();
    sum += likelihood[static_cast<std::size_t>(at)];
    ++count;
    Row& row = rows[static_cast<std::size_t>(y)];
    row = {std::min(row.first, x), std::max(row.last, x)};
    for (int ny = std::max(0, y - 1); ny <= std::min(height - 1, y + 1); ++ny) {
      for (int nx = std::max(0, x - 1); nx <= std::min(width - 1, x + 1); ++nx) {
        const auto next = static_cast<std::size_t>(ny) * static_cast<std::size_t>(width) +
                          static_cast<std::size_t>(nx);
        if (seen[next] != 0 || likelihood[next] <= threshold) continue;
        seen[next] = 1;
        open.push_back(static_cast<int>(next));
      }
    }
  }
  Blob blob{.score = sum / static_cast<float>(count)};
  for (int y = 0; y < height; ++y) {
    const Row& row = rows[static_cast<std::size_t>(y)];
    if (row.last < 0) continue;
    for (const int corner_y : {y, y + 1}) {
      for (const int corner_x : {row.first, row.last + 1}) {
        blob.outline.push_back({static_cast<float>(corner_x), static_cast<float>(corner_y)});
      }
    }
  }
  return blob;
}

// The convex hull, by Andrew's monotone chain.
std::vector<Point> hull_of(std::vector<Point> points) {
  std::sort(points.begin(), points.end(),
            [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  std::vector<Point> hull;
  const auto add = [&](Point p, std::size_t floor) {
    while (hull.size() >= floor + 2) {
      const Point a = hull[hull.size() - 2], b = hull.back();
      if ((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x) > 0) break;
      hull.pop_back();
    }
    hull.push_back(p);
  };
  for (const Point p : points) add(p, 0);
  const std::size_t upper = hull.size() - 1;
  for (auto p = points.rbegin() + 1; p != points.rend(); ++p) add(*p, upper);
  hull.pop_back();
  return hull;
}

// The rectangle around `hull` with sides along `along`.
Rectangle rectangle_along(const std::vector<Point>& hull, Point along) {
  const Point across{-along.y, along.x};
  float low_u = std::numeric_limits<float>::max(), high_u = -low_u, low_v = low_u, high_v = -low_u;
  for (const Point p : hull) {
    low_u = std::min(low_u, dot(p, along));
    high_u = std::max(high_u, dot(p, along));
    low_v = std::min(low_v, dot(p, across));
    high_v = std::max(high_v, dot(p, across));
  }
  const float u = (low_u + high_u) / 2, v = (low_v + high_v) / 2;
  return {.middle = {u * along.x + v * across.x, u * along.y + v * across.y},
          .along = along,
          .length = high_u - low_u,
          .thickness = high_v - low_v};
}

// The smallest rectangle around the hull: one of its sides lies on a side of the hull.
Rectangle smallest_rectangle(const std::vector<Point>& hull) {
  Rectangle best;
  float best_area = std::numeric_limits<float>::max();
  for (std::size_t i = 0; i < hull.size(); ++i) {
    const Point a = hull[i], b = hull[(i + 1) % hull.size()];
    const float length = std::hypot(b.x - a.x, b.y - a.y);
    Point along{(b.x - a.x) / length, (b.y - a.y) / length};
    if (std::abs(along.x) < std::abs(along.y)) along = {along.y, -along.x};
    if (along.x < 0) along = {-along.x, -along.y};
    const Rectangle r = rectangle_along(hull, along);
    if (r.length * r.thickness < best_area) {
      best = r;
      best_area = r.length * r.thickness;
    }
  }
  return best;
}

std::array<Point, 4> corners_of(const Rectangle& r) {
  const auto corner = [&](float u, float v) {
    return Point{r.middle.x + u * r.length * r.along.x - v * r.thickness * r.along.y,
                 r.middle.y + u * r.length * r.along.y + v * r.thickness * r.along.x};
  };
  std::array<Point, 4> c = {corner(-.5F, -.5F), corner(.5F, -.5F), corner(.5F, .5F),
                            corner(-.5F, .5F)};
  // A tall one is a line that was turned clockwise: it reads from top to bottom.
  if (r.thickness >= 1.5F * r.length) std::rotate(c.begin(), c.begin() + 1, c.end());
  return c;
}

std::optional<TextRegion> region_of(const Blob& blob, const TextRegionOptions& options) {
  if (blob.score < options.region_threshold) return std::nullopt;
  Rectangle r = smallest_rectangle(hull_of(blob.outline));
  if (std::min(r.length, r.thickness) < options.min_side) return std::nullopt;
  const float margin = r.length * r.thickness * options.expand / (2 * (r.length + r.thickness));
  r.length += 2 * margin;
  r.thickness += 2 * margin;
  return TextRegion{.corners = corners_of(r), .score = blob.score};
}

Point middle_of(const TextRegion& region) {
  const auto& c = region.corners;
  return {(c[0].x + c[2].x) / 2, (c[0].y + c[2].y) / 2};
}

// Half the height of a region as it stands in the picture.
float reach(const TextRegion& region) {
  const auto [low, high] = std::minmax_element(region.corners.begin(), region.corners.end(),
                                               [](Point a, Point b) { return a.y < b.y; });
  return (high->y - low->y) / 2;
}

// From the top down; regions that stand side by side from left to right.
void sort_for_reading(std::vector<TextRegion>& regions) {
  std::sort(regions.begin(), regions.end(), [](const TextRegion& a, const TextRegion& b) {
    return middle_of(a).y < middle_of(b).y;
  });
  for (auto row = regions.begin(); row != regions.end();) {
    const float limit = middle_of(*row).y + reach(*row) / 2;
    const auto end = std::find_if(
        row, regions.end(), [&](const TextRegion& region) { return middle_of(region).y > limit; });
    std::sort(row, end, [](const TextRegion& a, const TextRegion& b) {
      return middle_of(a).x < middle_of(b).x;
    });
    row = end;
  }
}

}  // namespace

std::vector<TextRegion> find_text(std::span<const float> likelihood, int width, int height,
                                  const TextRegionOptions& options) {
  std::vector<TextRegion> regions;
  std::vector<char> seen(likelihood.size());
  for (std::size_t i = 0; i < likelihood.size(); ++i) {
    if (seen[i] != 0 || likelihood[i] <= options.pixel_threshold) continue;
    const Blob blob =
        flood(likelihood, width, height, static_cast<int>(i), options.pixel_threshold, seen);
    if (auto region = region_of(blob, options)) regions.push_back(*region);
  }
  sort_for_reading(regions);
  return regions;
}

}  // namespace examples
