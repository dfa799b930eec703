// SPDX-License-Identifier: Apache-2.0
#include "examples/ocr/text_regions.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace examples {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// A map that is 0 everywhere but in the bars.
struct Map {
  static constexpr int width = 120, height = 80;
  std::vector<float> values = std::vector<float>(width * height);

  // A bar around `middle`; `angle` in radians, clockwise on the screen.
  void bar(Point middle, float length, float thickness, float angle = 0, float value = 0.9F) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const float dx = static_cast<float>(x) + 0.5F - middle.x;
        const float dy = static_cast<float>(y) + 0.5F - middle.y;
        const float u = dx * std::cos(angle) + dy * std::sin(angle);
        const float v = dy * std::cos(angle) - dx * std::sin(angle);
        if (std::abs(u) <= length / 2 && std::abs(v) <= thickness / 2) {
          values[static_cast<std::size_t>(y * width + x)] = value;
        }
      }
    }
  }
  std::vector<TextRegion> find(const TextRegionOptions& options = {}) const {
    return find_text(values, width, height, options);
  }
};

void expect_near(Point p, float x, float y, float tolerance = 1e-3F) {
  EXPECT_NEAR(p.x, x, tolerance);
  EXPECT_NEAR(p.y, y, tolerance);
}

TEST(FindText, FindsNothingInAnEmptyMap) {
  EXPECT_THAT(Map().find(), IsEmpty());
  EXPECT_THAT(find_text({}, 0, 0), IsEmpty());
}

TEST(FindText, ExpandsABarByAreaOverPerimeter) {
  Map map;
  map.bar({60, 40}, 40, 10);
  const auto regions = map.find({.expand = 1});
  ASSERT_THAT(regions, SizeIs(1));
  const auto& c = regions[0].corners;  // 40 * 10 / 100 = 4 on each side
  expect_near(c[0], 36, 31);
  expect_near(c[1], 84, 31);
  expect_near(c[2], 84, 49);
  expect_near(c[3], 36, 49);
  EXPECT_NEAR(regions[0].score, 0.9F, 1e-4F);
}

TEST(FindText, FollowsATurnedLine) {
  Map map;
  const float angle = 0.3F;
  map.bar({60, 40}, 60, 10, angle);
  const auto regions = map.find({.expand = 0});
  ASSERT_THAT(regions, SizeIs(1));
  const auto& c = regions[0].corners;
  EXPECT_NEAR(std::atan2(c[1].y - c[0].y, c[1].x - c[0].x), angle, 0.03F);
  EXPECT_NEAR(std::hypot(c[1].x - c[0].x, c[1].y - c[0].y), 60, 2);
  EXPECT_NEAR(std::hypot(c[3].x - c[0].x, c[3].y - c[0].y), 10, 2);
}

TEST(FindText, ReadsATallBarFromTopToBottom) {
  Map map;
  map.bar({60, 40}, 10, 50);
  const auto regions = map.find({.expand = 0});
  ASSERT_THAT(regions, SizeIs(1));
  const auto& c = regions[0].corners;
  expect_near(c[0], 65, 15);  // the upper right becomes the start of the line
  expect_near(c[1], 65, 65);
}

TEST(FindText, DropsWeakAndTinyRegions) {
  Map map;
  map.bar({30, 20}, 30, 8, 0, 0.5F);  // above the threshold of pixels, below that of regions
  map.bar({90, 60}, 30, 2);           // too thin
  EXPECT_THAT(map.find(), IsEmpty());
  EXPECT_THAT(map.find({.region_threshold = 0.4F}), SizeIs(1));
  EXPECT_THAT(map.find({.min_side = 1}), SizeIs(1));
}

TEST(FindText, SortsAsOneReads) {
  Map map;
  map.bar({90, 21}, 30, 8);  // a little lower, but on the same line as the next
  map.bar({30, 20}, 30, 8);
  map.bar({60, 60}, 30, 8);
  map.bar({60, 40}, 30, 8);
  const auto regions = map.find({.expand = 0});
  ASSERT_THAT(regions, SizeIs(4));
  expect_near(regions[0].corners[0], 15, 16);
  expect_near(regions[1].corners[0], 75, 17);
  expect_near(regions[2].corners[0], 45, 36);
  expect_near(regions[3].corners[0], 45, 56);
}

TEST(FindText, TakesAMapThatIsTextEverywhere) {
  const std::vector<float> map(50 * 20, 1.0F);
  const auto regions = find_text(map, 50, 20, {.expand = 0});
  ASSERT_THAT(regions, SizeIs(1));
  expect_near(regions[0].corners[2], 50, 20);
}

}  // namespace
}  // namespace examples
