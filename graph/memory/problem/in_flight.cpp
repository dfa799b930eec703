// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/problem/in_flight.h"

#include <algorithm>
#include <numeric>

#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

constexpr std::int64_t max_steps = 1 << 16;  // of a run; of longer ones those that change something
constexpr std::int64_t max_cells = 1 << 22;  // of the band
constexpr std::int64_t max_work = 1 << 26;   // of the search for a lag

using Turns = std::vector<std::uint32_t>;

struct Steps {
  std::int64_t first = 0;
  std::int64_t count = 1;
  std::vector<std::int64_t> busy;  // bytes that are live in each step
  std::vector<std::int64_t> rest;  // ... and before it, when the run waits
};

Steps steps_of(const MemoryProblem& problem) {
  Steps s;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  for (const Interval& i : problem.intervals) {
    if (i.first >= i.end) continue;
    first = std::min(first, i.first);
    end = std::max(end, i.end);
  }
  if (first >= end) return s;
  s.first = first;
  s.count = end - first;
  if (s.count > max_steps) return s;
  const auto at = [&](std::int64_t time) { return static_cast<std::size_t>(time - first); };
  s.busy.resize(at(end) + 1);  // at first how much it changes
  s.rest.resize(at(end) + 1);
  for (const Piece& p : pieces_of(problem)) {
    const auto bytes = static_cast<std::int64_t>(p.to - p.from);
    s.busy[at(p.first)] += bytes;
    s.rest[at(p.first) + 1] += bytes;
    s.busy[at(p.end)] -= bytes;
    s.rest[at(p.end)] -= bytes;
  }
  std::partial_sum(s.busy.begin(), s.busy.end(), s.busy.begin());
  std::partial_sum(s.rest.begin(), s.rest.end(), s.rest.begin());
  return s;
}

// Turns of two runs, the second `lag` steps ahead when the first begins and never more than `slack`
// away from that: those with the lowest peak. A path through a band of (step, step) pairs.
class TwoRuns {
 public:
  TwoRuns(const Steps& steps, std::int64_t slack)
      : s_(steps), slack_(slack), width_(static_cast<std::size_t>(2 * slack + 1)) {}

  std::int64_t lowest_peak(std::int64_t lag) {
    peaks_.assign(static_cast<std::size_t>(s_.count + 1) * width_, none);
    at(0, 0) = 0;
    for (std::int64_t i = 0; i <= s_.count; ++i)
      for (std::int64_t d = -slack_; d <= slack_; ++d) {
        const std::int64_t peak = at(i, d);
        if (peak == none) continue;
        if (i < s_.count && d > -slack_)
          lower(at(i + 1, d - 1), std::max(peak, first_runs(i, d, lag)));
        if (d < slack_) lower(at(i, d + 1), std::max(peak, second_runs(i, d, lag)));
      }
    return at(s_.count, 0);
  }

  Turns turns(std::int64_t lag) {
    lowest_peak(lag);
    Turns backwards;
    std::int64_t i = s_.count;
    std::int64_t d = 0;
    while (i > 0 || d != 0) {
      const bool second = d > -slack_ && at(i, d - 1) != none &&
                          std::max(at(i, d - 1), second_runs(i, d - 1, lag)) == at(i, d);
      backwards.push_back(second ? 1 : 0);
      if (second) {
        --d;
      } else {
        --i;
        ++d;
      }
    }
    std::ranges::reverse(backwards);
    return backwards;
  }

 private:
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();

  std::int64_t& at(std::int64_t i, std::int64_t d) {
    return peaks_[static_cast<std::size_t>(i) * width_ + static_cast<std::size_t>(d + slack_)];
  }
  static void lower(std::int64_t& peak, std::int64_t to) { peak = std::min(peak, to); }
  std::size_t step(std::int64_t i) const { return static_cast<std::size_t>(i % s_.count); }
  std::int64_t first_runs(std::int64_t i, std::int64_t d, std::int64_t lag) const {
    return s_.busy[step(i)] + s_.rest[step(i + d + lag)];
  }
  std::int64_t second_runs(std::int64_t i, std::int64_t d, std::int64_t lag) const {
    return s_.rest[step(i)] + s_.busy[step(i + d + lag)];
  }

  const Steps& s_;
  std::int64_t slack_;
  std::size_t width_;
  std::vector<std::int64_t> peaks_;
};

// The lag with the lowest peak; of equal ones that which spreads the runs most evenly.
template <class Peak>
std::int64_t best_lag(const Steps& s, std::int64_t runs, std::int64_t stride, const Peak& peak) {
  const auto key = [&](std::int64_t lag) {
    return std::pair(peak(lag), std::abs(lag - s.count / runs));
  };
  std::int64_t best = s.count / runs;
  auto least = key(best);
  for (std::int64_t lag = 0; lag < s.count; lag += stride) {
    const auto value = key(lag);
    if (value >= least) continue;
    least = value;
    best = lag;
  }
  return best;
}

// Run k's next step, when it is its turn, is k x lag steps ahead of the first's.
std::int64_t peak_of_turns(const Steps& s, std::int64_t runs, std::int64_t lag) {
  std::int64_t most = 0;
  const auto step = [&](std::int64_t i) { return static_cast<std::size_t>(i % s.count); };
  for (std::int64_t i = 0; i < s.count; ++i)
    for (std::int64_t turn = 0; turn < runs; ++turn) {
      std::int64_t live = 0;
      for (std::int64_t run = 0; run < runs; ++run) {
        const std::int64_t at = i + run * lag;
        live += run == turn ? s.busy[step(at)] : s.rest[step(at + (run < turn ? 1 : 0))];
      }
      most = std::max(most, live);
    }
  return most;
}

// A buffer of a run whose steps have these turns, on a circle of `circle` turns.
Interval placed_in_turns(const Interval& i, std::int64_t first_step,
                         std::span<const std::int64_t> turn_of, std::int64_t circle) {
  Interval moved = i;
  moved.gaps.clear();
  if (i.first >= i.end) return moved;
  const auto turn = [&](std::int64_t step) {
    return turn_of[static_cast<std::size_t>(step - first_step)];
  };
  moved.first = turn(i.first);
  // Turns after the beginning of the life, so that they ascend.
  const auto since = [&](std::int64_t step) {
    return (turn(step) - moved.first + circle) % circle;
  };
  std::vector<Gap> gaps;
  std::int64_t after = 0;
  for (const Gap& g : i.gaps) {
    const std::int64_t first = g.first == i.first ? 0 : since(g.first - 1) + 1;
    const std::int64_t end = g.end == i.end ? since(g.end - 1) + 1 : since(g.end);
    gaps.push_back({std::max(after, first), end, g.from, g.to});
    after = end;
  }
  moved.end = moved.first + since(i.end - 1) + 1;
  const auto add = [&](std::int64_t first, std::int64_t end, std::uint64_t from, std::uint64_t to) {
    if (first < end) moved.gaps.push_back({first, end, from, to});
  };
  for (const Gap& g : gaps) {
    add(moved.first + g.first, std::min(moved.first + g.end, circle), g.from, g.to);
    add(std::max(moved.first + g.first - circle, std::int64_t{0}), moved.first + g.end - circle,
        g.from, g.to);
  }
  if (moved.end > circle) {
    add(moved.end - circle, moved.first, 0, 0);
    moved.first = 0;
    moved.end = circle;
  }
  std::ranges::sort(moved.gaps, {}, &Gap::first);
  return moved;
}

Turns in_turn(std::int64_t steps, std::size_t runs) {
  Turns turns;
  for (std::int64_t i = 0; i < steps; ++i)
    for (std::uint32_t run = 0; run < runs; ++run) turns.push_back(run);
  return turns;
}

void choose_turns(InFlight& f, const Steps& s, std::size_t runs) {
  const auto n = static_cast<std::int64_t>(runs);
  f.lag = 0;
  f.turns = in_turn(s.count, runs);
  if (runs < 2 || s.busy.empty() || s.count > max_steps) return;
  if (runs > 2) {
    const std::int64_t stride = 1 + s.count * s.count * n * n / max_work;
    f.lag = best_lag(s, n, stride, [&](std::int64_t lag) { return peak_of_turns(s, n, lag); });
    return;
  }
  const std::int64_t room = max_cells / s.count / 2;
  TwoRuns two(s, std::max<std::int64_t>(std::min(s.count / 8, room), 1));
  const std::int64_t stride = 1 + s.count * s.count * (s.count / 4 + 1) / max_work;
  f.lag = best_lag(s, n, stride, [&](std::int64_t lag) { return two.lowest_peak(lag); });
  f.turns = two.turns(f.lag);
}

// Without the steps in which nothing begins or ends, where there are very many.
MemoryProblem without_idle_steps(const MemoryProblem& problem) {
  std::vector<std::int64_t> times;
  for (const Interval& i : problem.intervals) {
    times.insert(times.end(), {i.first, i.end});
    for (const Gap& g : i.gaps) times.insert(times.end(), {g.first, g.end});
  }
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const auto length = [](std::int64_t first, std::int64_t end) {
    return static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(first);
  };
  if (times.empty() || length(times.front(), times.back()) <= std::uint64_t{max_steps})
    return problem;
  MemoryProblem shorter = problem;
  const auto renumber = [&](std::int64_t& time) {
    time = std::ranges::lower_bound(times, time) - times.begin();
  };
  for (Interval& i : shorter.intervals) {
    renumber(i.first);
    renumber(i.end);
    for (Gap& g : i.gaps) {
      renumber(g.first);
      renumber(g.end);
    }
  }
  return shorter;
}

}  // namespace

InFlight in_flight(const MemoryProblem& given, std::size_t runs) {
  const MemoryProblem problem = without_idle_steps(given);
  const Steps s = steps_of(problem);
  InFlight f;
  f.period = s.count;
  choose_turns(f, s, runs);
  const auto circle = static_cast<std::int64_t>(f.turns.size());
  for (std::uint32_t run = 0; run < runs; ++run) {
    std::vector<std::int64_t> turn_of(static_cast<std::size_t>(s.count));
    std::int64_t step = run * f.lag % s.count;
    for (std::int64_t t = 0; t < circle; ++t) {
      if (f.turns[static_cast<std::size_t>(t)] != run) continue;
      turn_of[static_cast<std::size_t>(step)] = t;
      step = (step + 1) % s.count;
    }
    for (const Interval& i : problem.intervals) {
      Interval moved = placed_in_turns(i, s.first, turn_of, circle);
      moved.name = cat("run ", run + 1, ": ", i.name);
      if (run > 0) moved.fixed_offset.reset();
      f.problem.intervals.push_back(std::move(moved));
    }
  }
  return f;
}

}  // namespace quern
