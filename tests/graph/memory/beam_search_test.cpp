// SPDX-License-Identifier: Apache-2.0
// The beam against the exact search: what it finds fits, and it finds much of what there is.
#include "graph/memory/order/beam_search.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/graph/memory/problems.h"

namespace quern {
namespace {

using Range = SearchBuffer::Range;

struct Case {
  std::vector<SearchBuffer> buffers;
  std::int32_t sections = 8;
  std::int64_t bound = 0;
};

// Lives of one or two stretches of eight sections.
Case random_case(unsigned seed) {
  Random random(seed);
  Case c;
  std::vector<std::int64_t> live(8);
  for (std::uint64_t n = 3 + random.below(8); n > 0; --n) {
    SearchBuffer b;
    b.size = static_cast<std::int64_t>(1 + random.below(9));
    b.alignment = random.one_in(3) ? 2 : 1;
    b.highest = 1000;
    const auto first = static_cast<std::int32_t>(random.below(7));
    const auto end =
        first + 1 + static_cast<std::int32_t>(random.below(8 - static_cast<std::uint64_t>(first)));
    b.live.push_back({first, end});
    if (end + 2 <= 8 && random.one_in(3)) b.live.push_back({end + 1, 8});
    for (const Range& r : b.live)
      for (std::int32_t s = r.first; s < r.end; ++s) live[static_cast<std::size_t>(s)] += b.size;
    c.buffers.push_back(std::move(b));
  }
  c.bound = *std::ranges::max_element(live);
  return c;
}

bool meet(const SearchBuffer& a, const SearchBuffer& b) {
  for (const Range& x : a.live)
    for (const Range& y : b.live)
      if (x.first < y.end && y.first < x.end) return true;
  return false;
}

void expect_fits(const Case& c, std::span<const std::int64_t> offsets, std::int64_t capacity) {
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    ASSERT_EQ(offsets[i] % c.buffers[i].alignment, 0);
    ASSERT_GE(offsets[i], 0);
    ASSERT_LE(offsets[i] + c.buffers[i].size, capacity);
    for (std::size_t j = 0; j < i; ++j) {
      const bool apart = offsets[i] + c.buffers[i].size <= offsets[j] ||
                         offsets[j] + c.buffers[j].size <= offsets[i];
      ASSERT_TRUE(apart || !meet(c.buffers[i], c.buffers[j]));
    }
  }
}

SearchBudget plenty() {
  return {1 << 30, std::chrono::steady_clock::now() + std::chrono::seconds(60)};
}

TEST(BeamSearch, WhatItFindsFits) {
  std::size_t there = 0;
  std::size_t found = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Case c = random_case(seed);
    const auto beam = make_beam_search(c.buffers, c.sections);
    ASSERT_NE(beam, nullptr);
    for (const std::int64_t capacity : {c.bound - 1, c.bound, c.bound + 2}) {
      for (SearchBuffer& b : c.buffers) b.highest = capacity - b.size;
      const auto exact =
          make_exact_search(c.buffers, c.sections, capacity, {Branching::by_offset, false, "TLA"});
      const bool fits = exact->run(plenty()) == SearchResult::feasible;
      const SearchResult result =
          beam->run({.width = 64, .bound = c.bound, .capacity = capacity}, plenty());
      there += fits ? 1 : 0;
      if (result != SearchResult::feasible) continue;
      ++found;
      ASSERT_TRUE(fits) << "seed " << seed;
      ASSERT_NO_FATAL_FAILURE(expect_fits(c, beam->offsets(), capacity)) << "seed " << seed;
    }
  }
  EXPECT_GT(there, 2000U);
  EXPECT_GT(found * 100, there * 95);
}

TEST(BeamSearch, StopsAtItsSteps) {
  const Case c = random_case(1);
  const auto beam = make_beam_search(c.buffers, c.sections);
  EXPECT_EQ(beam->run({.width = 4, .bound = c.bound, .capacity = 1000},
                      {2, std::chrono::steady_clock::now() + std::chrono::seconds(60)}),
            SearchResult::out_of_budget);
}

TEST(BeamSearch, LeavesFixedBuffersToOthers) {
  Case c = random_case(1);
  c.buffers[0].fixed = 0;
  EXPECT_EQ(make_beam_search(c.buffers, c.sections), nullptr);
}

}  // namespace
}  // namespace quern
