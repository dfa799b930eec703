// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/window.h"

#include <limits>

#include <gmock/gmock.h>

#include "graph/ops/windows.h"
#include "kernels/contract/stretches.h"

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

ResolvedWindow line_window(std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                           std::int64_t pad) {
  return {Shape{kernel}, Shape{stride}, Shape{dilation}, Shape{pad}, Shape{0}};
}

// That `all` are positions [0, out) in their order, each with the taps of its own window.
void expect_positions(const std::vector<Stretch>& all, const ResolvedWindow& w, std::int64_t in,
                      std::int64_t out) {
  std::int64_t o = 0;
  for (const Stretch& s : all) {
    ASSERT_EQ(s.begin, o);
    ASSERT_GT(s.end, o);
    for (; o < s.end; ++o) {
      const TapRange taps = taps_between(w, 0, o, 0, in);
      ASSERT_EQ(s.taps, taps.size()) << "position " << o;
      if (s.taps == 0) continue;
      ASSERT_EQ(s.tap, taps.begin) << "position " << o;
      ASSERT_EQ(s.in + (o - s.begin) * w.strides[0], taps.first + s.tap * w.dilations[0]);
    }
  }
  ASSERT_EQ(o, out);
}

TEST(Stretches, HaveTheTapsOfEachPosition) {
  for (const std::int64_t in : {1, 2, 3, 7, 20})
    for (const std::int64_t kernel : {1, 2, 3, 5, 9})
      for (const std::int64_t stride : {1, 2, 3, 8, 25})
        for (const std::int64_t dilation : {1, 2, 5, 21})
          for (const std::int64_t pad : {0, 1, 4, 30, 100})
            for (const std::int64_t out : {1, 2, 40}) {
              SCOPED_TRACE(::testing::Message()
                           << "in " << in << ", kernel " << kernel << ", stride " << stride
                           << ", dilation " << dilation << ", pad " << pad << ", out " << out);
              const ResolvedWindow w = line_window(kernel, stride, dilation, pad);
              const std::vector<Stretch> all = stretches_of(w, 0, in, out);
              ASSERT_NO_FATAL_FAILURE(expect_positions(all, w, in, out));
              ASSERT_LE(all.size(), static_cast<std::size_t>(2 * kernel + 1));
            }
}

// One for each position of padding took all memory.
TEST(Stretches, AreFewInAnyPadding) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(stretches_of(line_window(1, 1, 1, huge), 0, 4, 2 * huge).size(), 3u);
  EXPECT_LE(stretches_of(line_window(3, 1, 5, huge), 0, 4, 2 * huge).size(), 7u);
  EXPECT_LE(stretches_of(line_window(9, 1, 1, 1), 0, 4, huge).size(), 19u);
}

}  // namespace
}  // namespace quern::testing
