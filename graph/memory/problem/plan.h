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

constexpr std::uint64_t any_capacity = std::numeric_limits<std::uint64_t>::max();

// A memory that has addresses of its own, from 0.
struct Bank {
  std::string name;                       // no other bank has it
  std::uint64_t capacity = any_capacity;  // in bytes
  std::uint64_t alignment = 1;            // of every offset, beside that of the buffer
  std::uint64_t cost = 0;                 // of each byte of a buffer that lies in it
  std::uint64_t reuse = 0;                // price of a buffer that is reused, see cost_of

  bool operator==(const Bank&) const = default;
};
constexpr std::size_t max_banks = 64;

// The banks in which a buffer may lie.
struct BankChoice {
  std::vector<std::uint32_t> banks;  // indexes, ascending; none: any. One: the buffer is pinned
  std::uint32_t separation = 0;      // not 0: no two buffers of this group lie in one bank
  std::uint32_t colocation = 0;      // not 0: all buffers of this group lie in one bank

  bool operator==(const BankChoice&) const = default;
};

// Without banks there is one memory, as large as it must be. Of the plans that keep the capacity of
// every bank those of the least cost are wanted, and of these the ones of the fewest bytes, which
// are the sizes of all banks together.
struct MemoryProblem {
  std::vector<Interval> intervals;
  std::vector<Bank> banks = {};
  std::vector<BankChoice> choices = {};  // of the intervals; none: any bank is right for all

  bool operator==(const MemoryProblem&) const = default;
};

struct MemoryPlan {
  std::vector<std::uint64_t> offsets;  // of the intervals, in their order
  std::uint64_t size = 0;              // of the arena, or of all banks together
  // Where the problem has banks: the bank of each interval, and the size of each bank.
  std::vector<std::uint32_t> banks = {};
  std::vector<std::uint64_t> bank_sizes = {};

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

// Checks that lifetimes, alignments, gaps, fixed offsets, banks and choices are valid and that sums
// of sizes and costs do not overflow. Strategies get only checked problems. An error names the
// buffer or the bank. Whether the buffers fit the banks is not asked.
Status check(const MemoryProblem& problem);

// Bytes that every plan needs: the larger of the peak of the live bytes, including the padding that
// the common alignment forces, and the highest end of a fixed buffer.
std::uint64_t lower_bound(const MemoryProblem& problem);

// The cost of a valid plan: for each buffer its size times the cost of its bank, and the price of
// reuse in its bank if it is reused there. A buffer is reused if a byte that it holds in some step
// was held by another buffer of the bank in an earlier step. It pays once, however many buffers
// held its bytes before: the barrier that makes them safe waits for all that was done before it.
// 0 without banks.
std::uint64_t cost_of(const MemoryProblem& problem, const MemoryPlan& plan);

// What every plan that keeps the capacities costs at the least; no number if the bytes that are
// live in one step pass the capacities of all banks together, or a buffer has no bank to lie in.
std::optional<std::uint64_t> cost_bound(const MemoryProblem& problem);

// The buffers `members` of a problem as a problem without banks: that of one bank, with its
// alignment.
MemoryProblem bank_problem(const MemoryProblem& problem, std::uint32_t bank,
                           std::span<const std::uint32_t> members);

struct Peak {
  std::uint64_t bytes = 0;
  std::int64_t step = 0;               // the first step with that many live bytes
  std::vector<std::size_t> intervals;  // live in that step, largest first
};
Peak peak_of(const MemoryProblem& problem);

// Checks that no two live buffers overlap, that offsets are aligned and equal to fixed ones, and
// that `size` holds them all; with banks, that each bank holds what lies in it and keeps its
// capacity, and that choices, separations and colocations are kept. Independent of any planner. An
// error names the buffers.
Status validate(const MemoryProblem& problem, const MemoryPlan& plan);

// The share of the arena that is not live in the plan's fullest step.
double fragmentation(const MemoryProblem& problem, const MemoryPlan& plan);

struct PlanLimits {
  std::uint64_t capacity = any_capacity;  // a plan of at most this size is good enough
  double seconds = 1;                     // for strategies that search
  // Step limit of a search. If it is reached before the time limit, the plan is reproducible.
  std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
  // Ends a search early, too. The plan is then valid, but no longer the same everywhere.
  const Stop* stop = nullptr;
};

// Whether there is a plan in an answer to a problem with banks.
enum class Found : std::uint8_t {
  plan,
  nothing,   // the plan is empty: none was found that fits the banks
  no_plans,  // the plan is empty: proven, none fits the banks
};

struct PlanAnswer {
  MemoryPlan plan;          // the best plan found, even if it misses the capacity
  std::uint64_t bound = 0;  // proven: no plan is smaller; with banks, no plan of the least cost
  // With banks:
  std::uint64_t cost = 0;        // of the plan
  std::uint64_t cost_bound = 0;  // proven: no plan costs less
  Found found = Found::plan;
};

enum class PlanStatus : std::uint8_t {
  optimal,     // no plan costs less, and none of this cost is smaller
  feasible,    // fits the capacity
  infeasible,  // no plan fits the capacity, or the banks
  unknown,     // this plan does not fit, or there is none, but another may
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
