// SPDX-License-Identifier: Apache-2.0
// A bound on what buffers cost beyond their cheapest banks, because those are too small for them.
//
// Banks have ranks by cost. What is live in one step and may lie below some rank passes the
// capacities of the banks below it by some bytes: so many lie above, and each pays the difference
// to the rank. Bounds of steps that have no buffer in common add up.
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

constexpr std::uint32_t no_bank = ~std::uint32_t{0};

// True if the buffer fits the bank by itself: by its choice, its size, its fixed offset.
bool may_lie_in(const MemoryProblem& problem, std::size_t interval, std::uint32_t bank);

// The bank of least cost in which the buffer may lie, the first of several, or none.
std::uint32_t cheapest_bank(const MemoryProblem& problem, std::size_t interval);

class Spill {
 public:
  // `problem` has banks and must outlive this.
  explicit Spill(const MemoryProblem& problem);

  // Banks of one cost have one rank.
  std::uint32_t rank(std::uint32_t bank) const { return rank_of_[bank]; }

  struct Share {
    std::uint32_t interval;
    std::uint64_t bytes;
  };
  // Steps in which more is live than in those around them; all of them, unless they are very many.
  std::size_t steps() const { return begins_.size() - 1; }
  std::span<const Share> live(std::size_t step) const {
    return {shares_.data() + begins_[step], shares_.data() + begins_[step + 1]};
  }

  // For buffers that lie in banks of at least the given ranks; no number: they do not fit all
  // banks together. Takes time in the order of all lives, in steps at which a buffer begins.
  std::optional<std::uint64_t> cost(std::span<const std::uint32_t> ranks) const;

 private:
  std::optional<std::uint64_t> cost_in(std::size_t step, std::span<const std::uint32_t> ranks,
                                       std::span<const char> counted) const;

  std::vector<std::uint32_t> rank_of_;     // of the banks
  std::vector<std::uint64_t> costs_;       // of the ranks, ascending
  std::vector<std::uint64_t> capacities_;  // of all banks up to the rank
  std::vector<std::size_t> begins_;
  std::vector<Share> shares_;
};

}  // namespace quern
