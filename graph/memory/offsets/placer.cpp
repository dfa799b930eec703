// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/offsets/placer.h"

#include <algorithm>
#include <bit>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/offsets/stacking.h"
#include "graph/memory/problem/sweep.h"

namespace quern {
namespace {

constexpr std::size_t max_listed = std::size_t{48} << 20;  // 192 MiB of neighbours

std::int64_t align_up(std::int64_t n, std::uint64_t alignment) {
  return round_up(n, static_cast<std::int64_t>(alignment));
}

// Pairs of pieces that are live at one time, each once: f(a, b).
template <class F>
void for_each_pair(std::span<const Piece> pieces, std::span<const Event> events, F f) {
  std::vector<std::size_t> live;
  std::vector<std::size_t> place(pieces.size());
  for (const Event& e : events) {
    if (!e.begins) {
      const std::size_t at = place[e.piece];
      live[at] = live.back();
      place[live[at]] = at;
      live.pop_back();
      continue;
    }
    for (std::size_t other : live) f(pieces[e.piece].interval, pieces[other].interval);
    place[e.piece] = live.size();
    live.push_back(e.piece);
  }
}

// A second level of 16 classes to each power of two.
int size_class(std::uint64_t bytes) {
  if (bytes < 16) return static_cast<int>(bytes);
  const int log = std::bit_width(bytes) - 1;
  return 16 * (log - 3) + static_cast<int>((bytes >> (log - 4)) & 15);
}

}  // namespace

Conflicts::Conflicts(const MemoryProblem& problem) {
  if (pairs_at_once(problem) > max_listed / 2) return;
  const std::vector<Piece> pieces = pieces_of(problem);
  const std::vector<Event> events = events_of(pieces);
  const std::size_t n = problem.intervals.size();
  std::vector<std::size_t> ends(n + 1);
  for_each_pair(pieces, events, [&](std::size_t a, std::size_t b) {
    ++ends[a];
    ++ends[b];
  });
  std::size_t total = 0;
  for (std::size_t& e : ends) total += std::exchange(e, total);
  begins_ = ends;
  neighbours_.resize(total);
  for_each_pair(pieces, events, [&](std::size_t a, std::size_t b) {
    neighbours_[ends[a]++] = static_cast<std::uint32_t>(b);
    neighbours_[ends[b]++] = static_cast<std::uint32_t>(a);
  });
  // Several pieces of one buffer may have met the same neighbour.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto first = neighbours_.begin() + static_cast<std::ptrdiff_t>(begins_[i]);
    const auto last = neighbours_.begin() + static_cast<std::ptrdiff_t>(begins_[i + 1]);
    std::sort(first, last);
    const auto end = std::unique(first, last);
    begins_[i] = kept;
    kept = static_cast<std::size_t>(
        std::copy(first, end, neighbours_.begin() + static_cast<std::ptrdiff_t>(kept)) -
        neighbours_.begin());
  }
  begins_[n] = kept;
  neighbours_.resize(kept);
}

Placer::Placer(const MemoryProblem& problem)
    : problem_(problem),
      pieces_(pieces_of(problem)),
      conflicts_(problem),
      bound_(lower_bound(problem)) {
  const std::size_t n = problem.intervals.size();
  first_piece_.assign(n + 1, pieces_.size());
  partial_.resize(n);
  placed_.resize(n);
  for (std::size_t p = pieces_.size(); p-- > 0;) {
    const Piece& piece = pieces_[p];
    first_piece_[piece.interval] = p;
    if (piece.to - piece.from < problem.intervals[piece.interval].size)
      partial_[piece.interval] = 1;
  }
  for (std::size_t i = n; i-- > 0;)
    first_piece_[i] = std::min(first_piece_[i], first_piece_[i + 1]);
}

std::int64_t Placer::separation(std::uint32_t below, std::uint32_t above) const {
  if (!partial_[below] && !partial_[above])
    return static_cast<std::int64_t>(problem_.intervals[below].size);
  std::int64_t most = std::numeric_limits<std::int64_t>::min() / 4;
  for (std::size_t b = first_piece_[below]; b < first_piece_[below + 1]; ++b)
    for (std::size_t a = first_piece_[above]; a < first_piece_[above + 1]; ++a)
      if (pieces_[a].first < pieces_[b].end && pieces_[b].first < pieces_[a].end)
        most = std::max(most, static_cast<std::int64_t>(pieces_[b].to - pieces_[a].from));
  return most;
}

std::int64_t Placer::offset_in_gap(std::uint32_t i, Fit fit, std::span<const std::uint64_t> offsets,
                                   const Memory& memory) {
  const Interval& interval = problem_.intervals[i];
  ranges_.clear();
  for (std::uint32_t j : conflicts_[i]) {
    if (placed_[j] != memory.mark) continue;
    const auto at = static_cast<std::int64_t>(offsets[j]);
    const Range r{at - separation(i, j), at + separation(j, i)};
    if (r.first < r.end) ranges_.push_back(r);
  }
  std::ranges::sort(ranges_, {}, &Range::first);
  std::int64_t best = -1;
  std::int64_t best_room = std::numeric_limits<std::int64_t>::max();
  std::int64_t at = 0;
  for (const Range& r : ranges_) {
    std::int64_t room = r.first - at;
    if (fit == Fit::size_class && room >= 0) {
      const int wanted = size_class(interval.size) + (std::has_single_bit(interval.size) ? 0 : 1);
      const int found = size_class(interval.size + static_cast<std::uint64_t>(room));
      room = found >= wanted ? found : -1;
    }
    if (room >= 0 && fit == Fit::lowest) return at;
    if (room >= 0 && room < best_room) {
      best = at;
      best_room = room;
    }
    at = std::max(at, align_up(r.end, memory.alignment));
  }
  return best >= 0 ? best : at;
}

MemoryPlan Placer::place(std::span<const std::uint32_t> order, Fit fit,
                         std::span<const std::uint64_t> offsets) {
  if (!conflicts_.listed()) return stacked(problem_, order, offsets);
  const auto& intervals = problem_.intervals;
  MemoryPlan plan{std::vector<std::uint64_t>(intervals.size(), 0), 0};
  const auto put = [&](std::uint32_t i, std::uint64_t offset) {
    plan.offsets[i] = offset;
    plan.size = std::max(plan.size, offset + intervals[i].size);
    placed_[i] = 1;
  };
  std::ranges::fill(placed_, 0);
  for (std::uint32_t i : order)
    if (intervals[i].fixed_offset) put(i, *intervals[i].fixed_offset);
  for (std::size_t k = 0; k < offsets.size(); ++k) put(order[k], offsets[k]);
  for (std::uint32_t i : order)
    if (!placed_[i])
      put(i, static_cast<std::uint64_t>(
                 offset_in_gap(i, fit, plan.offsets, {.alignment = intervals[i].alignment})));
  return plan;
}

}  // namespace quern
