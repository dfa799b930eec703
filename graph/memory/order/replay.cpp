// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/order/replay.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "engine/vocabulary/multiples.h"

namespace quern::scheduling {
namespace {

using Share = StepGraph::Share;

bool overlap(const StepGraph& g, const Schedule& s, std::uint32_t a, std::uint32_t b) {
  return s.aliases[a].root == s.aliases[b].root &&
         s.aliases[a].offset < s.aliases[b].offset + g.buffers[b].size &&
         s.aliases[b].offset < s.aliases[a].offset + g.buffers[a].size;
}

constexpr std::uint64_t cost_of_use = 64;

// Charges for the cells that it looks at.
class Replay {
 public:
  Replay(const StepGraph& g, const Schedule& s, const Groups& groups, std::uint32_t root,
         Work& work)
      : g_(g),
        s_(s),
        work_(work),
        members_(sorted(groups.members[root])),
        root_(root),
        cells_(g, s, members_),
        found_(cells_.count(), 0) {
    for (std::uint32_t b : members_)
      wanted_.emplace_back(cells_.end(b) - cells_.begin(b), std::uint32_t{0});
  }

  // Returns false, too, if the work is spent before the end.
  bool holds(const Groups& groups) {
    const std::vector<Use> uses = groups.uses_of(root_);
    bool right = true;
    for_each_step(uses, [&](std::uint32_t k, auto reads, auto writes) {
      if (!right || work_.is_spent()) return;
      const StepGraph::Step& step = g_.steps[s_.order[k]];
      right = std::ranges::all_of(reads, [&](const Use& u) { return is_as_wanted(u.buffer); }) &&
              reads_and_writes_apart(g_, s_, step, reads, writes);
      for (const Use& u : writes) write(step, u.buffer);
    });
    return right && !work_.is_spent() && std::ranges::all_of(members_, [&](std::uint32_t b) {
             return !g_.buffers[b].live_out || is_as_wanted(b);
           });
  }

 private:
  static std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> members) {
    std::ranges::sort(members);
    return members;
  }
  std::vector<std::uint32_t>& wanted(std::uint32_t b) {
    return wanted_[static_cast<std::size_t>(std::ranges::lower_bound(members_, b) -
                                            members_.begin())];
  }
  bool is_as_wanted(std::uint32_t b) {
    work_.spend(wanted(b).size());
    return std::ranges::equal(wanted(b),
                              std::span(found_).subspan(cells_.begin(b), wanted(b).size()));
  }
  void write(const StepGraph::Step& step, std::uint32_t w) {
    const std::uint32_t fresh = ++clock_;
    const std::vector<char> spared = spared_cells(s_, step, w, cells_);
    const std::size_t first = cells_.begin(w);
    const std::size_t end = cells_.end(w);
    work_.spend(4 * (end - first) + cost_of_use * step.shares.size());
    std::vector<std::uint32_t>& now = wanted(w);
    for (std::size_t c = first; c < end; ++c) {
      if (!spared[c - first]) found_[c] = fresh;
      now[c - first] = found_[c];
    }
    if (end == first || spared[end - 1 - first]) return;
    const std::uint64_t written = round_up(g_.buffers[w].size, g_.write_unit);
    const std::size_t spoiled = cells_.at(s_.aliases[w].offset + written);
    for (std::size_t c = end; c < std::min(spoiled, cells_.count()); ++c) found_[c] = fresh;
  }

  const StepGraph& g_;
  const Schedule& s_;
  Work& work_;
  std::vector<std::uint32_t> members_;
  std::uint32_t root_;
  Cells cells_;
  std::vector<std::uint32_t> found_;                // who wrote each cell
  std::vector<std::vector<std::uint32_t>> wanted_;  // ... as each member has it
  std::uint32_t clock_ = 0;
};

}  // namespace

bool reads_and_writes_apart(const StepGraph& g, const Schedule& s, const StepGraph::Step& step,
                            std::span<const Use> reads, std::span<const Use> writes) {
  // Reads are sorted by buffer.
  const auto is_read_once = [&](std::uint32_t b) {
    const auto first = std::ranges::lower_bound(reads, b, {}, &Use::buffer);
    if (first == reads.end() || first->buffer != b) return false;
    return std::next(first) == reads.end() || std::next(first)->buffer != b;
  };
  for (const auto& [place, is_write, w] : writes) {
    for (const Use& other : writes)
      if (other.buffer != w && overlap(g, s, w, other.buffer)) return false;
    std::vector<std::uint32_t> allowed = {w};
    for (const Share& share : step.shares)
      if (share.result == w && in_place(s, share) && (share.is_copy || is_read_once(share.operand)))
        allowed.push_back(share.operand);
    std::ranges::sort(allowed);
    std::size_t under = 0;
    for (const Use& r : reads) {
      if (!overlap(g, s, r.buffer, w)) continue;
      if (!std::ranges::binary_search(allowed, r.buffer)) return false;
      ++under;
    }
    if (under > 1 && !step.only_copies) return false;
  }
  return true;
}

bool group_holds(const StepGraph& g, const Schedule& s, const Groups& groups, std::uint32_t root,
                 Work& work) {
  if (work.is_spent()) return false;
  std::uint64_t uses = groups.members[root].size();
  for (const std::uint32_t b : groups.members[root]) uses += groups.uses[b].size();
  return work.spend(cost_of_use * uses) && Replay(g, s, groups, root, work).holds(groups);
}

}  // namespace quern::scheduling
