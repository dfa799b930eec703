// SPDX-License-Identifier: Apache-2.0
// Buffers by life, and those of them that still wait for a place: what fits where, in little time.
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

// The buffers that ever live, in order of life (first section, then end), then of size. Sections
// are the largest sets of buffers that are live at one time; gaps count as lived through. Sizes are
// rounded up to what all alignments have in common.
struct Lives {
  struct Span {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
  };
  explicit Lives(const MemoryProblem& problem);

  std::size_t count() const { return buffer.size(); }
  std::uint32_t life(std::uint32_t i) const { return span[i].end - span[i].first; }
  double area(std::uint32_t i) const { return static_cast<double>(size[i]) * life(i); }
  // Bytes of some of them, or of all, in each section.
  std::vector<std::uint64_t> totals(std::span<const std::uint32_t> some) const;
  std::vector<std::uint64_t> totals() const;

  std::uint32_t sections = 0;
  std::uint64_t unit = 1;             // of offsets and sizes
  std::vector<std::uint32_t> buffer;  // its index in the problem
  std::vector<Span> span;
  std::vector<std::uint64_t> size;
  std::vector<std::uint64_t> alignment;
  std::vector<std::uint32_t> begin;  // the first to begin in each section, and one past the last
  std::vector<std::uint32_t> group;  // the first of the same life
};

struct Place {
  std::uint32_t id = 0;  // in `Lives`
  std::uint64_t offset = 0;
};

constexpr std::uint64_t any_height = std::numeric_limits<std::uint64_t>::max();

// A set of them: a value that is quick to copy.
class Waiting {
 public:
  struct Found {
    std::uint32_t id = 0;
    std::uint32_t life = 0;  // 0: none
  };
  struct Valley {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
  };

  // Nodes and buffers that are looked at are counted in `work`, which outlives it.
  Waiting(const Lives& lives, std::span<const std::uint32_t> some, std::uint64_t& work);

  // The one with the longest life inside of the valley that covers `section`, not larger than
  // `largest`; of several the largest.
  Found longest(Valley valley, std::uint32_t section, std::uint64_t largest = any_height) const;
  // f(id) for the largest of each life inside of the valley that covers `section`.
  template <class F>
  void for_each_life(Valley valley, std::uint32_t section, F f) const;
  // The largest of the same life as `id` that is not larger than `largest`; `id` if there is none.
  std::uint32_t as_large(std::uint32_t id, std::uint64_t largest) const;
  void take(std::uint32_t id);
  std::vector<std::uint32_t> list() const;

 private:
  struct Query {
    Valley valley;
    std::uint32_t section;
    std::uint64_t largest;
    Found best;
  };
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  // The last that waits of [first, end), or none.
  std::uint32_t last(std::uint32_t first, std::uint32_t end) const;
  std::uint32_t first(std::uint32_t first, std::uint32_t end) const;
  // One past the last to begin in the section and end by `end`.
  std::uint32_t ending_by(std::uint32_t section, std::uint32_t end) const;
  void search(std::size_t node, std::uint32_t low, std::uint32_t width, Query& query) const;
  void search_section(std::uint32_t section, Query& query) const;
  void renew(std::uint32_t section);

  const Lives* lives_;
  std::uint64_t* work_;
  std::size_t leaves_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> latest_;    // end of what begins in a node's sections
  std::vector<std::uint32_t> earliest_;  // likewise
};

template <class F>
void Waiting::for_each_life(Valley valley, std::uint32_t section, F f) const {
  for (std::uint32_t s = valley.first; s <= section; ++s) {
    ++*work_;
    if (latest_[leaves_ + s] <= section || earliest_[leaves_ + s] > valley.end) continue;
    const std::uint32_t begin = lives_->begin[s];
    std::uint32_t end = ending_by(s, valley.end);
    for (;;) {
      const std::uint32_t id = last(begin, end);
      if (id == none || lives_->span[id].end <= section) break;
      f(id);
      end = lives_->group[id];
    }
  }
}

}  // namespace quern
