// SPDX-License-Identifier: Apache-2.0
// The buffers of a schedule by the root that they lie in, and the bytes of a root by the buffers
// that lie there.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/memory/order/step_graph.h"

namespace quern::scheduling {

// Bytes of a root between the ends of the buffers that lie in it: each of them covers whole cells.
class Cells {
 public:
  Cells(const StepGraph& g, const Schedule& s, std::span<const std::uint32_t> members)
      : g_(g), s_(s), root_(s.aliases[members.front()].root) {
    for (std::uint32_t b : members) {
      edges_.push_back(s.aliases[b].offset);
      edges_.push_back(s.aliases[b].offset + g.buffers[b].size);
    }
    std::ranges::sort(edges_);
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  }

  std::uint32_t root() const { return root_; }
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
  std::uint32_t root_;
  std::vector<std::uint64_t> edges_;
};

// Returns true if the operand lies where a result that shares with it has its bytes.
inline bool in_place(const Schedule& s, const StepGraph::Share& share) {
  const auto& operand = s.aliases[share.operand];
  const auto& result = s.aliases[share.result];
  return operand.root == result.root && operand.offset == result.offset + share.offset;
}

// A read or a write of a buffer by the step at a place in the order.
struct Use {
  std::uint32_t place = 0;
  bool is_write = false;  // the reads of a step stand before its writes
  std::uint32_t buffer = 0;

  auto operator<=>(const Use&) const = default;  // NOLINT: no zero is meant
};

// The buffers of each root, and the uses of each buffer.
struct Groups {
  struct Range {
    std::uint32_t first = 0xffffffff;  // above `last`: never
    std::uint32_t last = 0;
  };
  std::vector<std::vector<std::uint32_t>> members;
  std::vector<std::vector<Use>> uses;  // in order; one that a step reads twice is listed twice
  std::vector<Range> used;             // by root: from the first use of a member to the last

  Groups(const StepGraph& g, const Schedule& s)
      : members(g.buffers.size()), uses(members.size()), used(members.size()) {
    for (std::uint32_t b = 0; b < members.size(); ++b) members[s.aliases[b].root].push_back(b);
    for (std::uint32_t k = 0; k < s.order.size(); ++k) {
      for (std::uint32_t b : g.steps[s.order[k]].reads) uses[b].push_back({k, false, b});
      for (std::uint32_t b : g.steps[s.order[k]].writes) uses[b].push_back({k, true, b});
    }
    for (std::uint32_t b = 0; b < members.size(); ++b)
      if (!uses[b].empty())
        extend(s.aliases[b].root, {uses[b].front().place, uses[b].back().place});
  }
  void extend(std::uint32_t root, const Range& by) {
    used[root] = {std::min(used[root].first, by.first), std::max(used[root].last, by.last)};
  }
  // The uses of all buffers of a root, in order.
  std::vector<Use> uses_of(std::uint32_t root) const {
    std::vector<Use> all;
    for (std::uint32_t b : members[root]) all.insert(all.end(), uses[b].begin(), uses[b].end());
    std::ranges::sort(all);
    return all;
  }
};

// f(place, reads, writes) for the uses of each step.
template <class F>
void for_each_step(std::span<const Use> uses, F&& f) {
  while (!uses.empty()) {
    const std::uint32_t place = uses.front().place;
    const auto here = std::ranges::find_if(uses, [&](const Use& u) { return u.place != place; });
    const auto writes = std::find_if(uses.begin(), here, [](const Use& u) { return u.is_write; });
    f(place, std::span(uses.begin(), writes), std::span(writes, here));
    uses = {here, uses.end()};
  }
}

// Marks the cells of a result, from its first one on, that a step need not write, because the
// operand that it would copy already lies there.
std::vector<char> spared_cells(const Schedule& s, const StepGraph::Step& step, std::uint32_t result,
                               const Cells& cells);

// The intervals of the roots, with the names of their buffers if somebody will read them. Charges
// what it costs, but does it all.
enum class Named : std::uint8_t { no, yes };
ScheduledMemory memory_of(const StepGraph& g, const Schedule& s, const Groups& groups, Named named,
                          Work& work);

}  // namespace quern::scheduling
