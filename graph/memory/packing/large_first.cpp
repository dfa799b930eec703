// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/packing/large_first.h"

#include "graph/memory/offsets/skyline.h"
#include "graph/memory/order/orders.h"

namespace quern {
namespace {

double extent(const Interval& i) {
  return static_cast<double>(i.size) * (static_cast<double>(i.end) - static_cast<double>(i.first));
}

}  // namespace

std::optional<MemoryPlan> place_large_first(Placer& placer, const SmallBuffers& small) {
  const auto& intervals = placer.problem().intervals;
  const Order order = small.by_life ? by_life(placer.problem()) : by_area(placer.problem());
  double all = 0;
  for (const Interval& i : intervals) all += extent(i);
  MemoryProblem large;
  double taken = 0;
  for (std::uint32_t i : order) {
    if (taken > (1 - small.share) * all) break;
    taken += extent(intervals[i]);
    large.intervals.push_back(intervals[i]);
  }
  const std::optional<MemoryPlan> plan = skyline_plan(large);
  if (!plan) return std::nullopt;
  return placer.place(order, Fit::lowest, plan->offsets);
}

}  // namespace quern
