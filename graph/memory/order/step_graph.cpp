// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/order/step_graph.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

using Share = StepGraph::Share;

constexpr std::uint64_t common_alignment = 64;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// The bytes that a buffer takes as a root.
std::uint64_t taken_bytes(const StepGraph& g, const StepGraph::Buffer& buffer) {
  return g.write_unit == 1 ? buffer.size : round_up(buffer.size, buffer.alignment);
}

// Bytes of a root between the ends of the buffers that lie in it: each of them covers whole cells.
class Cells {
 public:
  Cells(const StepGraph& g, const Schedule& s, std::span<const std::uint32_t> members)
      : g_(g), s_(s) {
    for (std::uint32_t b : members) {
      edges_.push_back(s.aliases[b].offset);
      edges_.push_back(s.aliases[b].offset + g.buffers[b].size);
    }
    std::ranges::sort(edges_);
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  }

  std::size_t count() const { return edges_.empty() ? 0 : edges_.size() - 1; }
  std::size_t begin(std::uint32_t b) const { return at(s_.aliases[b].offset); }
  std::size_t end(std::uint32_t b) const { return at(s_.aliases[b].offset + g_.buffers[b].size); }
  std::size_t at(std::uint64_t byte) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(edges_, byte) - edges_.begin());
  }
  std::uint64_t first_byte(std::size_t cell) const { return edges_[cell]; }
  std::uint64_t end_byte(std::size_t cell) const { return edges_[cell + 1]; }

 private:
  const StepGraph& g_;
  const Schedule& s_;
  std::vector<std::uint64_t> edges_;
};

bool in_place(const Schedule& s, const Share& share) {
  const auto& operand = s.aliases[share.operand];
  const auto& result = s.aliases[share.result];
  return operand.root == result.root && operand.offset == result.offset + share.offset;
}

bool overlap(const StepGraph& g, const Schedule& s, std::uint32_t a, std::uint32_t b) {
  return s.aliases[a].root == s.aliases[b].root &&
         s.aliases[a].offset < s.aliases[b].offset + g.buffers[b].size &&
         s.aliases[b].offset < s.aliases[a].offset + g.buffers[a].size;
}

// Marks the cells of a root that a step need not write, because the operand that it would copy
// already lies there.
std::vector<char> spared_cells(const Schedule& s, const StepGraph::Step& step, std::uint32_t result,
                               const Cells& cells) {
  std::vector<char> spared(cells.count());
  for (const Share& share : step.shares)
    if (share.is_copy && share.result == result && in_place(s, share))
      std::fill(spared.begin() + static_cast<std::ptrdiff_t>(cells.begin(share.operand)),
                spared.begin() + static_cast<std::ptrdiff_t>(cells.end(share.operand)), 1);
  return spared;
}

// The buffers of each root, and the places in the order at which each buffer is used.
struct Groups {
  std::vector<std::vector<std::uint32_t>> members;
  std::vector<std::vector<std::uint32_t>> uses;

  Groups(const StepGraph& g, const Schedule& s) : members(g.buffers.size()), uses(members.size()) {
    for (std::uint32_t b = 0; b < members.size(); ++b) members[s.aliases[b].root].push_back(b);
    set_order(g, s);
  }
  void set_order(const StepGraph& g, const Schedule& s) {
    for (auto& u : uses) u.clear();
    for (std::uint32_t k = 0; k < s.order.size(); ++k) {
      const auto use = [&](std::uint32_t b) {
        if (uses[b].empty() || uses[b].back() != k) uses[b].push_back(k);
      };
      std::ranges::for_each(g.steps[s.order[k]].reads, use);
      std::ranges::for_each(g.steps[s.order[k]].writes, use);
    }
  }
  std::vector<std::uint32_t> uses_of(std::uint32_t root) const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t b : members[root]) all.insert(all.end(), uses[b].begin(), uses[b].end());
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
};

// A step reads all its operands while it writes: what it writes may only overlap an operand that it
// may write over, or one that it is spared to copy.
bool reads_and_writes_apart(const StepGraph& g, const Schedule& s, const StepGraph::Step& step,
                            std::uint32_t root) {
  for (std::uint32_t w : step.writes) {
    if (s.aliases[w].root != root) continue;
    for (std::uint32_t other : step.writes)
      if (other != w && overlap(g, s, w, other)) return false;
    const auto allowed = [&](std::uint32_t r) {
      return r == w || std::ranges::any_of(step.shares, [&](const Share& share) {
               return share.operand == r && share.result == w && in_place(s, share) &&
                      (share.is_copy || std::ranges::count(step.reads, r) == 1);
             });
    };
    std::size_t under = 0;
    for (std::uint32_t r : step.reads) {
      if (!overlap(g, s, r, w)) continue;
      if (!allowed(r)) return false;
      ++under;
    }
    if (under > 1 && !step.only_copies) return false;
  }
  return true;
}

// Plays the steps and compares, at every read, what lies there with what should.
class Replay {
 public:
  Replay(const StepGraph& g, const Schedule& s, const Groups& groups, std::uint32_t root)
      : g_(g),
        s_(s),
        members_(groups.members[root]),
        root_(root),
        cells_(g, s, members_),
        found_(cells_.count(), 0) {
    for (std::uint32_t b : members_)
      wanted_.emplace_back(cells_.end(b) - cells_.begin(b), std::uint32_t{0});
  }

  bool holds(const Groups& groups) {
    for (std::uint32_t k : groups.uses_of(root_)) {
      const StepGraph::Step& step = g_.steps[s_.order[k]];
      for (std::uint32_t r : step.reads)
        if (s_.aliases[r].root == root_ && !is_as_wanted(r)) return false;
      if (!reads_and_writes_apart(g_, s_, step, root_)) return false;
      for (std::uint32_t w : step.writes)
        if (s_.aliases[w].root == root_) write(step, w);
    }
    return std::ranges::all_of(
        members_, [&](std::uint32_t b) { return !g_.buffers[b].live_out || is_as_wanted(b); });
  }

 private:
  std::vector<std::uint32_t>& wanted(std::uint32_t b) {
    return wanted_[static_cast<std::size_t>(std::ranges::lower_bound(members_, b) -
                                            members_.begin())];
  }
  bool is_as_wanted(std::uint32_t b) {
    return std::ranges::equal(wanted(b),
                              std::span(found_).subspan(cells_.begin(b), wanted(b).size()));
  }
  void write(const StepGraph::Step& step, std::uint32_t w) {
    const std::uint32_t fresh = ++clock_;
    const std::vector<char> spared = spared_cells(s_, step, w, cells_);
    const std::size_t first = cells_.begin(w);
    for (std::size_t c = first; c < cells_.end(w); ++c) {
      if (!spared[c]) found_[c] = fresh;
      wanted(w)[c - first] = found_[c];
    }
    const std::size_t end = cells_.end(w);
    if (end == first || spared[end - 1]) return;
    const std::uint64_t written = round_up(g_.buffers[w].size, g_.write_unit);
    const std::size_t spoiled = cells_.at(s_.aliases[w].offset + written);
    for (std::size_t c = end; c < std::min(spoiled, cells_.count()); ++c) found_[c] = fresh;
  }

  const StepGraph& g_;
  const Schedule& s_;
  const std::vector<std::uint32_t>& members_;
  std::uint32_t root_;
  Cells cells_;
  std::vector<std::uint32_t> found_;                // who wrote each cell
  std::vector<std::vector<std::uint32_t>> wanted_;  // ... as each member has it
  std::uint32_t clock_ = 0;
};

bool group_holds(const StepGraph& g, const Schedule& s, const Groups& groups, std::uint32_t root) {
  return Replay(g, s, groups, root).holds(groups);
}

// ---- lives -------------------------------------------------------------------------------------

// Steps that have something to do are numbered; a void one counts as the next that has.
struct Times {
  std::vector<std::int64_t> of;  // place in the order -> time
  std::int64_t end = 0;

  Times(const StepGraph& g, const Schedule& s) {
    for (std::uint32_t step : s.order) {
      of.push_back(end);
      end += is_void(g, s, step) ? 0 : 1;
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
                                              std::uint32_t root, const Cells& cells) {
  std::vector<std::vector<Span>> lives(cells.count());
  for (std::uint32_t k : groups.uses_of(root)) {
    const StepGraph::Step& step = g.steps[s.order[k]];
    if (is_void(g, s, s.order[k])) continue;
    const std::int64_t t = times.of[k];
    for (std::uint32_t r : step.reads) {
      if (s.aliases[r].root != root) continue;
      for (std::size_t c = cells.begin(r); c < cells.end(r); ++c)
        extend(lives[c], {lives[c].empty() ? t : lives[c].back().first, t + 1});
    }
    for (std::uint32_t w : step.writes) {
      if (s.aliases[w].root != root) continue;
      const std::vector<char> spared = spared_cells(s, step, w, cells);
      for (std::size_t c = cells.begin(w); c < cells.end(w); ++c)
        if (!spared[c]) extend(lives[c], {t, t + 1});
    }
  }
  for (std::uint32_t b : groups.members[root]) {
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
  std::vector<char> live(lives.size());
  for (std::size_t k = 0; k < changes.size();) {
    const std::int64_t now = changes[k].time;
    for (; k < changes.size() && changes[k].time == now; ++k)
      live[changes[k].cell] = changes[k].begins ? 1 : 0;
    if (k == changes.size()) break;
    const auto first = std::ranges::find(live, 1);
    if (first == live.end()) {
      interval.gaps.push_back({now, changes[k].time, 0, 0});
      continue;
    }
    const auto last = std::find(live.rbegin(), live.rend(), 1).base();
    const std::uint64_t from = cells.first_byte(static_cast<std::size_t>(first - live.begin()));
    std::uint64_t to = cells.end_byte(static_cast<std::size_t>(last - live.begin()) - 1);
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
void set_plain_life(Interval& interval, const StepGraph::Buffer& buffer,
                    std::span<const std::uint32_t> uses, const Times& times) {
  if (uses.empty() && !buffer.live_out) return;
  interval.first = uses.empty() ? 0 : times.of[uses.front()];
  interval.end = buffer.live_out ? times.end + 1 : times.of[uses.back()] + 1;
}

// Selects whether intervals carry the names of their buffers, which no planner reads.
enum class Named : std::uint8_t { no, yes };

ScheduledMemory memory_of(const StepGraph& g, const Schedule& s, const Groups& groups,
                          Named named) {
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
      set_life(i, cells, lives_of_cells(g, s, groups, times, b, cells));
    }
    m.problem.intervals.push_back(std::move(i));
  }
  m.scratch_of.resize(g.steps.size());
  for (std::uint32_t k = 0; k < s.order.size(); ++k) {
    const StepGraph::Step& step = g.steps[s.order[k]];
    if (is_void(g, s, s.order[k])) continue;
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

// Parts of a root that rest are worth naming only where that lowers the bound.
void drop_idle_gaps(MemoryProblem& problem, std::uint64_t bound) {
  for (Interval& i : problem.intervals) {
    if (i.gaps.empty()) continue;
    std::vector<Gap> gaps;
    gaps.swap(i.gaps);
    if (lower_bound(problem) > bound) gaps.swap(i.gaps);
  }
}

// ---- the order of a schedule -------------------------------------------------------------------

// Builds the order problem: the dependences between steps, and the buffers that are live in
// between. Nodes are positions in the schedule's order.
class OrderProblemMaker {
 public:
  OrderProblemMaker(const StepGraph& g, const Schedule& s) : g_(g), s_(s), groups_(g, s) {
    p_.nodes.resize(s.order.size());
    std::vector<std::uint32_t> position(s.order.size());
    for (std::uint32_t k = 0; k < s.order.size(); ++k) position[s.order[k]] = k;
    for (std::uint32_t k = 0; k < s.order.size(); ++k) {
      p_.nodes[k].scratch = step(k).scratch;
      for (std::uint32_t a : step(k).after) p_.nodes[k].before.push_back(position[a]);
    }
  }

  OrderProblem make() {
    order_own_bytes();
    whole_.resize(g_.buffers.size());
    for (std::uint32_t root = 0; root < g_.buffers.size(); ++root)
      if (s_.aliases[root].root == root) add_root(root);
    for (std::uint32_t k = 0; k < s_.order.size(); ++k) finish_node(k);
    return std::move(p_);
  }

 private:
  // The last users of some bytes, which determine the dependences.
  struct Bytes {
    std::vector<std::uint32_t> readers;  // since the last write
    std::uint32_t writer = 0;
    bool written = false;
  };

  const StepGraph::Step& step(std::uint32_t k) const { return g_.steps[s_.order[k]]; }

  void read(Bytes& bytes, std::uint32_t k) {
    if (bytes.written && bytes.writer != k) p_.nodes[k].before.push_back(bytes.writer);
    if (bytes.readers.empty() || bytes.readers.back() != k) bytes.readers.push_back(k);
  }
  void write(Bytes& bytes, std::uint32_t k) {
    if (bytes.written && bytes.writer != k) p_.nodes[k].before.push_back(bytes.writer);
    for (std::uint32_t r : bytes.readers)
      if (r != k) p_.nodes[k].before.push_back(r);
    bytes.readers.clear();
    bytes.writer = k;
    bytes.written = true;
  }

  // The bytes of each buffer by itself, so that the steps keep their meaning.
  void order_own_bytes() {
    std::vector<Bytes> own(g_.buffers.size());
    for (std::uint32_t k = 0; k < s_.order.size(); ++k) {
      for (std::uint32_t r : step(k).reads) read(own[r], k);
      for (std::uint32_t w : step(k).writes) write(own[w], k);
    }
  }

  // The cells of a root are buffers of the problem. Their bytes are ordered too, so that sharing
  // keeps its meaning.
  void add_root(std::uint32_t root) {
    const Cells cells(g_, s_, groups_.members[root]);
    const std::size_t first = p_.buffers.size();
    whole_[root] = static_cast<std::uint32_t>(first);
    p_.buffers.resize(first + std::max<std::size_t>(cells.count(), 1));
    for (std::size_t c = 0; c < cells.count(); ++c) {
      const std::uint64_t bytes = cells.end_byte(c) - cells.first_byte(c);
      p_.buffers[first + c].size = round_up(bytes, common_alignment);
    }
    std::vector<Bytes> found(cells.count());
    for (std::uint32_t k : groups_.uses_of(root)) use_cells(root, k, cells, first, found);
    for (std::uint32_t b : groups_.members[root])
      if (g_.buffers[b].live_out)
        for (std::size_t c = cells.begin(b); c < cells.end(b); ++c)
          p_.buffers[first + c].live_out = true;
  }

  void use_cells(std::uint32_t root, std::uint32_t k, const Cells& cells, std::size_t first,
                 std::vector<Bytes>& found) {
    const auto use = [&](std::uint32_t b, const auto& access) {
      for (std::size_t c = cells.begin(b); c < cells.end(b); ++c) {
        auto& users = p_.buffers[first + c].users;
        if (users.empty() || users.back() != k) users.push_back(k);
        access(c);
      }
    };
    for (std::uint32_t r : step(k).reads)
      if (s_.aliases[r].root == root) use(r, [&](std::size_t c) { read(found[c], k); });
    for (std::uint32_t w : step(k).writes) {
      if (s_.aliases[w].root != root) continue;
      const std::vector<char> spared = spared_cells(s_, step(k), w, cells);
      use(w, [&](std::size_t c) { spared[c] ? read(found[c], k) : write(found[c], k); });
    }
  }

  // Each predecessor once, and the results that may be made in place of a whole operand.
  void finish_node(std::uint32_t k) {
    auto& node = p_.nodes[k];
    std::ranges::sort(node.before);
    node.before.erase(std::unique(node.before.begin(), node.before.end()), node.before.end());
    for (const Share& share : step(k).shares)
      if (may_be_in_place(share, step(k)))
        node.in_place.push_back({whole_[share.operand], whole_[share.result]});
  }

  bool may_be_in_place(const Share& share, const StepGraph::Step& step) const {
    return !share.is_copy && !g_.buffers[share.operand].live_out &&
           g_.buffers[share.operand].size > 0 && is_alone(share.operand) &&
           is_alone(share.result) && std::ranges::count(step.reads, share.operand) == 1;
  }
  bool is_alone(std::uint32_t b) const {
    return s_.aliases[b].root == b && groups_.members[b].size() == 1;
  }

  const StepGraph& g_;
  const Schedule& s_;
  Groups groups_;
  OrderProblem p_;
  std::vector<std::uint32_t> whole_;  // the first buffer of the problem of each root
};

OrderProblem order_problem(const StepGraph& g, const Schedule& s) {
  return OrderProblemMaker(g, s).make();
}

// ---- deciding ----------------------------------------------------------------------------------

class Scheduler {
 public:
  Scheduler(const StepGraph& g, const ScheduleOptions& options) : g_(g), options_(options) {}

  ScheduleAnswer run() {
    const Schedule first = first_schedule();
    answer_.schedule = first;
    take_in_place(answer_.schedule);
    answer_.bound = answer_.plain_bound = bound_of(answer_.schedule);
    if (options_.order) try_order(first);
    if (options_.alias) spare_copies();
    if (options_.order && spared_) try_order(answer_.schedule);
    return std::move(answer_);
  }

 private:
  Schedule first_schedule() const {
    Schedule s = plain_schedule(g_);
    if (!options_.first_order.empty()) s.order = options_.first_order;
    return s;
  }

  std::uint64_t bound_of(const Schedule& s) const {
    return lower_bound(memory_of(g_, s, Groups(g_, s), Named::no).problem);
  }

  // Steps in another order, with what `from` shares, and more where it can be had.
  void try_order(const Schedule& from) {
    const OrderProblem problem = order_problem(g_, from);
    const OrderAnswer found = best_order(problem, options_.steps);
    answer_.order_is_optimal = found.optimal();
    Schedule s = from;
    for (std::size_t k = 0; k < s.order.size(); ++k) s.order[k] = from.order[found.order[k]];
    if (!holds(g_, s)) return;
    take_in_place(s);
    const std::uint64_t bound = bound_of(s);
    if (bound >= answer_.bound) return;
    answer_.schedule = std::move(s);
    answer_.bound = bound;
  }

  void take_in_place(Schedule& s) const {
    Groups groups(g_, s);
    for (std::uint32_t step : s.order)
      for (const Share& share : g_.steps[step].shares)
        if (!share.is_copy) take(s, groups, share);
  }

  // All operands of a step in place, or else one by one.
  void spare_copies() {
    for (std::uint32_t step : std::vector(answer_.schedule.order)) {
      if (std::ranges::none_of(g_.steps[step].shares, &Share::is_copy)) continue;
      if (spare(g_.steps[step].shares)) continue;
      for (const Share& share : g_.steps[step].shares) spare({&share, 1});
    }
  }

  // Accepted unless the bound rises: the copy is spared in any case.
  bool spare(std::span<const Share> shares) {
    Schedule s = answer_.schedule;
    Groups groups(g_, s);
    bool taken = false;
    for (const Share& share : shares)
      if (share.is_copy) taken |= take(s, groups, share);
    if (!taken) return false;
    const std::uint64_t bound = lower_bound(memory_of(g_, s, groups, Named::no).problem);
    if (bound > answer_.bound) return false;
    answer_.schedule = std::move(s);
    answer_.bound = bound;
    spared_ = true;
    return true;
  }

  // Moves the operand's group into the result's, if that holds.
  bool take(Schedule& s, Groups& groups, const Share& share) const {
    const std::uint32_t from = s.aliases[share.operand].root;
    const std::uint32_t to = s.aliases[share.result].root;
    if (from == to || !may_join(s, share)) return false;
    const std::uint64_t shift = s.aliases[share.result].offset + share.offset;
    const std::vector<std::uint32_t> moved = groups.members[from];
    for (std::uint32_t b : moved) s.aliases[b] = {to, s.aliases[b].offset + shift};
    auto& members = groups.members[to];
    const std::vector<std::uint32_t> before = members;
    members.insert(members.end(), moved.begin(), moved.end());
    std::ranges::sort(members);
    groups.members[from].clear();
    if (group_holds(g_, s, groups, to)) return true;
    for (std::uint32_t b : moved) s.aliases[b] = {from, s.aliases[b].offset - shift};
    groups.members[from] = moved;
    members = before;
    return false;
  }

  // The operand is all of its root, may leave it, and is aligned where it would lie.
  bool may_join(const Schedule& s, const Share& share) const {
    const std::uint32_t from = s.aliases[share.operand].root;
    const StepGraph::Buffer& operand = g_.buffers[share.operand];
    const StepGraph::Buffer& result = g_.buffers[share.result];
    const std::uint64_t at = s.aliases[share.result].offset + share.offset;
    if (g_.buffers[from].live_out) return false;
    if (s.aliases[share.operand].offset != 0 || g_.buffers[from].size != operand.size) return false;
    if (operand.size == 0 || at % operand.alignment != 0) return false;
    return share.is_copy ? share.offset + operand.size <= result.size : operand.size == result.size;
  }

  const StepGraph& g_;
  ScheduleOptions options_;
  ScheduleAnswer answer_;
  bool spared_ = false;
};

}  // namespace

Schedule plain_schedule(const StepGraph& graph) {
  Schedule s;
  s.order.resize(graph.steps.size());
  std::iota(s.order.begin(), s.order.end(), 0);
  for (std::uint32_t b = 0; b < graph.buffers.size(); ++b) s.aliases.push_back({b, 0});
  return s;
}

bool holds(const StepGraph& graph, const Schedule& schedule) {
  const Groups groups(graph, schedule);
  for (std::uint32_t b = 0; b < graph.buffers.size(); ++b)
    if (graph.buffers[b].live_out && schedule.aliases[b].root != b) return false;
  for (std::uint32_t root = 0; root < graph.buffers.size(); ++root)
    if (groups.members[root].size() > 1 && !group_holds(graph, schedule, groups, root))
      return false;
  return true;
}

bool is_void(const StepGraph& graph, const Schedule& schedule, std::uint32_t step) {
  const StepGraph::Step& s = graph.steps[step];
  if (!s.only_copies) return false;
  const auto in_its_place = std::ranges::count_if(
      s.shares, [&](const Share& share) { return share.is_copy && in_place(schedule, share); });
  return static_cast<std::size_t>(in_its_place) == s.reads.size();
}

ScheduledMemory memory_of(const StepGraph& graph, const Schedule& schedule) {
  ScheduledMemory m = memory_of(graph, schedule, Groups(graph, schedule), Named::yes);
  drop_idle_gaps(m.problem, lower_bound(m.problem));
  return m;
}

ScheduleAnswer best_schedule(const StepGraph& graph, const ScheduleOptions& options) {
  return Scheduler(graph, options).run();
}

}  // namespace quern
