// SPDX-License-Identifier: Apache-2.0
// Decides whether buffers fit a capacity: a depth-first search over canonical placements.
//
// In a canonical placement every buffer lies as low as those below it allow, and buffers are placed
// in ascending order of (offset, rank). The search follows MiniMalloc (Moffitt, ASPLOS 2023) and
// adds lifted offsets, a table of failed states and parts solved tightest first. Offsets, sizes and
// the capacity are in units; time is cut into sections, the maximal cliques of live buffers.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace quern {

class Stop;  // engine/vocabulary/stop.h

struct SearchBuffer {
  std::int64_t size = 0;
  std::int64_t alignment = 1;
  std::int64_t highest = 0;  // highest offset allowed at the given capacity
  std::int64_t fixed = -1;   // offset, or -1
  double life = 0;           // steps, for orders
  struct Range {
    std::int32_t first, end;  // sections
  };
  std::vector<Range> live;  // in order, without gaps in time at least one
};

enum class SearchResult : std::uint8_t { feasible, infeasible, out_of_budget };

struct SearchBudget {
  std::int64_t steps = 0;
  std::chrono::steady_clock::time_point deadline;
  const Stop* stop = nullptr;

  bool is_late() const;
};

// One style of search at one capacity. A search that ran out of budget can be continued: failed
// states are remembered.
class ExactSearch {
 public:
  virtual ~ExactSearch() = default;
  virtual SearchResult run(SearchBudget budget) = 0;
  virtual std::int64_t steps() const = 0;                 // of all runs
  virtual std::vector<std::int64_t> offsets() const = 0;  // after `feasible`
};

enum class Branching : std::uint8_t {
  by_offset,   // branches on the buffer that is placed next
  by_section,  // branches on the buffer on the floor of one section
};

struct SearchStyle {
  Branching branching = Branching::by_offset;
  // Restarts: short attempts, each with ranks of its own: the keys in turn, with some noise.
  bool restarts = false;
  // The keys of ranks, the most significant first, each descending: L life, S size, A size x life,
  // T the buffer's fullest section, C number of sections, B size x sections.
  std::string_view order;
};

std::unique_ptr<ExactSearch> make_exact_search(std::span<const SearchBuffer> buffers,
                                               std::int32_t sections, std::int64_t capacity,
                                               SearchStyle style);

}  // namespace quern
