// SPDX-License-Identifier: Apache-2.0
// Random problems.
#pragma once

#include <algorithm>
#include <random>
#include <string>

#include "graph/memory/problem/plan.h"

namespace quern {

inline Interval interval(std::int64_t first, std::int64_t end, std::uint64_t size,
                         std::uint64_t alignment = 1) {
  return {.name = std::to_string(first) + "-" + std::to_string(end) + "x" + std::to_string(size),
          .size = size,
          .alignment = alignment,
          .first = first,
          .end = end};
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  // From 0 to n - 1.
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

struct Features {
  bool alignments = false;
  bool gaps = false;
  bool parts = false;  // gaps in which a part is live
  bool zeros = false;
  bool fixed = false;
};

inline void add_gap(Interval& i, Random& random, bool part) {
  if (i.end - i.first < 3 || i.size < 2) return;
  const std::int64_t first =
      i.first + 1 +
      static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(i.end - i.first - 2)));
  Gap gap{first, first + 1, 0, 0};
  if (part) {
    gap.from = random.below(i.size);
    gap.to = gap.from + 1 + random.below(i.size - gap.from);
  }
  i.gaps.push_back(gap);
}

inline MemoryProblem random_problem(std::size_t buffers, unsigned seed, const Features& f = {},
                                    std::uint64_t max_size = 12, std::uint64_t steps = 8) {
  Random random(seed);
  MemoryProblem p;
  for (std::size_t n = 0; n < buffers; ++n) {
    const auto first = static_cast<std::int64_t>(random.below(steps));
    const auto end = first + 1 + static_cast<std::int64_t>(random.below(steps));
    Interval i = interval(first, end, random.one_in(20) ? 0 : 1 + random.below(max_size));
    if (f.alignments) i.alignment = std::uint64_t{1} << random.below(4);
    if (f.gaps && random.one_in(3)) add_gap(i, random, f.parts && random.one_in(2));
    if (f.zeros && random.one_in(8)) i.must_be_zero = true;
    p.intervals.push_back(std::move(i));
  }
  if (!f.fixed || buffers == 0) return p;
  // Two of the buffers are fixed, far enough apart.
  p.intervals[0].fixed_offset = p.intervals[0].alignment * random.below(3);
  if (buffers > 1) p.intervals[1].fixed_offset = p.intervals[1].alignment * (40 + random.below(3));
  return p;
}

}  // namespace quern
