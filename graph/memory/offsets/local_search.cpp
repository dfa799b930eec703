// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/offsets/local_search.h"

#include <algorithm>

#include "graph/memory/order/orders.h"

namespace quern {

LocalSearch::LocalSearch(const MemoryProblem& problem, const PlanLimits& limits, std::uint64_t seed)
    : placer_(problem), limits_(limits), random_(seed) {
  accept(by_area(problem), place(by_area(problem)));
  Order start = by_size(problem);
  MemoryPlan plan = place(start);
  if (plan.size < current_.size) accept(std::move(start), std::move(plan));
}

bool LocalSearch::finished() {
  const bool good = best_.size <= placer_.bound() ||
                    (limits_.capacity != any_capacity && best_.size <= limits_.capacity);
  return good || order_.size() < 2 || steps_++ >= limits_.steps || progress() >= 1;
}

double LocalSearch::progress() const {
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  return std::max(seconds / std::max(limits_.seconds, 1e-9),
                  static_cast<double>(steps_) / static_cast<double>(limits_.steps));
}

Order LocalSearch::neighbour() {
  const auto& intervals = placer_.problem().intervals;
  // The highest third of the arena is what has to come down.
  std::vector<std::size_t> high;
  for (std::size_t k = 1; k < order_.size(); ++k)
    if (current_.offsets[order_[k]] + intervals[order_[k]].size > current_.size / 3 * 2)
      high.push_back(k);
  Order order = order_;
  const std::size_t from =
      high.empty() ? 1 + random_() % (order.size() - 1) : high[random_() % high.size()];
  const std::size_t to = random_() % from;
  const auto at = [&](std::size_t k) { return order.begin() + static_cast<std::ptrdiff_t>(k); };
  if (random_() % 2)
    std::rotate(at(to), at(from), at(from + 1));
  else
    std::swap(order[to], order[from]);
  return order;
}

void LocalSearch::accept(Order order, MemoryPlan plan) {
  order_ = std::move(order);
  current_ = std::move(plan);
  if (best_.offsets.size() != current_.offsets.size() || current_.size < best_.size)
    best_ = current_;
}

}  // namespace quern
