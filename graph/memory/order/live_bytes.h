// SPDX-License-Identifier: Apache-2.0
// The effect of running a node of an OrderProblem on the live bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/memory/order/order.h"

namespace quern {

// Those that each node uses.
inline std::vector<std::vector<std::uint32_t>> buffers_of_nodes(const OrderProblem& p) {
  std::vector<std::vector<std::uint32_t>> used(p.nodes.size());
  for (std::uint32_t b = 0; b < p.buffers.size(); ++b)
    for (std::uint32_t n : p.buffers[b].users) used[n].push_back(b);
  return used;
}

// The effect of running a node on the live bytes.
struct Effect {
  std::uint64_t begun = 0;     // bytes of buffers of which it is the first user
  std::uint64_t ended = 0;     // ... the last
  std::uint64_t in_place = 0;  // begun in the place of ended ones
  std::uint64_t transient(std::uint64_t live, std::uint64_t scratch) const {
    return live + begun + scratch - in_place;
  }
  std::uint64_t after(std::uint64_t live) const { return live + begun - ended; }
};

// `begins` and `ends` say of a buffer whether this node is its first or last user.
template <class Begins, class Ends>
Effect effect_of(const OrderProblem& p, std::uint32_t node,
                 const std::vector<std::uint32_t>& buffers, const Begins& begins,
                 const Ends& ends) {
  Effect e;
  for (std::uint32_t b : buffers) {
    if (begins(b)) e.begun += p.buffers[b].size;
    if (ends(b)) e.ended += p.buffers[b].size;
  }
  const auto& pairs = p.nodes[node].in_place;
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const auto taken = [&](const OrderProblem::InPlace& other) {
      return other.result == pairs[k].result && ends(other.operand);
    };
    if (!ends(pairs[k].operand) || !begins(pairs[k].result)) continue;
    if (std::any_of(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(k), taken)) continue;
    e.in_place += std::min(p.buffers[pairs[k].operand].size, p.buffers[pairs[k].result].size);
  }
  return e;
}

}  // namespace quern
