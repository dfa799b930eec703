// SPDX-License-Identifier: Apache-2.0
// Static placement of buffers in one arena: the problem, the plan and its quality, as values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

namespace quern {

class Stop;  // engine/vocabulary/stop.h

// Steps [first, end) of a buffer's life in which only its bytes [from, to) are in use, or none.
struct Gap {
  std::int64_t first = 0;
  std::int64_t end = 0;
  std::uint64_t from = 0;
  std::uint64_t to = 0;

  bool operator==(const Gap&) const = default;
};

// A buffer that is live in the steps [first, end) and keeps its place all that time.
struct Interval {
  std::string name;        // for messages and pictures
  std::uint64_t size = 0;  // in bytes, including the padding of its layout
  std::uint64_t alignment = 64;
  std::int64_t first = 0;
  std::int64_t end = 0;
  // Zeroed when the arena is created and relied on from then on, so that it shares memory with no
  // other buffer.
  bool must_be_zero = false;
  std::optional<std::uint64_t> fixed_offset;
  std::vector<Gap> gaps;  // in order of time

  bool operator==(const Interval&) const = default;
};

// True if at times only a part of the buffer is live.
bool has_parts(const Interval& interval);

struct MemoryProblem {
  std::vector<Interval> intervals;

  bool operator==(const MemoryProblem&) const = default;
};

struct MemoryPlan {
  std::vector<std::uint64_t> offsets;  // of the intervals, in their order
  std::uint64_t size = 0;              // of the arena

  bool operator==(const MemoryPlan&) const = default;
};

// A part of a buffer's life in which its bytes [from, to) are in use.
struct Piece {
  std::size_t interval = 0;
  std::int64_t first = 0;
  std::int64_t end = 0;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

// The lives of all buffers without their gaps; a buffer that must be zero lives from the first step
// to the last. Buffers that are empty or never live have no piece.
std::vector<Piece> pieces_of(const MemoryProblem& problem);

// Checks that lifetimes, alignments, gaps and fixed offsets are valid and that the sum of the sizes
// does not overflow. Strategies get only checked problems. An error names the buffer.
Status check(const MemoryProblem& problem);

// Bytes that every plan needs: the larger of the peak of the live bytes, including the padding that
// the common alignment forces, and the highest end of a fixed buffer.
std::uint64_t lower_bound(const MemoryProblem& problem);

struct Peak {
  std::uint64_t bytes = 0;
  std::int64_t step = 0;               // the first step with that many live bytes
  std::vector<std::size_t> intervals;  // live in that step, largest first
};
Peak peak_of(const MemoryProblem& problem);

// Checks that no two live buffers overlap, that offsets are aligned and equal to fixed ones, and
// that `size` holds them all. Independent of any planner. An error names the buffers.
Status validate(const MemoryProblem& problem, const MemoryPlan& plan);

// The share of the arena that is not live in the plan's fullest step.
double fragmentation(const MemoryProblem& problem, const MemoryPlan& plan);

constexpr std::uint64_t any_capacity = std::numeric_limits<std::uint64_t>::max();

struct PlanLimits {
  std::uint64_t capacity = any_capacity;  // a plan of at most this size is good enough
  double seconds = 1;                     // for strategies that search
  // Step limit of a search. If it is reached before the time limit, the plan is reproducible.
  std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
  // Ends a search early, too. The plan is then valid, but no longer the same everywhere.
  const Stop* stop = nullptr;
};

struct PlanAnswer {
  MemoryPlan plan;          // the best plan found, even if it misses the capacity
  std::uint64_t bound = 0;  // proven: no plan is smaller
};

enum class PlanStatus : std::uint8_t {
  optimal,     // no plan is smaller
  feasible,    // fits the capacity
  infeasible,  // no plan fits the capacity
  unknown,     // this plan does not fit, but another may
};
PlanStatus status_of(const PlanAnswer& answer, std::uint64_t capacity = any_capacity);
std::string_view name_of(PlanStatus status);

using PlanFn = PlanAnswer (*)(const MemoryProblem&, const PlanLimits&);
struct Strategy {
  std::string_view name;
  std::string_view summary;
  PlanFn plan;
};
std::span<const Strategy> strategies();
const Strategy& default_strategy();
const Strategy* find_strategy(std::string_view name);  // null if there is none

}  // namespace quern
