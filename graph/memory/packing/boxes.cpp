// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/packing/boxes.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/problem/stable_sort.h"
#include "graph/memory/problem/sweep.h"

namespace quern {
namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t most_box_work = std::size_t{1}
                                      << 22;  // boxes that are looked at, in all passes
constexpr std::size_t most_of_one_life = 64;  // whose sums are compared

// Times may lie further apart than their type holds.
std::uint64_t time_between(std::int64_t first, std::int64_t end) {
  return static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(first);
}

class Joiner {
 public:
  Joiner(const MemoryProblem& problem, Joining joining) : joining_(joining) {
    for (std::uint32_t i = 0; i < problem.intervals.size(); ++i) {
      const Interval& b = problem.intervals[i];
      const bool joins =
          b.size > 0 && b.first < b.end && b.gaps.empty() && !b.must_be_zero && !b.fixed_offset;
      boxes_.push_back({b.first, b.end, b.size, b.alignment, none, none, 0});
      (joins ? open_ : closed_).push_back(i);
    }
    if (joining == Joining::filling) find_room(problem);
  }

  void run() {
    while (work_ < most_box_work) {
      if (join_in_time()) continue;
      if (joining_ == Joining::in_time) return;
      if (stack_matching()) continue;
      if (joining_ == Joining::matching) return;
      if (joining_ == Joining::filling && join_across_pauses()) continue;
      if (!stack_shortest()) return;
    }
  }

  Boxes boxes(const MemoryProblem& problem) const {
    const std::size_t n = problem.intervals.size();
    Boxes result{{}, std::vector<std::uint32_t>(n), std::vector<std::uint64_t>(n)};
    std::vector<std::uint32_t> roots = closed_;
    roots.insert(roots.end(), open_.begin(), open_.end());
    std::ranges::sort(roots);
    for (std::uint32_t root : roots) {
      const auto box = static_cast<std::uint32_t>(result.problem.intervals.size());
      if (root < n) {
        result.problem.intervals.push_back(problem.intervals[root]);
      } else {
        const Box& b = boxes_[root];
        Interval i;
        i.size = b.size;
        i.alignment = b.alignment;
        i.first = b.first;
        i.end = b.end;
        result.problem.intervals.push_back(std::move(i));
      }
      unpack(root, box, n, result);
    }
    return result;
  }

 private:
  struct Box {
    std::int64_t first, end;
    std::uint64_t size, alignment;
    std::uint32_t lower, upper;  // what it was joined of, or none
    std::uint64_t within;        // offset of the upper
  };
  using Key = std::tuple<std::int64_t, std::uint64_t, std::uint64_t>;  // of what fits end to end

  static Key at_first(const Box& b) { return {b.first, b.size, b.alignment}; }
  static Key at_end(const Box& b) { return {b.end, b.size, b.alignment}; }
  static std::uint64_t aligned(const Box& b) { return round_up(b.size, b.alignment); }

  void unpack(std::uint32_t root, std::uint32_t box, std::size_t n, Boxes& result) const {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> stack = {{root, 0}};
    while (!stack.empty()) {
      const auto [i, offset] = stack.back();
      stack.pop_back();
      if (i < n) {
        result.box[i] = box;
        result.within[i] = offset;
        continue;
      }
      stack.emplace_back(boxes_[i].lower, offset);
      stack.emplace_back(boxes_[i].upper, offset + boxes_[i].within);
    }
  }

  // Open boxes in the order of a key; those with the same one stay in the order of `open_`.
  template <class F>
  auto sorted(F key) {
    std::vector<std::pair<decltype(key(boxes_[0])), std::uint32_t>> order;
    order.reserve(open_.size());
    for (std::uint32_t i : open_) order.emplace_back(key(boxes_[i]), i);
    sort_stably(order, {}, [](const auto& p) { return p.first; });
    work_ += open_.size();
    return order;
  }
  // The pairs with this key. Does not use equal_range, because clang 14 cannot compile gcc 12's
  // subranges.
  template <class Pair>
  static std::span<const Pair> equal(const std::vector<Pair>& order, const auto& key) {
    const auto key_of = [](const Pair& p) { return p.first; };
    const auto begin = std::ranges::lower_bound(order, key, {}, key_of);
    if (begin == order.end() || key_of(*begin) != key) return {};  // most often
    const auto end = std::ranges::upper_bound(begin, order.end(), key, {}, key_of);
    return {order.data() + (begin - order.begin()), order.data() + (end - order.begin())};
  }

  std::uint32_t add(Box b) {
    boxes_.push_back(b);
    used_.push_back(0);
    return static_cast<std::uint32_t>(boxes_.size() - 1);
  }
  std::uint32_t stack(std::uint32_t lower, std::uint32_t upper) {
    const Box& l = boxes_[lower];
    const Box& u = boxes_[upper];
    used_[lower] = used_[upper] = 1;
    return add({l.first, l.end, aligned(l) + u.size, l.alignment, lower, upper, aligned(l)});
  }

  // The boxes that were joined go, what became of them comes.
  bool finish(const std::vector<std::uint32_t>& made) {
    std::erase_if(open_, [&](std::uint32_t i) { return used_[i] != 0; });
    for (std::uint32_t i : made)
      if (!used_[i]) open_.push_back(i);
    return !made.empty();
  }

  bool join_in_time() {
    const auto firsts = sorted(at_first);
    const auto ends = sorted(at_end);
    used_.assign(boxes_.size(), 0);
    std::vector<std::uint32_t> made;
    for (std::uint32_t i : open_) {
      if (used_[i]) continue;
      const Box b = boxes_[i];
      const auto after = equal(firsts, Key{at_end(b)});
      if (after.size() != 1 || equal(ends, Key{at_end(b)}).size() != 1) continue;
      const std::uint32_t j = after.front().second;
      if (used_[j]) continue;
      used_[i] = used_[j] = 1;
      made.push_back(add({b.first, boxes_[j].end, b.size, b.alignment, i, j, 0}));
    }
    return finish(made);
  }

  // Bytes below the bound that nothing ever uses, between each two times at which something
  // changes.
  void find_room(const MemoryProblem& problem) {
    const std::vector<Piece> pieces = pieces_of(problem);
    const std::uint64_t bound = lower_bound(problem);
    std::uint64_t live = 0;
    for (const Event& e : events_of(pieces)) {
      if (times_.empty() || times_.back() != e.time) {
        if (!times_.empty()) room_.push_back(bound - std::min(bound, live));
        times_.push_back(e.time);
      }
      const std::uint64_t bytes = pieces[e.piece].to - pieces[e.piece].from;
      live = e.begins ? live + bytes : live - bytes;
    }
  }

  // The room in a stretch of time.
  std::span<std::uint64_t> room(std::int64_t first, std::int64_t end) {
    const auto index = [&](std::int64_t t) {
      return std::ranges::lower_bound(times_, t) - times_.begin();
    };
    return {room_.begin() + index(first), room_.begin() + index(end)};
  }

  // Joins boxes as if a buffer of their size lived between them: the shortest pauses first.
  bool join_across_pauses() {
    const auto sizes =
        sorted([](const Box& b) { return std::tuple(b.size, b.alignment, b.first); });
    used_.assign(boxes_.size(), 0);
    std::vector<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>> pauses;
    for (std::size_t k = 0; k + 1 < sizes.size(); ++k) {
      const Box& b = boxes_[sizes[k].second];
      const Box& next = boxes_[sizes[k + 1].second];
      if (b.size == next.size && b.alignment == next.alignment && b.end < next.first)
        pauses.emplace_back(time_between(b.end, next.first), sizes[k].second, sizes[k + 1].second);
    }
    std::ranges::sort(pauses);
    std::vector<std::uint32_t> made;
    for (const auto& [length, i, j] : pauses) {
      const Box b = boxes_[i];
      const std::int64_t next = boxes_[j].first;
      if (used_[i] || used_[j]) continue;
      const std::span<std::uint64_t> pause = room(b.end, next);
      work_ += pause.size();
      if (std::ranges::any_of(pause, [&](std::uint64_t r) { return r < b.size; })) continue;
      for (std::uint64_t& r : pause) r -= b.size;
      used_[i] = used_[j] = 1;
      made.push_back(add({b.first, boxes_[j].end, b.size, b.alignment, i, j, 0}));
      break;
    }
    return finish(made);
  }

  using Life = std::tuple<std::uint64_t, std::int64_t, std::int64_t, std::uint64_t>;
  // The shortest first.
  static Life life(const Box& b) {
    return {time_between(b.first, b.end), b.first, b.end, b.alignment};
  }

  // f(first, last) for all boxes of one life; those of the shortest lives first.
  template <class Order, class F>
  static void for_each_life(const Order& order, F f) {
    for (std::size_t k = 0; k < order.size();) {
      std::size_t end = k + 1;
      while (end < order.size() && order[end].first == order[k].first) ++end;
      if (end - k > 1 && !f(k, end)) return;
      k = end;
    }
  }

  bool stack_matching() {
    const auto firsts = sorted(at_first);
    const auto ends = sorted(at_end);
    const auto lives = sorted(life);
    used_.assign(boxes_.size(), 0);
    std::vector<std::uint32_t> made;
    const auto matches = [&](std::uint32_t lower, std::uint32_t upper) {
      const Box& b = boxes_[lower];
      const std::uint64_t size = aligned(b) + boxes_[upper].size;
      return !equal(firsts, Key{b.end, size, b.alignment}).empty() ||
             !equal(ends, Key{b.first, size, b.alignment}).empty();
    };
    for_each_life(lives, [&](std::size_t begin, std::size_t end) {
      end = std::min(end, begin + most_of_one_life);
      work_ += (end - begin) * (end - begin);
      for (std::size_t x = begin; x < end; ++x)
        for (std::size_t y = begin; y < x && !used_[lives[x].second]; ++y)
          if (!used_[lives[y].second] && matches(lives[x].second, lives[y].second))
            made.push_back(stack(lives[x].second, lives[y].second));
      return true;
    });
    return finish(made);
  }

  bool stack_shortest() {
    const auto lives = sorted(life);
    used_.assign(boxes_.size(), 0);
    std::vector<std::uint32_t> made;
    std::uint64_t shortest = 0;
    for_each_life(lives, [&](std::size_t begin, std::size_t end) {
      const std::uint64_t length = std::get<0>(lives[begin].first);
      if (shortest != 0 && length != shortest) return false;
      shortest = length;
      std::uint32_t whole = lives[begin].second;
      for (std::size_t k = begin + 1; k < end; ++k)
        made.push_back(whole = stack(whole, lives[k].second));
      return true;
    });
    return finish(made);
  }

  Joining joining_;
  std::vector<Box> boxes_;  // the buffers, then what was joined
  std::vector<std::uint32_t> open_;
  std::vector<std::uint32_t> closed_;
  std::vector<char> used_;  // in this pass
  std::vector<std::int64_t> times_;
  std::vector<std::uint64_t> room_;  // from each time to the next
  std::size_t work_ = 0;
};

}  // namespace

Boxes boxes_of(const MemoryProblem& problem, Joining joining) {
  Joiner joiner(problem, joining);
  joiner.run();
  return joiner.boxes(problem);
}

MemoryPlan unpacked(const MemoryProblem& problem, const Boxes& boxes, const MemoryPlan& plan) {
  MemoryPlan result{std::vector<std::uint64_t>(problem.intervals.size()), 0};
  for (std::size_t i = 0; i < problem.intervals.size(); ++i) {
    result.offsets[i] = plan.offsets[boxes.box[i]] + boxes.within[i];
    result.size = std::max(result.size, result.offsets[i] + problem.intervals[i].size);
  }
  return result;
}

}  // namespace quern
