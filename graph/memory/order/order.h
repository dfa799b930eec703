// SPDX-License-Identifier: Apache-2.0
// Scheduling for memory: of all orders of the steps that their dependences allow, one with a low
// peak.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/vocabulary/work.h"

namespace quern {

struct OrderProblem {
  // Live from the first of its users to the last.
  struct Buffer {
    std::uint64_t size = 0;
    std::vector<std::uint32_t> users;  // nodes, ascending, each once
    bool live_out = false;             // live to the end
  };
  // `result` may take the memory of `operand` where this node is the last to use that.
  struct InPlace {
    std::uint32_t operand = 0;
    std::uint32_t result = 0;
  };
  struct Node {
    std::vector<std::uint32_t> before;  // its predecessors, all earlier in the list
    std::uint64_t scratch = 0;          // live while it runs
    std::vector<InPlace> in_place;
  };
  std::vector<Buffer> buffers;
  std::vector<Node> nodes;
};

struct OrderAnswer {
  std::vector<std::uint32_t> order;
  std::uint64_t peak = 0;
  std::uint64_t bound = 0;  // proven: no order needs less

  bool optimal() const { return peak <= bound; }
};

// The peak of the live bytes in this order.
std::uint64_t peak_of(const OrderProblem& problem, const std::vector<std::uint32_t>& order);

// Bytes that every order needs: the maximum over nodes of what the node uses and what must be live
// with it.
std::uint64_t lower_bound(const OrderProblem& problem);

// Returns the given order unless it finds one that needs less. The search is bounded by `steps`,
// the sets of nodes that it goes on from, and by `work`, not by time, so that the answer is the
// same everywhere. Without work left, the answer is the best list order so far, or the given order.
OrderAnswer best_order(const OrderProblem& problem, std::size_t steps, Work& work);
OrderAnswer best_order(const OrderProblem& problem, std::size_t steps = 4000);

}  // namespace quern
