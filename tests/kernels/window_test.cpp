// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/window.h"

#include <limits>

#include <gmock/gmock.h>

#include "graph/ops/windows.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

using enum PartialWindow;

TEST(Window, CountsPositions) {
  const auto count = [](std::int64_t in, std::int64_t kernel, std::int64_t stride,
                        PartialWindow partial) {
    return window_count(in, kernel, stride, 1, 0, 0, partial);
  };
  EXPECT_EQ(count(5, 3, 1, dropped), 3);
  EXPECT_EQ(count(6, 3, 2, dropped), 2);
  EXPECT_EQ(count(6, 3, 2, kept), 3);
  EXPECT_EQ(count(2, 3, 1, dropped), 0);
  EXPECT_EQ(count(0, 1, 1, dropped), 0);
  EXPECT_EQ(count(0, 1, 4, kept), 0);
  EXPECT_EQ(window_count(5, 3, 1, 2, 1, 1, dropped), 3);  // extent 5 in 7
}

TEST(Window, CeilModeHasAPositionForWhatIsLeft) {
  EXPECT_EQ(window_count(5, 3, 3, 3, 0, 0, kept), 1);  // extent 7 in 5: one that hangs over
  EXPECT_EQ(window_count(5, 3, 3, 3, 0, 0, dropped), 0);
}

TEST(Window, CeilModeDropsAPositionInTheEndPadding) {
  EXPECT_EQ(window_count(1, 1, 2, 1, 0, 1, kept), 1);
  EXPECT_EQ(window_count(3, 2, 2, 1, 0, 1, kept), 2);
}

TEST(Window, AbsurdSizesDoNotOverflow) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_GT(window_count(huge, max_extent, 1, 1, max_extent, max_extent, kept), 0);
  EXPECT_EQ(window_count(huge, max_extent, 1, max_extent, 0, 0, kept), 0);
}

StopCheck no_limit(nullptr);

TEST(Window, VisitsTheTapsInside) {
  const ResolvedWindow w = explicit_window(Ints{2, 3}, Ints{1, 2}, Ints{1, 2}, Ints{1, 1, 0, 0});
  std::vector<std::pair<std::int64_t, std::int64_t>> seen;
  // Rows -1 and 0, columns -1, 1 and 3 of a 2 x 3 channel.
  for_each_tap(w, Shape{2, 3}, Shape{0, 0}, no_limit,
               [&](std::int64_t e, std::int64_t t) { seen.emplace_back(e, t); });
  EXPECT_THAT(seen, ElementsAre(Pair(1, 4)));
}

TEST(Window, VisitsNothingOfAnEmptyChannel) {
  const ResolvedWindow w = explicit_window(Ints{3}, {}, {}, Ints{2, 2});
  for (std::int64_t p = 0; p < 2; ++p)
    for_each_tap(w, Shape{0}, Shape{p}, no_limit, [](std::int64_t, std::int64_t) { FAIL(); });
}

}  // namespace
}  // namespace quern::testing
