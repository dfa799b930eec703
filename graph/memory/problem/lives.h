// SPDX-License-Identifier: Apache-2.0
// Buffers sorted by life, and an index of those not placed yet that quickly finds the ones that
// fit.
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

// The buffers that are ever live, sorted by life (first section, then end), then by size. Sections
// are the maximal sets of buffers that are live at one time; gaps count as live. Sizes are rounded
// up to the common unit of all alignments.
struct Lives {
  struct Span {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
  };
  explicit Lives(const MemoryProblem& problem);

  std::size_t count() const { return buffer.size(); }
  std::uint32_t life(std::uint32_t i) const { return span[i].end - span[i].first; }
  double area(std::uint32_t i) const { return static_cast<double>(size[i]) * life(i); }
  // Live bytes of some buffers, or of all, in each section.
  std::vector<std::uint64_t> totals(std::span<const std::uint32_t> some) const;
  std::vector<std::uint64_t> totals() const;

  std::uint32_t sections = 0;
  std::uint64_t unit = 1;             // of offsets and sizes
  std::vector<std::uint32_t> buffer;  // its index in the problem
  std::vector<Span> span;
  std::vector<std::uint64_t> size;
  std::vector<std::uint64_t> alignment;
  std::vector<std::uint32_t> begin;  // the first buffer of each section, and one past the last
  std::vector<std::uint32_t> group;  // the first buffer with the same life
};

struct Place {
  std::uint32_t id = 0;  // in `Lives`
  std::uint64_t offset = 0;
};

constexpr std::uint64_t any_height = std::numeric_limits<std::uint64_t>::max();

// A set of waiting buffers: a value that is quick to copy.
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

  // The nodes and buffers looked at are counted in `work`, which must outlive the set.
  Waiting(const Lives& lives, std::span<const std::uint32_t> some, std::uint64_t& work);

  // The buffer with the longest life inside the valley that covers `section` and is not larger than
  // `largest`; the largest of several.
  Found longest(Valley valley, std::uint32_t section, std::uint64_t largest = any_height) const;
  // Calls f(id) for the largest buffer of each life inside the valley that covers `section`.
  template <class F>
  void for_each_life(Valley valley, std::uint32_t section, F f) const;
  // The largest buffer with the same life as `id` that is not larger than `largest`; `id` if there
  // is none.
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

  // The last waiting buffer of [first, end), or none.
  std::uint32_t last(std::uint32_t first, std::uint32_t end) const;
  std::uint32_t first(std::uint32_t first, std::uint32_t end) const;
  // One past the last buffer that begins in the section and ends by `end`.
  std::uint32_t ending_by(std::uint32_t section, std::uint32_t end) const;
  void search(std::size_t node, std::uint32_t low, std::uint32_t width, Query& query) const;
  void search_section(std::uint32_t section, Query& query) const;
  void renew(std::uint32_t section);

  const Lives* lives_;
  std::uint64_t* work_;
  std::size_t leaves_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> latest_;    // of the ends of a node's buffers
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
