// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/order/step_graph.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/memory/order/groups.h"
#include "graph/memory/order/replay.h"

namespace quern {
namespace scheduling {
namespace {

// The bytes that a buffer takes as a root.
std::uint64_t taken_bytes(const StepGraph& g, const StepGraph::Buffer& buffer) {
  return g.write_unit == 1 ? buffer.size : round_up(buffer.size, buffer.alignment);
}

// ---- lives -------------------------------------------------------------------------------------

// Steps that have something to do are numbered; a void one counts as the next that has.
struct Times {
  std::vector<std::int64_t> of;  // place in the order -> time
  std::vector<char> is_void;     // place in the order -> whether the step has nothing to do
  std::int64_t end = 0;

  Times(const StepGraph& g, const Schedule& s) {
    for (std::uint32_t step : s.order) {
      of.push_back(end);
      is_void.push_back(quern::is_void(g, s, step) ? 1 : 0);
      end += is_void.back() ? 0 : 1;
    }
  }
};

struct Span {
  std::int64_t first, end;
};

void extend(std::vector<Span>& spans, Span s) {
  if (!spans.empty() && s.first <= spans.back().end)
    spans.back().end = std::max(spans.back().end, s.end);
  else
    spans.push_back(s);
}

// When the bytes of each cell of a root are in use: from a write to the last read before the next.
std::vector<std::vector<Span>> lives_of_cells(const StepGraph& g, const Schedule& s,
                                              const Groups& groups, const Times& times,
                                              const Cells& cells, Work& work) {
  std::vector<std::vector<Span>> lives(cells.count());
  for_each_step(groups.uses_of(cells.root()), [&](std::uint32_t k, auto reads, auto writes) {
    const StepGraph::Step& step = g.steps[s.order[k]];
    if (times.is_void[k]) return;
    const std::int64_t t = times.of[k];
    for (const Use& r : reads) {
      const std::size_t end = cells.end(r.buffer);
      work.spend(4 * (end - cells.begin(r.buffer)));
      for (std::size_t c = cells.begin(r.buffer); c < end; ++c)
        extend(lives[c], {lives[c].empty() ? t : lives[c].back().first, t + 1});
    }
    for (const Use& w : writes) {
      const std::vector<char> spared = spared_cells(s, step, w.buffer, cells);
      work.spend(4 * spared.size());
      const std::size_t first = cells.begin(w.buffer);
      for (std::size_t c = 0; c < spared.size(); ++c)
        if (!spared[c]) extend(lives[first + c], {t, t + 1});
    }
  });
  for (std::uint32_t b : groups.members[cells.root()]) {
    if (!g.buffers[b].live_out) continue;
    for (std::size_t c = cells.begin(b); c < cells.end(b); ++c)
      extend(lives[c], {lives[c].empty() ? std::int64_t{0} : lives[c].back().first, times.end + 1});
  }
  return lives;
}

// The cells' lives as one interval with gaps.
void set_life(Interval& interval, const Cells& cells, std::span<const std::vector<Span>> lives) {
  const std::uint64_t last_byte = lives.empty() ? 0 : cells.end_byte(lives.size() - 1);
  struct Change {
    std::int64_t time;
    std::size_t cell;
    bool begins;
  };
  std::vector<Change> changes;
  for (std::size_t c = 0; c < lives.size(); ++c)
    for (const Span& s : lives[c]) {
      changes.push_back({s.first, c, true});
      changes.push_back({s.end, c, false});
    }
  if (changes.empty()) return;
  std::ranges::stable_sort(changes, {}, &Change::time);
  interval.first = changes.front().time;
  interval.end = changes.back().time;
  std::set<std::size_t> live;
  for (std::size_t k = 0; k < changes.size();) {
    const std::int64_t now = changes[k].time;
    for (; k < changes.size() && changes[k].time == now; ++k) {
      if (changes[k].begins)
        live.insert(changes[k].cell);
      else
        live.erase(changes[k].cell);
    }
    if (k == changes.size()) break;
    if (live.empty()) {
      interval.gaps.push_back({now, changes[k].time, 0, 0});
      continue;
    }
    const std::uint64_t from = cells.first_byte(*live.begin());
    std::uint64_t to = cells.end_byte(*live.rbegin());
    if (to == last_byte) to = interval.size;
    if (from == 0 && to == interval.size) continue;
    if (!interval.gaps.empty() && interval.gaps.back().end == now &&
        interval.gaps.back().from == from && interval.gaps.back().to == to)
      interval.gaps.back().end = changes[k].time;
    else
      interval.gaps.push_back({now, changes[k].time, from, to});
  }
}

// A buffer of its own lives from its first use to its last.
void set_plain_life(Interval& interval, const StepGraph::Buffer& buffer, std::span<const Use> uses,
                    const Times& times) {
  if (uses.empty() && !buffer.live_out) return;
  interval.first = uses.empty() ? 0 : times.of[uses.front().place];
  interval.end = buffer.live_out ? times.end + 1 : times.of[uses.back().place] + 1;
}

}  // namespace

std::vector<char> spared_cells(const Schedule& s, const StepGraph::Step& step, std::uint32_t result,
                               const Cells& cells) {
  const std::size_t first = cells.begin(result);
  std::vector<char> spared(cells.end(result) - first);
  for (const StepGraph::Share& share : step.shares)
    if (share.is_copy && share.result == result && in_place(s, share))
      std::fill(spared.begin() + static_cast<std::ptrdiff_t>(cells.begin(share.operand) - first),
                spared.begin() + static_cast<std::ptrdiff_t>(cells.end(share.operand) - first), 1);
  return spared;
}

ScheduledMemory memory_of(const StepGraph& g, const Schedule& s, const Groups& groups, Named named,
                          Work& work) {
  constexpr std::uint64_t cost_of_buffer = 64;
  work.spend(cost_of_buffer * (g.buffers.size() + g.steps.size()));
  const Times times(g, s);
  ScheduledMemory m;
  m.interval_of.resize(g.buffers.size());
  for (std::uint32_t b = 0; b < g.buffers.size(); ++b) {
    const bool unused = groups.members[b].size() == 1 && groups.uses[b].empty();
    if (s.aliases[b].root != b || (unused && !g.buffers[b].live_out)) continue;
    m.interval_of[b] = m.problem.intervals.size();
    Interval i;
    if (named == Named::yes) i.name = g.buffers[b].name;
    i.size = taken_bytes(g, g.buffers[b]);
    i.alignment = g.buffers[b].alignment;
    if (groups.members[b].size() == 1) {
      set_plain_life(i, g.buffers[b], groups.uses[b], times);
    } else {
      const Cells cells(g, s, groups.members[b]);
      set_life(i, cells, lives_of_cells(g, s, groups, times, cells, work));
    }
    m.problem.intervals.push_back(std::move(i));
  }
  m.scratch_of.resize(g.steps.size());
  for (std::uint32_t k = 0; k < s.order.size(); ++k) {
    const StepGraph::Step& step = g.steps[s.order[k]];
    if (times.is_void[k]) continue;
    m.steps.push_back(s.order[k]);
    m.scratch_of[s.order[k]] = m.problem.intervals.size();
    if (step.scratch == 0) continue;
    Interval i;
    if (named == Named::yes) i.name = cat(scratch_name, step.name);
    i.size = step.scratch;
    i.alignment = g.scratch_alignment;
    i.first = times.of[k];
    i.end = times.of[k] + 1;
    m.problem.intervals.push_back(std::move(i));
  }
  return m;
}

}  // namespace scheduling

namespace {

// Parts of a root that rest are worth naming only where that lowers the bound. Each is tried until
// that has cost as much as it may.
void drop_idle_gaps(MemoryProblem& problem, std::uint64_t bound) {
  Work work(std::uint64_t{1} << 24);
  for (Interval& i : problem.intervals) {
    if (i.gaps.empty()) continue;
    if (!work.spend(64 * problem.intervals.size())) return;
    std::vector<Gap> gaps;
    gaps.swap(i.gaps);
    if (lower_bound(problem) > bound) gaps.swap(i.gaps);
  }
}

}  // namespace

Schedule plain_schedule(const StepGraph& graph) {
  Schedule s;
  s.order.resize(graph.steps.size());
  std::iota(s.order.begin(), s.order.end(), 0);
  for (std::uint32_t b = 0; b < graph.buffers.size(); ++b) s.aliases.push_back({b, 0});
  return s;
}

bool holds(const StepGraph& graph, const Schedule& schedule, Work& work) {
  const scheduling::Groups groups(graph, schedule);
  for (std::uint32_t b = 0; b < graph.buffers.size(); ++b)
    if (graph.buffers[b].live_out && schedule.aliases[b].root != b) return false;
  for (std::uint32_t root = 0; root < graph.buffers.size(); ++root)
    if (groups.members[root].size() > 1 &&
        !scheduling::group_holds(graph, schedule, groups, root, work))
      return false;
  return true;
}

namespace {

// The place of each step in an order; empty: it has not each step once.
std::vector<std::uint32_t> places_in(std::span<const std::uint32_t> order, std::size_t steps) {
  constexpr auto nowhere = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> places(steps, nowhere);
  if (order.size() != steps) return {};
  for (std::uint32_t at = 0; at < order.size(); ++at) {
    if (order[at] >= steps || places[order[at]] != nowhere) return {};
    places[order[at]] = at;
  }
  return places;
}

// True if each step comes after those that it must come after in the graph's own order.
bool keeps_dependences(const StepGraph& graph, std::span<const std::uint32_t> places) {
  struct Users {
    std::optional<std::uint32_t> writer;
    std::vector<std::uint32_t> readers;  // since
  };
  std::vector<Users> users(graph.buffers.size());
  for (std::uint32_t i = 0; i < graph.steps.size(); ++i) {
    const StepGraph::Step& step = graph.steps[i];
    const auto is_after = [&](std::uint32_t other) {
      return other == i || places[other] < places[i];
    };
    if (!std::ranges::all_of(step.after, is_after)) return false;
    for (const std::uint32_t b : step.reads) {
      if (users[b].writer && !is_after(*users[b].writer)) return false;
      users[b].readers.push_back(i);
    }
    for (const std::uint32_t b : step.writes) {
      if (users[b].writer && !is_after(*users[b].writer)) return false;
      if (!std::ranges::all_of(users[b].readers, is_after)) return false;
      users[b] = {.writer = i, .readers = {}};
    }
  }
  return true;
}

bool are_inside_roots(const StepGraph& graph, std::span<const Schedule::Alias> aliases) {
  if (aliases.size() != graph.buffers.size()) return false;
  for (std::size_t b = 0; b < aliases.size(); ++b) {
    const auto [root, offset] = aliases[b];
    if (root >= aliases.size() || aliases[root].root != root || aliases[root].offset != 0)
      return false;
    const std::uint64_t room = graph.buffers[root].size;
    if (offset > room || graph.buffers[b].size > room - offset) return false;
    const std::uint64_t unit =
        graph.inner_alignment ? graph.inner_alignment : graph.buffers[b].alignment;
    if (offset % std::max<std::uint64_t>(unit, 1) != 0) return false;
  }
  return true;
}

}  // namespace

std::uint64_t usual_work(const StepGraph& graph) {
  return (std::uint64_t{1} << 25) + (graph.steps.size() << 13);
}

bool fits(const StepGraph& graph, const Schedule& schedule, Work& work) {
  const std::vector<std::uint32_t> places = places_in(schedule.order, graph.steps.size());
  return places.size() == graph.steps.size() && keeps_dependences(graph, places) &&
         are_inside_roots(graph, schedule.aliases) && holds(graph, schedule, work);
}

bool is_void(const StepGraph& graph, const Schedule& schedule, std::uint32_t step) {
  const StepGraph::Step& s = graph.steps[step];
  if (!s.only_copies) return false;
  const auto in_its_place = std::ranges::count_if(s.shares, [&](const StepGraph::Share& share) {
    return share.is_copy && scheduling::in_place(schedule, share);
  });
  return static_cast<std::size_t>(in_its_place) == s.reads.size();
}

ScheduledMemory memory_of(const StepGraph& graph, const Schedule& schedule) {
  Work unlimited;
  ScheduledMemory m = scheduling::memory_of(graph, schedule, scheduling::Groups(graph, schedule),
                                            scheduling::Named::yes, unlimited);
  drop_idle_gaps(m.problem, lower_bound(m.problem));
  return m;
}

}  // namespace quern
