// SPDX-License-Identifier: Apache-2.0
// The choice of an order and of what lies in whose place.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/order/groups.h"
#include "graph/memory/order/replay.h"
#include "graph/memory/order/step_graph.h"

namespace quern {
namespace scheduling {
namespace {

using Share = StepGraph::Share;

constexpr std::uint64_t common_alignment = 64;

// ---- the order of a schedule -------------------------------------------------------------------

// Builds the order problem: the dependences between steps, and the buffers that are live in
// between. Nodes are positions in the schedule's order.
class OrderProblemMaker {
 public:
  OrderProblemMaker(const StepGraph& g, const Schedule& s, Work& work)
      : g_(g), s_(s), work_(work), groups_(g, s) {
    p_.nodes.resize(s.order.size());
    std::vector<std::uint32_t> position(s.order.size());
    for (std::uint32_t k = 0; k < s.order.size(); ++k) position[s.order[k]] = k;
    for (std::uint32_t k = 0; k < s.order.size(); ++k) {
      p_.nodes[k].scratch = step(k).scratch;
      for (std::uint32_t a : step(k).after) p_.nodes[k].before.push_back(position[a]);
    }
  }

  // Returns nothing if the work is spent before the end.
  std::optional<OrderProblem> make() {
    order_own_bytes();
    whole_.resize(g_.buffers.size());
    for (std::uint32_t root = 0; root < g_.buffers.size(); ++root) {
      if (work_.is_spent()) return std::nullopt;
      if (s_.aliases[root].root == root) add_root(root);
    }
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
    for_each_step(groups_.uses_of(root), [&](std::uint32_t k, auto reads, auto writes) {
      use_cells(k, reads, writes, cells, first, found);
    });
    for (std::uint32_t b : groups_.members[root])
      if (g_.buffers[b].live_out)
        for (std::size_t c = cells.begin(b); c < cells.end(b); ++c)
          p_.buffers[first + c].live_out = true;
  }

  void use_cells(std::uint32_t k, std::span<const Use> reads, std::span<const Use> writes,
                 const Cells& cells, std::size_t first, std::vector<Bytes>& found) {
    const auto use = [&](std::size_t begin, std::size_t end, const auto& access) {
      work_.spend(8 * (end - begin));
      for (std::size_t c = begin; c < end; ++c) {
        auto& users = p_.buffers[first + c].users;
        if (users.empty() || users.back() != k) users.push_back(k);
        access(c);
      }
    };
    for (const Use& r : reads)
      use(cells.begin(r.buffer), cells.end(r.buffer), [&](std::size_t c) { read(found[c], k); });
    for (const Use& w : writes) {
      const std::vector<char> spared = spared_cells(s_, step(k), w.buffer, cells);
      const std::size_t begin = cells.begin(w.buffer);
      use(begin, cells.end(w.buffer),
          [&](std::size_t c) { spared[c - begin] ? read(found[c], k) : write(found[c], k); });
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
  Work& work_;
  Groups groups_;
  OrderProblem p_;
  std::vector<std::uint32_t> whole_;  // the first buffer of the problem of each root
};

class Scheduler {
 public:
  Scheduler(const StepGraph& g, const ScheduleOptions& options)
      : g_(g),
        options_(options),
        work_(options.work ? options.work : usual_work(g), options.stop) {}

  ScheduleAnswer run() {
    const Schedule first = first_schedule();
    answer_.schedule = first;
    take_in_place(answer_.schedule);
    answer_.bound = answer_.plain_bound = bound_of(answer_.schedule);
    if (options_.order) try_order(first);
    if (options_.alias) spare_copies();
    if (options_.order && spared_) try_order(answer_.schedule);
    answer_.is_complete &= !work_.is_spent();
    return std::move(answer_);
  }

 private:
  // An operand's group that lies in the group of a result.
  struct Join {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint64_t shift = 0;
    std::size_t before = 0;  // the members of `to` before
    Groups::Range used;      // ... and when they were used
  };

  Schedule first_schedule() const {
    Schedule s = plain_schedule(g_);
    if (!options_.first_order.empty()) s.order = options_.first_order;
    return s;
  }

  std::uint64_t bound_of(const Schedule& s) { return bound_of(s, Groups(g_, s)); }
  std::uint64_t bound_of(const Schedule& s, const Groups& groups) {
    return lower_bound(memory_of(g_, s, groups, Named::no, work_).problem);
  }

  // Steps in another order, with what `from` shares, and more where it can be had. Takes half of
  // the work that is left at most.
  void try_order(const Schedule& from) {
    const std::uint64_t most = work_.left() / 2;
    Work work(most, options_.stop);
    const std::optional<OrderProblem> problem = OrderProblemMaker(g_, from, work).make();
    OrderAnswer found;
    if (problem) found = best_order(*problem, options_.steps, work);
    work_.spend(most - work.left());
    answer_.is_complete &= !work.is_spent();
    if (!problem) return;
    answer_.order_is_optimal = found.optimal();
    Schedule s = from;
    for (std::size_t k = 0; k < s.order.size(); ++k) s.order[k] = from.order[found.order[k]];
    if (!holds(g_, s, work_)) return;
    take_in_place(s);
    const std::uint64_t bound = bound_of(s);
    if (bound >= answer_.bound) return;
    answer_.schedule = std::move(s);
    answer_.bound = bound;
  }

  // From the last step to the first, so that a chain of results grows by one operand at a time. A
  // result takes the place of one operand.
  void take_in_place(Schedule& s) {
    Groups groups(g_, s);
    std::vector<std::uint32_t> made;  // results of the step that are in place
    for (std::uint32_t k = static_cast<std::uint32_t>(s.order.size()); k-- > 0;) {
      made.clear();
      for (const Share& share : g_.steps[s.order[k]].shares)
        if (!share.is_copy && std::ranges::find(made, share.result) == made.end() &&
            take(s, groups, share, k))
          made.push_back(share.result);
    }
  }

  // Operands that were made shortly before their copy, and all others.
  enum class Wait : std::uint8_t { brief, lasting };

  void spare_copies() {
    std::vector<std::uint32_t> steps;
    for (std::uint32_t step : answer_.schedule.order)
      if (std::ranges::any_of(g_.steps[step].shares, &Share::is_copy)) steps.push_back(step);
    Groups groups(g_, answer_.schedule);
    // One step after the other finds somewhat more, where there is work for so many bounds.
    const std::uint64_t each = 64 * (g_.buffers.size() + g_.steps.size());
    if (2 * each * steps.size() <= work_.left())
      for (const std::uint32_t& step : steps) spare({&step, 1}, groups);
    else
      spare(steps, groups);
    if (options_.most_wait < answer_.schedule.order.size())
      for (std::uint32_t step : steps) spare_late(step, groups);
  }

  // All copies at once, or else those of each half of the steps, down to one operand of one step.
  void spare(std::span<const std::uint32_t> steps, Groups& groups) {
    if (steps.empty() || work_.is_spent()) return;
    std::vector<Join> joins;
    for (std::uint32_t step : steps) {
      std::vector<Join> more = join_all(groups, shares_of(step, groups, Wait::brief));
      joins.insert(joins.end(), more.begin(), more.end());
    }
    if (keep(joins, groups)) return;
    if (steps.size() > 1) {
      spare(steps.first(steps.size() / 2), groups);
      spare(steps.subspan(steps.size() / 2), groups);
      return;
    }
    for (const Share& share : shares_of(steps[0], groups, Wait::brief)) {
      if (work_.is_spent()) return;
      joins = join_all(groups, {&share, 1});
      keep(joins, groups);
    }
  }

  // Operands that wait leave a hole in the result: a large one where they are the smaller part.
  void spare_late(std::uint32_t step, Groups& groups) {
    const std::vector<Share> shares = shares_of(step, groups, Wait::lasting);
    if (shares.empty() || work_.is_spent()) return;
    std::uint64_t bytes = 0;
    for (const Share& share : shares) bytes += g_.buffers[share.operand].size;
    if (4 * bytes < 3 * g_.buffers[shares[0].result].size) return;
    std::vector<Join> joins = join_all(groups, shares);
    keep(joins, groups);
  }

  std::vector<Share> shares_of(std::uint32_t step, const Groups& groups, Wait wait) const {
    std::vector<Share> shares;
    for (const Share& share : g_.steps[step].shares) {
      const Groups::Range used = groups.used[answer_.schedule.aliases[share.operand].root];
      const bool waits = used.first < used.last && used.last - used.first > options_.most_wait;
      if (share.is_copy && waits == (wait == Wait::lasting)) shares.push_back(share);
    }
    return shares;
  }

  // Keeps the joins unless the bound rises by them.
  bool keep(std::vector<Join>& joins, Groups& groups) {
    if (joins.empty()) return false;
    const std::uint64_t bound = bound_of(answer_.schedule, groups);
    if (bound > answer_.bound) {
      undo(answer_.schedule, groups, joins);
      return false;
    }
    answer_.bound = bound;
    spared_ = true;
    return true;
  }

  // Joins the operands that copies read: all of them if that holds, else those that can be joined
  // one after the other.
  std::vector<Join> join_all(Groups& groups, std::span<const Share> shares) {
    Schedule& s = answer_.schedule;
    std::vector<Join> joins;
    std::vector<std::uint32_t> roots;
    for (const Share& share : shares) {
      if (!share.is_copy || !may_join(s, share)) continue;
      joins.push_back(join(s, groups, share));
      roots.push_back(joins.back().to);
    }
    std::ranges::sort(roots);
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    const auto is_right = [&](std::uint32_t r) { return group_holds(g_, s, groups, r, work_); };
    if (std::ranges::all_of(roots, is_right)) return joins;
    undo(s, groups, joins);
    for (const Share& share : shares) {
      if (work_.is_spent()) break;
      if (!share.is_copy || !may_join(s, share)) continue;
      joins.push_back(join(s, groups, share));
      if (is_right(joins.back().to)) continue;
      std::vector<Join> last = {joins.back()};
      undo(s, groups, last);
      joins.pop_back();
    }
    return joins;
  }

  // Moves the operand's group into the result's, if that holds. `k`: the place of the step.
  bool take(Schedule& s, Groups& groups, const Share& share, std::uint32_t k) {
    if (!may_join(s, share)) return false;
    const Groups::Range operand = groups.used[s.aliases[share.operand].root];
    const Groups::Range result = groups.used[s.aliases[share.result].root];
    std::vector<Join> joins = {join(s, groups, share)};
    // One is used up to this step, the other from it on: only the step itself can be in the way.
    const bool meet_here = operand.last == k && result.first == k;
    const std::uint32_t to = joins[0].to;
    const bool right = meet_here ? stays_apart(s, k, to) : group_holds(g_, s, groups, to, work_);
    if (!right) undo(s, groups, joins);
    return right;
  }

  // See reads_and_writes_apart(), for the step at this place.
  bool stays_apart(const Schedule& s, std::uint32_t k, std::uint32_t root) const {
    const StepGraph::Step& step = g_.steps[s.order[k]];
    std::vector<Use> reads;
    std::vector<Use> writes;
    for (std::uint32_t b : step.reads)
      if (s.aliases[b].root == root) reads.push_back({k, false, b});
    for (std::uint32_t b : step.writes)
      if (s.aliases[b].root == root) writes.push_back({k, true, b});
    std::ranges::sort(reads);
    return reads_and_writes_apart(g_, s, step, reads, writes);
  }

  static Join join(Schedule& s, Groups& groups, const Share& share) {
    Join j{.from = s.aliases[share.operand].root, .to = s.aliases[share.result].root};
    j.shift = s.aliases[share.result].offset + share.offset;
    auto& moved = groups.members[j.from];
    auto& members = groups.members[j.to];
    j.before = members.size();
    j.used = groups.used[j.to];
    for (std::uint32_t b : moved) s.aliases[b] = {j.to, s.aliases[b].offset + j.shift};
    members.insert(members.end(), moved.begin(), moved.end());
    moved.clear();
    groups.extend(j.to, groups.used[j.from]);
    return j;
  }

  // The last one first; leaves none.
  static void undo(Schedule& s, Groups& groups, std::vector<Join>& joins) {
    for (; !joins.empty(); joins.pop_back()) {
      const Join& j = joins.back();
      auto& members = groups.members[j.to];
      const auto first = members.begin() + static_cast<std::ptrdiff_t>(j.before);
      groups.members[j.from].assign(first, members.end());
      members.erase(first, members.end());
      for (std::uint32_t b : groups.members[j.from])
        s.aliases[b] = {j.from, s.aliases[b].offset - j.shift};
      groups.used[j.to] = j.used;
    }
  }

  // The operand is all of its root, may leave it, and is aligned where it would lie.
  bool may_join(const Schedule& s, const Share& share) const {
    const std::uint32_t from = s.aliases[share.operand].root;
    const StepGraph::Buffer& operand = g_.buffers[share.operand];
    const StepGraph::Buffer& result = g_.buffers[share.result];
    const std::uint64_t at = s.aliases[share.result].offset + share.offset;
    if (from == s.aliases[share.result].root || g_.buffers[from].live_out) return false;
    if (s.aliases[share.operand].offset != 0 || g_.buffers[from].size != operand.size) return false;
    if (operand.size == 0) return false;
    const bool is_inner = share.is_copy && g_.inner_alignment != 0;
    if (at % (is_inner ? g_.inner_alignment : operand.alignment) != 0) return false;
    return share.is_copy ? share.offset + operand.size <= result.size : operand.size == result.size;
  }

  const StepGraph& g_;
  ScheduleOptions options_;
  Work work_;
  ScheduleAnswer answer_;
  bool spared_ = false;
};

}  // namespace
}  // namespace scheduling

ScheduleAnswer best_schedule(const StepGraph& graph, const ScheduleOptions& options) {
  return scheduling::Scheduler(graph, options).run();
}

}  // namespace quern
