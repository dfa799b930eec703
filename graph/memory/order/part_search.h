// SPDX-License-Identifier: Apache-2.0
// A search over down-sets: sets of nodes that can have run first. What is live after a down-set
// does not depend on the order within it, so a set is searched from once.
//
// Live bytes are submodular in the set that has run: a step that raises no peak and leaves no more
// live than before harms no continuation, so it is taken at once, without an alternative.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "graph/memory/order/order.h"

namespace quern {

// The nodes between two cuts as a problem of their own, numbered from 0.
struct OrderPart {
  OrderProblem problem;
  std::vector<std::uint32_t> nodes;                 // in the whole
  std::vector<char> begun, outlives;                // buffers with users before and behind the part
  std::vector<std::vector<std::uint32_t>> buffers;  // of each node
  std::uint64_t live = 0;                           // before the first node
};

class PartSearch {
 public:
  static constexpr std::uint64_t no_peak = std::numeric_limits<std::uint64_t>::max();
  struct Answer {
    std::vector<std::uint32_t> order;  // empty if none below the limit was found
    std::uint64_t peak = no_peak;
    std::uint64_t bound = 0;
  };

  virtual ~PartSearch() = default;
  // Orders with a peak below `limit`: the best first, by their bottleneck.
  virtual Answer best_first(std::uint64_t limit) = 0;
  // The best `width` down-sets of each size.
  virtual Answer beam(std::uint64_t limit, std::size_t width) = 0;
};

// No order of the whole has a peak below `enough`. What is searched is taken off `steps` and
// `work`; a search that has spent either answers with what it has. All but `enough` outlive the
// search.
std::unique_ptr<PartSearch> make_part_search(const OrderPart& part, std::uint64_t enough,
                                             std::size_t& steps, Work& work);

}  // namespace quern
