// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/problem/peaks.h"

#include <algorithm>
#include <array>

#include "graph/memory/order/orders.h"

namespace quern {
namespace {

constexpr std::array peak_levels = {0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5};
// So many at most are planned as smaller problems are, without peaks of their own.
constexpr std::ptrdiff_t most_peak_buffers = 5000;
constexpr double well = 1.005;  // times the bound: a plan that others are built around

struct Rest {
  Order (*order)(const MemoryProblem&);
  Fit fit;
};
constexpr std::array rests = {Rest{by_size, Fit::lowest}, Rest{by_area, Fit::lowest},
                              Rest{by_size, Fit::tightest}, Rest{by_life, Fit::tightest}};

}  // namespace

PeakSearch::PeakSearch(const MemoryProblem& problem)
    : problem_(problem), bound_(lower_bound(problem)), lives_(problem), totals_(lives_.totals()) {}

std::vector<char> PeakSearch::at_peaks(double share) const {
  const double height = share * static_cast<double>(bound_);
  std::vector<std::uint32_t> peaks(totals_.size() + 1);  // up to each section
  for (std::size_t s = 0; s < totals_.size(); ++s)
    peaks[s + 1] = peaks[s] + (static_cast<double>(totals_[s]) >= height ? 1 : 0);
  const auto& intervals = problem_.intervals;
  std::vector<char> chosen(intervals.size());
  for (std::size_t i = 0; i < intervals.size(); ++i)
    chosen[i] = intervals[i].fixed_offset.has_value() ? 1 : 0;
  for (std::size_t i = 0; i < lives_.count(); ++i)
    if (peaks[lives_.span[i].end] > peaks[lives_.span[i].first]) chosen[lives_.buffer[i]] = 1;
  return chosen;
}

// Each level twice: free of what was planned before, and around that where it is any good.
std::optional<MemoryPlan> PeakSearch::attempt(const PlanPeaks& plan_peaks) {
  if (around_settled_ && !settled_.empty()) {
    around_settled_ = false;
    return planned(Around::settled, plan_peaks);
  }
  if (!next_level()) return std::nullopt;
  around_settled_ = !settled_.empty();
  return planned(Around::nothing, plan_peaks);
}

// More buffers are not planned better than fewer of them.
bool PeakSearch::next_level() {
  if (!is_good_) return false;
  is_good_ = false;
  for (const std::ptrdiff_t before = count_; count_ == before; ++level_) {
    if (level_ == peak_levels.size()) return false;
    chosen_ = at_peaks(peak_levels[level_]);
    count_ = std::ranges::count(chosen_, 1);
  }
  // A part of the problem, or no easier than it.
  const std::ptrdiff_t all = std::ssize(chosen_);
  if (count_ > most_peak_buffers || count_ == all) level_ = peak_levels.size();
  return count_ <= most_peak_buffers && count_ < all;
}

MemoryPlan PeakSearch::planned(Around around, const PlanPeaks& plan_peaks) {
  const auto& intervals = problem_.intervals;
  MemoryProblem peaks;
  Order first;
  for (std::uint32_t i = 0; i < intervals.size(); ++i) {
    if (!chosen_[i]) continue;
    first.push_back(i);
    peaks.intervals.push_back(intervals[i]);
    if (around == Around::settled && settled_[i]) peaks.intervals.back().fixed_offset = settled_[i];
  }
  const MemoryPlan plan = plan_peaks(peaks);
  if (static_cast<double>(plan.size) <= well * static_cast<double>(bound_)) {
    is_good_ = true;
    settled_.assign(intervals.size(), std::nullopt);
    for (std::size_t k = 0; k < first.size(); ++k) settled_[first[k]] = plan.offsets[k];
  }
  return with_rest(first, plan);
}

// The best of some orders of all that is not at the peaks.
MemoryPlan PeakSearch::with_rest(const Order& first, const MemoryPlan& plan) {
  if (!placer_) placer_ = std::make_unique<Placer>(problem_);
  MemoryPlan best{{}, any_capacity};
  for (const Rest& rest : rests) {
    Order order = first;
    for (std::uint32_t i : rest.order(problem_))
      if (!chosen_[i]) order.push_back(i);
    MemoryPlan whole = placer_->place(order, rest.fit, plan.offsets);
    if (whole.size < best.size) best = std::move(whole);
    if (best.size <= std::max(plan.size, bound_)) break;  // no rest makes it smaller
  }
  return best;
}

}  // namespace quern
