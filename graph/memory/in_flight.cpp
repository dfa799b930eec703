// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/in_flight.h"

#include <algorithm>
#include <map>

#include "graph/text_util.h"

namespace quern {
namespace {

constexpr std::int64_t max_lags = 4096;  // that are tried

struct Circle {
  std::int64_t first = 0;
  std::int64_t period = 1;
};

Circle circle_of(const MemoryProblem& problem) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  for (const Interval& i : problem.intervals) {
    if (i.first >= i.end) continue;
    first = std::min(first, i.first);
    end = std::max(end, i.end);
  }
  return first < end ? Circle{first, end - first} : Circle{};
}

// Stretches of the circle with the bytes that are live in them.
class LiveCurve {
 public:
  LiveCurve(const MemoryProblem& problem, const Circle& circle) {
    std::map<std::int64_t, std::int64_t> changes = {{0, 0}};
    for (const Piece& p : pieces_of(problem)) {
      const auto bytes = static_cast<std::int64_t>(p.to - p.from);
      changes[p.first - circle.first] += bytes;
      changes[p.end - circle.first] -= bytes;
    }
    std::int64_t live = 0;
    for (const auto& [time, change] : changes) {
      live += change;
      if (time >= circle.period) break;
      times_.push_back(time);
      live_.push_back(live);
    }
    period_ = circle.period;
  }

  // The most bytes of `runs` curves, each `lag` behind the one before.
  std::int64_t highest(std::size_t runs, std::int64_t lag) const {
    std::int64_t most = 0;
    // A sum of step functions rises only where one of them changes.
    for (std::size_t k = 0; k < runs; ++k)
      for (const std::int64_t t : times_) {
        std::int64_t sum = 0;
        for (std::size_t run = 0; run < runs; ++run)
          sum += at(t + (static_cast<std::int64_t>(k) - static_cast<std::int64_t>(run)) * lag);
        most = std::max(most, sum);
      }
    return most;
  }

 private:
  std::int64_t at(std::int64_t time) const {
    const std::int64_t t = (time % period_ + period_) % period_;
    return live_[static_cast<std::size_t>(std::ranges::upper_bound(times_, t) - times_.begin()) -
                 1];
  }

  std::vector<std::int64_t> times_;
  std::vector<std::int64_t> live_;
  std::int64_t period_ = 1;
};

std::int64_t best_lag(const LiveCurve& curve, std::int64_t period, std::size_t runs) {
  std::int64_t best = 0;
  std::int64_t least = curve.highest(runs, 0);
  const std::int64_t stride = std::max<std::int64_t>(1, period / max_lags);
  for (std::int64_t lag = stride; lag < period; lag += stride) {
    const std::int64_t most = curve.highest(runs, lag);
    if (most >= least) continue;
    least = most;
    best = lag;
  }
  return best;
}

// The life `shift` steps later, with the step after the last again the first.
Interval shifted(const Interval& i, const Circle& circle, std::int64_t shift) {
  Interval moved = i;
  moved.gaps.clear();
  const auto place = [&](std::int64_t time) {
    return (time - circle.first + shift) % circle.period;
  };
  const auto add = [&](std::int64_t first, std::int64_t end, std::uint64_t from, std::uint64_t to) {
    if (first < end) moved.gaps.push_back({first, end, from, to});
  };
  const std::int64_t length = i.end - i.first;
  if (length <= 0) return moved;
  moved.first = place(i.first);
  moved.end = moved.first + length;
  // Gaps of the original, then the stretch of the circle in which the buffer is not live.
  const bool wraps = moved.end > circle.period;
  for (const Gap& g : i.gaps) {
    const std::int64_t first = place(g.first);
    const std::int64_t end = first + (g.end - g.first);
    add(first, std::min(end, circle.period), g.from, g.to);
    add(0, end - circle.period, g.from, g.to);
  }
  if (wraps) {
    add(moved.end - circle.period, moved.first, 0, 0);
    moved.first = 0;
    moved.end = circle.period;
  }
  std::ranges::sort(moved.gaps, {}, &Gap::first);
  return moved;
}

}  // namespace

InFlight in_flight(const MemoryProblem& problem, std::size_t runs) {
  const Circle circle = circle_of(problem);
  InFlight result;
  result.period = circle.period;
  result.lag = best_lag(LiveCurve(problem, circle), circle.period, runs);
  for (std::size_t run = 0; run < runs; ++run) {
    for (const Interval& i : problem.intervals) {
      Interval moved = shifted(i, circle, static_cast<std::int64_t>(run) * result.lag);
      moved.name = cat("run ", run + 1, ": ", i.name);
      if (run > 0) moved.fixed_offset.reset();
      result.problem.intervals.push_back(std::move(moved));
    }
  }
  return result;
}

}  // namespace quern
