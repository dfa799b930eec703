// SPDX-License-Identifier: Apache-2.0
// Places buffers one by one, each into a gap between those already placed.
#pragma once

#include <utility>

#include "graph/memory/problem/plan.h"

namespace quern {

// The conflict graph: buffers that are live at the same time, as sorted lists of neighbours.
class Conflicts {
 public:
  explicit Conflicts(const MemoryProblem& problem);

  // False if there are too many conflicts to list.
  bool listed() const { return !begins_.empty(); }
  std::span<const std::uint32_t> operator[](std::size_t i) const {
    return {neighbours_.data() + begins_[i], neighbours_.data() + begins_[i + 1]};
  }

 private:
  std::vector<std::size_t> begins_;
  std::vector<std::uint32_t> neighbours_;
};

enum class Fit : std::uint8_t {
  lowest,      // the gap with the lowest address
  tightest,    // the smallest gap
  size_class,  // the smallest size class in which every gap holds the buffer: "good fit" of TLSF
};

using Order = std::vector<std::uint32_t>;

class Placer {
 public:
  explicit Placer(const MemoryProblem& problem);

  const MemoryProblem& problem() const { return problem_; }
  const Conflicts& conflicts() const { return conflicts_; }
  std::uint64_t bound() const { return bound_; }

  // Places all buffers in `order` (each listed once), but those with fixed offsets first. If
  // conflicts are not listed, gaps are not searched: each buffer goes on top of the others. The
  // first offsets.size() buffers of `order` are already placed at `offsets`.
  MemoryPlan place(std::span<const std::uint32_t> order, Fit fit,
                   std::span<const std::uint64_t> offsets = {});

  // For plans that are made buffer by buffer, of several memories: which buffers lie in the one
  // that is looked at, and what its offsets are multiples of.
  struct Memory {
    char mark = 1;
    std::uint64_t alignment = 1;
  };
  void mark(std::uint32_t i, char mark) { placed_[i] = mark; }
  // The offset of a gap for `i` in this memory; above all that lives with it if there is none. Only
  // where conflicts are listed.
  std::int64_t offset_in_gap(std::uint32_t i, Fit fit, std::span<const std::uint64_t> offsets,
                             const Memory& memory);

  // The least difference between the offset of `above` and that of `below`, which is live with it.
  std::int64_t separation(std::uint32_t below, std::uint32_t above) const;

 private:
  struct Range {
    std::int64_t first;  // offsets after it and before `end` would overlap
    std::int64_t end;
  };

  const MemoryProblem& problem_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> first_piece_;  // of each buffer, and one past the last
  std::vector<char> partial_;             // buffers that at times are only partly live
  Conflicts conflicts_;
  std::uint64_t bound_;
  std::vector<char> placed_;
  std::vector<Range> ranges_;
};

// A finished plan together with the lower bound.
inline PlanAnswer answered(const Placer& placer, MemoryPlan plan) {
  return {std::move(plan), placer.bound()};
}

}  // namespace quern
