// SPDX-License-Identifier: Apache-2.0
// The order in which steps run: of all orders that their dependences allow, one that needs little
// memory.
#pragma once

#include <cstdint>
#include <vector>

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
    std::vector<std::uint32_t> before;  // nodes that it waits for, all earlier in the list
    std::uint64_t scratch = 0;          // live while it runs
    std::vector<InPlace> in_place;
  };
  std::vector<Buffer> buffers;
  std::vector<Node> nodes;
};

struct OrderAnswer {
  std::vector<std::uint32_t> order;
  std::uint64_t peak = 0;
  std::uint64_t bound = 0;  // no order needs less: proven

  bool optimal() const { return peak <= bound; }
};

// The most bytes that are live at one time in this order.
std::uint64_t peak_of(const OrderProblem& problem, const std::vector<std::uint32_t>& order);

// Bytes that every order needs: around some node, what it uses and what must live beside it.
std::uint64_t lower_bound(const OrderProblem& problem);

// The order of the list itself unless another needs less. `steps` bounds the search, not time, so
// that the answer is the same everywhere.
OrderAnswer best_order(const OrderProblem& problem, std::size_t steps = 4000);

}  // namespace quern
