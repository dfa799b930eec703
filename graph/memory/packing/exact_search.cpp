// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/packing/exact_search.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <string>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/stop.h"
#include "graph/memory/packing/failed_states.h"
#include "graph/memory/packing/random.h"

namespace quern {
namespace {

// T holds twice the capacity: 32 bits make the loops over sections twice as fast.
template <class T>
class Search final : public ExactSearch {
 public:
  Search(std::span<const SearchBuffer> buffers, std::int32_t sections, std::int64_t capacity,
         SearchStyle style)
      : style_(style),
        by_section_(style.branching == Branching::by_section),
        sections_(sections),
        capacity_(static_cast<T>(capacity)) {
    read_buffers(buffers);
    find_neighbours();
    whole_.resize(buffers_.size());
    for (std::size_t i = 0; i < whole_.size(); ++i) whole_[i] = static_cast<std::int32_t>(i);
  }

  SearchResult run(SearchBudget budget) override {
    budget_ = budget;
    left_ = budget.steps;
    reset();
    if (impossible()) return SearchResult::infeasible;
    if (!style_.restarts) return search_all();
    // Some orders find in hundreds of steps what others do not in millions: many short attempts,
    // which share what has failed.
    for (std::int64_t rest = budget.steps;;) {
      left_ = std::min(rest, luby(++attempts_) * attempt_steps());
      rest -= left_;
      const SearchResult result = search_all();
      rest += left_;
      const bool late = budget.is_late();
      if (result != SearchResult::out_of_budget || rest <= 0 || late) return result;
    }
  }

  std::int64_t steps() const override { return steps_; }

  std::vector<std::int64_t> offsets() const override { return {found_.begin(), found_.end()}; }

 private:
  struct Range {
    std::int32_t first, end;
  };
  struct Buffer {
    T size;
    T alignment;
    T highest;
    T fixed;
    double life;
    std::int32_t first_range, end_range;
    std::int32_t first_neighbour, end_neighbour;
    std::int32_t first_section, end_section;
    std::int32_t sections;
  };
  struct Moved {
    std::int32_t buffer;
    T least;
  };
  struct Part {
    T slack;
    std::int32_t first, end;
  };
  using Key = typename FailedStates<T>::Key;

  SearchResult search_all() {
    pool_ = whole_;
    return solve_part(0, pool_.size(), 0, sections_);
  }

  std::int64_t attempt_steps() const {
    return 2 * static_cast<std::int64_t>(buffers_.size()) + 100;
  }

  // 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ... (Luby, Sinclair, Zuckerman, 1993), from k = 1.
  static std::int64_t luby(std::int64_t k) {
    std::int64_t size = 1;
    while (size < k) size = 2 * size + 1;
    while (size != k) {
      size /= 2;
      if (k > size) k -= size;
      while (size / 2 >= k) size /= 2;
    }
    return ceil_div(size, 2);
  }

  void read_buffers(std::span<const SearchBuffer> buffers) {
    for (const SearchBuffer& b : buffers) {
      Buffer c{};
      c.size = static_cast<T>(b.size);
      c.alignment = static_cast<T>(b.alignment);
      c.highest = static_cast<T>(b.fixed >= 0 ? std::min(b.fixed, b.highest) : b.highest);
      c.fixed = static_cast<T>(b.fixed);
      c.life = b.life;
      c.first_range = static_cast<std::int32_t>(ranges_.size());
      for (const auto& r : b.live) {
        ranges_.push_back({r.first, r.end});
        c.sections += r.end - r.first;
      }
      c.end_range = static_cast<std::int32_t>(ranges_.size());
      c.first_section = b.live.front().first;
      c.end_section = b.live.back().end;
      buffers_.push_back(c);
    }
  }

  std::span<const Range> ranges(const Buffer& b) const {
    return {ranges_.data() + b.first_range, ranges_.data() + b.end_range};
  }
  std::span<const std::int32_t> neighbours(const Buffer& b) const {
    return {neighbours_.data() + b.first_neighbour, neighbours_.data() + b.end_neighbour};
  }

  bool meet(const Buffer& a, const Buffer& b) const {
    for (const Range& x : ranges(a))
      for (const Range& y : ranges(b))
        if (x.first < y.end && y.first < x.end) return true;
    return false;
  }

  void find_neighbours() {
    const auto n = static_cast<std::int32_t>(buffers_.size());
    for (std::int32_t i = 0; i < n; ++i) {
      Buffer& b = buffers_[static_cast<std::size_t>(i)];
      b.first_neighbour = static_cast<std::int32_t>(neighbours_.size());
      for (std::int32_t j = 0; j < n; ++j)
        if (i != j && meet(b, buffers_[static_cast<std::size_t>(j)])) neighbours_.push_back(j);
      b.end_neighbour = static_cast<std::int32_t>(neighbours_.size());
    }
  }

  void reset() {
    const std::size_t n = buffers_.size();
    const auto m = static_cast<std::size_t>(sections_);
    least_.assign(n, 0);
    placed_.assign(n, 0);
    rank_.assign(n, 0);
    found_.assign(n, 0);
    hash_.assign(n, {});
    reach_.assign(n, 0);
    inside_.assign(n, 0);
    live_.assign(m, 0);
    lowest_.assign(m, 0);
    on_floor_.assign(m, 0);
    crossing_.assign(m, 0);
    moved_.clear();
    for (std::size_t i = 0; i < n; ++i) {
      const Buffer& b = buffers_[i];
      if (b.fixed >= 0) least_[i] = b.fixed;
      for (const Range& r : ranges(b))
        for (std::int32_t s = r.first; s < r.end; ++s) live_[at(s)] += b.size;
      for (std::int32_t s = b.first_section; s + 1 < b.end_section; ++s) ++crossing_[at(s)];
    }
  }

  bool impossible() const {
    for (T live : live_)
      if (live > capacity_) return true;
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      if (least_[i] > buffers_[i].highest) return true;
    return false;
  }

  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  static T align_up(T n, T alignment) { return alignment == 1 ? n : round_up(n, alignment); }

  Cursor<T> cursor_of(std::int32_t i) const { return {least_[at(i)], rank_[at(i)]}; }
  // From where on the order goes; branching by section keeps none.
  Cursor<T> cursor_after(std::int32_t i) const { return by_section_ ? Cursor<T>{} : cursor_of(i); }

  void update_hash(std::int32_t i) {
    const std::uint64_t low =
        mixed(static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U +
              static_cast<std::uint64_t>(least_[at(i)]) * 0xd1b54a32d192ed03U +
              (static_cast<std::uint64_t>(by_section_ ? 0 : rank_[at(i)]) << 40) + 1);
    hash_[at(i)] = {low, mixed(low + 0x632be59bd9b4e019U)};
  }

  double key(char name, const Buffer& b) const {
    switch (name) {
      case 'L': return b.life;
      case 'S': return static_cast<double>(b.size);
      case 'A': return b.life * static_cast<double>(b.size);
      case 'C': return b.sections;
      case 'B': return b.sections * static_cast<double>(b.size);
      default: break;
    }
    T most = 0;
    for (const Range& r : ranges(b))
      for (std::int32_t s = r.first; s < r.end; ++s) most = std::max(most, live_[at(s)]);
    return static_cast<double>(most);
  }

  // A factor for a buffer in an attempt.
  double noise(std::int32_t i) const {
    if (!style_.restarts || attempts_ == 1) return 1;
    const std::uint64_t bits = mixed(static_cast<std::uint64_t>(attempts_) * 0x9e3779b97f4a7c15U +
                                     static_cast<std::uint64_t>(i));
    const double share = static_cast<double>(bits >> 11) * 0x1p-53;
    return 1 + (attempts_ % 2 ? 0.1 : 0.5) * share;
  }

  // Ranks of the buffers of a part follow from what is still live in its sections.
  void rank(std::size_t begin, std::size_t end) {
    struct Ranked {
      std::array<double, 3> keys;
      std::int32_t buffer;
      auto operator<=>(const Ranked&) const = default;  // NOLINT: no zero is meant
    };
    const std::size_t shift = style_.restarts ? static_cast<std::size_t>(attempts_ - 1) : 0;
    std::vector<Ranked> ranked(end - begin);
    for (std::size_t k = begin; k < end; ++k) {
      Ranked& r = ranked[k - begin];
      r.buffer = pool_[k];
      for (std::size_t c = 0; c < std::min(style_.order.size(), r.keys.size()); ++c)
        r.keys[c] = -noise(r.buffer) *
                    key(style_.order[(c + shift) % style_.order.size()], buffers_[at(r.buffer)]);
    }
    std::ranges::sort(ranked, std::less<>());
    for (std::size_t k = begin; k < end; ++k) {
      const std::int32_t i = ranked[k - begin].buffer;
      pool_[k] = i;
      rank_[at(i)] = static_cast<std::int32_t>(k - begin);
      update_hash(i);
    }
  }

  // The buffers in pool_[begin, end) lie in the sections [first, last) and meet no other unplaced
  // one.
  SearchResult solve_part(std::size_t begin, std::size_t end, std::int32_t first,
                          std::int32_t last) {
    rank(begin, end);
    return visit(begin, end, first, last, {});
  }

  bool out_of_budget() {
    if (left_ <= 0) return true;
    --left_;
    if ((++steps_ & 255) == 0 && budget_.is_late()) left_ = 0;
    return false;
  }

  // Appends the unplaced buffers of pool_[begin, end), in order of rank.
  Key copy_unplaced(std::size_t begin, std::size_t end) {
    Key key;
    std::size_t top = pool_.size();
    pool_.resize(top + end - begin);
    for (std::size_t k = begin; k < end; ++k) {
      const std::int32_t i = pool_[k];
      if (placed_[at(i)]) continue;
      pool_[top++] = i;
      key.low += hash_[at(i)].low;
      key.high += hash_[at(i)].high;
    }
    pool_.resize(top);
    return key;
  }

  SearchResult visit(std::size_t begin, std::size_t end, std::int32_t first, std::int32_t last,
                     Cursor<T> cursor) {
    if (out_of_budget()) return SearchResult::out_of_budget;
    const std::size_t top = pool_.size();
    const Key key = copy_unplaced(begin, end);
    SearchResult result = SearchResult::infeasible;
    if (pool_.size() == top) {
      result = SearchResult::feasible;
    } else if (!failed_.contains(key, cursor)) {
      if (can_fit(top, pool_.size(), first, last, cursor))
        result = by_section_ ? branch_by_section(top, pool_.size(), first, last)
                             : branch(top, pool_.size(), first, last, cursor);
      if (result == SearchResult::infeasible) failed_.add(key, cursor);
    }
    pool_.resize(top);
    return result;
  }

  // Lower bounds of all offsets, and whether every section has room for its buffers above them.
  bool can_fit(std::size_t begin, std::size_t end, std::int32_t first, std::int32_t last,
               Cursor<T> cursor) {
    T lowest_end = std::numeric_limits<T>::max();
    for (std::size_t k = begin; k < end; ++k) {
      const std::int32_t i = pool_[k];
      reach_[at(i)] = std::max(least_[at(i)], cursor.offset) + buffers_[at(i)].size;
      lowest_end = std::min(lowest_end, reach_[at(i)]);
    }
    std::fill(lowest_.begin() + first, lowest_.begin() + last, std::numeric_limits<T>::max());
    for (std::size_t k = begin; k < end; ++k) {
      const std::int32_t i = pool_[k];
      const Buffer& b = buffers_[at(i)];
      T offset = least_[at(i)];
      if (cursor_of(i) < cursor) {
        if (b.fixed >= 0) return false;
        offset = lifted(b, lowest_end);
        reach_[at(i)] = offset + b.size;
      }
      if (offset > b.highest) return false;
      for (const Range r : ranges(b)) {  // a copy: the loop writes what might be its end
        T* lowest = lowest_.data();
        for (std::int32_t s = r.first; s < r.end; ++s) lowest[s] = std::min(lowest[s], offset);
      }
    }
    for (std::int32_t s = first; s < last; ++s)
      if (live_[at(s)] > 0 && lowest_[at(s)] > capacity_ - live_[at(s)]) return false;
    return true;
  }

  // The canonical order has passed the buffer's own lowest place: it will rest on a neighbour that
  // is not placed yet.
  T lifted(const Buffer& b, T lowest_end) const {
    T least = std::numeric_limits<T>::max() / 2;
    for (std::int32_t j : neighbours(b)) {
      if (placed_[at(j)]) continue;
      least = std::min(least, reach_[at(j)]);
      if (least == lowest_end) break;
    }
    return align_up(least, b.alignment);
  }

  SearchResult branch(std::size_t begin, std::size_t end, std::int32_t first, std::int32_t last,
                      Cursor<T> cursor) {
    // A buffer at or above the lowest possible end of another would leave that one a place below.
    T lowest_end = std::numeric_limits<T>::max();
    for (std::size_t k = begin; k < end; ++k) {
      const std::int32_t i = pool_[k];
      if (buffers_[at(i)].fixed < 0)
        lowest_end = std::min(lowest_end, least_[at(i)] + buffers_[at(i)].size);
    }
    const std::size_t candidates = pool_.size();
    for (std::size_t k = begin; k < end; ++k) {
      const std::int32_t i = pool_[k];
      if (least_[at(i)] < lowest_end && !(cursor_of(i) < cursor)) pool_.push_back(i);
    }
    std::sort(pool_.begin() + static_cast<std::ptrdiff_t>(candidates), pool_.end(),
              [&](std::int32_t a, std::int32_t b) { return cursor_of(a) < cursor_of(b); });
    SearchResult result = SearchResult::infeasible;
    const std::size_t candidates_end = pool_.size();
    for (std::size_t k = candidates; k < candidates_end; ++k) {
      bool covered = false;
      result = try_place(pool_[k], begin, end, first, last, covered);
      // A buffer with nothing above it does no harm: another choice cannot be better.
      if (result != SearchResult::infeasible || !covered) break;
    }
    pool_.resize(candidates);
    return result;
  }

  // Chooses one of the sections with the lowest floor: preferably one with no room to waste, then
  // the one with the fewest buffers that may lie on the floor. Branches on which of these does or,
  // if there is room to waste, none of them: no packing is visited twice.
  SearchResult branch_by_section(std::size_t begin, std::size_t end, std::int32_t first,
                                 std::int32_t last) {
    T floor = std::numeric_limits<T>::max();
    for (std::int32_t s = first; s < last; ++s)
      if (live_[at(s)] > 0) floor = std::min(floor, lowest_[at(s)]);
    const std::int32_t chosen = tightest_section(begin, end, first, last, floor);
    const T slack = capacity_ - floor - live_[at(chosen)];
    const std::size_t candidates = pool_.size();
    for (std::size_t k = begin; k < end; ++k)
      if (least_[at(pool_[k])] == floor && lives_in(pool_[k], chosen)) pool_.push_back(pool_[k]);
    const std::size_t candidates_end = pool_.size();
    SearchResult result = SearchResult::infeasible;
    bool covered = true;
    for (std::size_t k = candidates; k < candidates_end; ++k) {
      const auto tried = pool_.begin() + static_cast<std::ptrdiff_t>(candidates);
      if (std::any_of(tried, pool_.begin() + static_cast<std::ptrdiff_t>(k),
                      [&](std::int32_t other) { return are_twins(other, pool_[k]); }))
        continue;
      covered = false;
      result = try_place(pool_[k], begin, end, first, last, covered);
      if (result != SearchResult::infeasible || !covered) break;
    }
    pool_.resize(candidates);
    if (result == SearchResult::infeasible && covered && slack > 0)
      result = leave_floor(begin, end, first, last, chosen, floor);
    return result;
  }

  std::int32_t tightest_section(std::size_t begin, std::size_t end, std::int32_t first,
                                std::int32_t last, T floor) {
    std::fill(on_floor_.begin() + first, on_floor_.begin() + last, 0);
    for (std::size_t k = begin; k < end; ++k) {
      if (least_[at(pool_[k])] != floor) continue;
      for (const Range r : ranges(buffers_[at(pool_[k])]))
        for (std::int32_t s = r.first; s < r.end; ++s) ++on_floor_[at(s)];
    }
    std::int32_t chosen = -1;
    std::pair<bool, std::int32_t> least;
    for (std::int32_t s = first; s < last; ++s) {
      if (live_[at(s)] <= 0 || lowest_[at(s)] != floor) continue;
      const std::pair<bool, std::int32_t> key = {capacity_ - floor > live_[at(s)],
                                                 on_floor_[at(s)]};
      if (chosen >= 0 && least <= key) continue;
      least = key;
      chosen = s;
    }
    return chosen;
  }

  bool lives_in(std::int32_t i, std::int32_t section) const {
    for (const Range& r : ranges(buffers_[at(i)]))
      if (r.first <= section && section < r.end) return true;
    return false;
  }

  // Either may stand for the other.
  bool are_twins(std::int32_t i, std::int32_t j) const {
    const Buffer& a = buffers_[at(i)];
    const Buffer& b = buffers_[at(j)];
    const auto same = [](const Range& x, const Range& y) {
      return x.first == y.first && x.end == y.end;
    };
    return a.size == b.size && a.alignment == b.alignment && a.highest == b.highest &&
           a.fixed == b.fixed && least_[at(i)] == least_[at(j)] &&
           std::ranges::equal(ranges(a), ranges(b), same);
  }

  // No buffer lies on the floor of the section: the lowest of them will rest on one that is not in
  // the section, or is fixed.
  SearchResult leave_floor(std::size_t begin, std::size_t end, std::int32_t first,
                           std::int32_t last, std::int32_t section, T floor) {
    const std::size_t top = pool_.size();
    for (std::size_t k = begin; k < end; ++k)
      if (lives_in(pool_[k], section)) pool_.push_back(pool_[k]);
    const std::span inside(pool_.data() + top, pool_.size() - top);
    for (std::int32_t i : inside) inside_[at(i)] = 1;
    const T next = lowest_rest(inside, floor);
    for (std::int32_t i : inside) inside_[at(i)] = 0;
    const std::size_t undo = moved_.size();
    for (std::int32_t i : inside) {
      if (least_[at(i)] >= next) continue;
      moved_.push_back({i, least_[at(i)]});
      least_[at(i)] = align_up(next, buffers_[at(i)].alignment);
      update_hash(i);
    }
    pool_.resize(top);
    const SearchResult result = visit(begin, end, first, last, {});
    take_moves_back(undo);
    return result;
  }

  // The lowest offset above the floor that one of these can have, when none of them carries it.
  T lowest_rest(std::span<const std::int32_t> inside, T floor) const {
    T next = std::numeric_limits<T>::max() / 2;
    for (std::int32_t i : inside) {
      const Buffer& b = buffers_[at(i)];
      if (b.fixed > floor) next = std::min(next, b.fixed);
      if (b.fixed >= 0) continue;
      for (std::int32_t j : neighbours(b)) {
        if (placed_[at(j)] || inside_[at(j)]) continue;
        const T rest = align_up(least_[at(j)] + buffers_[at(j)].size, b.alignment);
        next = std::min(next, std::max(rest, least_[at(i)]));
      }
    }
    return next;
  }

  void take_moves_back(std::size_t undo) {
    for (; moved_.size() > undo; moved_.pop_back()) {
      least_[at(moved_.back().buffer)] = moved_.back().least;
      update_hash(moved_.back().buffer);
    }
  }

  // Places buffer i at its lowest offset, searches on, and takes it back. `covered`: something
  // unplaced will lie above it.
  SearchResult try_place(std::int32_t i, std::size_t begin, std::size_t end, std::int32_t first,
                         std::int32_t last, bool& covered) {
    const T offset = least_[at(i)];
    const Cursor<T> cursor = cursor_after(i);
    const std::size_t undo = moved_.size();
    placed_[at(i)] = 1;
    const bool pushed = push_neighbours(i, covered);
    const bool fits = take_sections(i) && pushed;  // in any case: both are given back
    SearchResult result = SearchResult::infeasible;
    if (fits) result = search_rest(i, begin, end, first, last, cursor);
    if (result == SearchResult::feasible) found_[at(i)] = offset;
    give_sections_back(i);
    take_moves_back(undo);
    placed_[at(i)] = 0;
    return result;
  }

  bool push_neighbours(std::int32_t i, bool& covered) {
    const T top = least_[at(i)] + buffers_[at(i)].size;
    bool fits = true;
    for (std::int32_t j : neighbours(buffers_[at(i)])) {
      if (placed_[at(j)]) continue;
      covered = true;
      if (least_[at(j)] >= top) continue;
      moved_.push_back({j, least_[at(j)]});
      least_[at(j)] = align_up(top, buffers_[at(j)].alignment);
      update_hash(j);
      if (least_[at(j)] > buffers_[at(j)].highest) fits = false;
    }
    return fits;
  }

  bool take_sections(std::int32_t i) {
    const Buffer& b = buffers_[at(i)];
    const T room = capacity_ - least_[at(i)] - b.size;
    bool fits = true;
    for (const Range r : ranges(b))
      for (std::int32_t s = r.first; s < r.end; ++s) {
        live_[at(s)] -= b.size;
        fits &= live_[at(s)] <= room;
      }
    for (std::int32_t s = b.first_section; s + 1 < b.end_section; ++s) --crossing_[at(s)];
    return fits;
  }

  void give_sections_back(std::int32_t i) {
    const Buffer& b = buffers_[at(i)];
    for (const Range r : ranges(b))
      for (std::int32_t s = r.first; s < r.end; ++s) live_[at(s)] += b.size;
    for (std::int32_t s = b.first_section; s + 1 < b.end_section; ++s) ++crossing_[at(s)];
  }

  // With buffer i placed, sections that no unplaced buffer joins any more are solved apart.
  SearchResult search_rest(std::int32_t i, std::size_t begin, std::size_t end, std::int32_t first,
                           std::int32_t last, Cursor<T> cursor) {
    const Buffer& b = buffers_[at(i)];
    bool splits = false;
    for (std::int32_t s = b.first_section; s + 1 < b.end_section && !splits; ++s)
      splits = crossing_[at(s)] == 0;
    if (!splits) return visit(begin, end, first, last, cursor);
    return solve_parts(begin, end, first, last);
  }

  // The tightest part first: it is the most likely to fail.
  SearchResult solve_parts(std::size_t begin, std::size_t end, std::int32_t first,
                           std::int32_t last) {
    std::vector<Part> parts = parts_of(begin, end, first, last);
    std::ranges::sort(parts, {}, &Part::slack);
    const std::size_t top = pool_.size();
    std::vector<std::pair<std::int32_t, std::int32_t>> ranks;
    for (std::size_t k = begin; k < end; ++k)
      if (!placed_[at(pool_[k])]) ranks.emplace_back(pool_[k], rank_[at(pool_[k])]);
    SearchResult result = SearchResult::feasible;
    for (const Part& p : parts) {
      for (const auto& [buffer, r] : ranks)
        if (buffers_[at(buffer)].first_section >= p.first &&
            buffers_[at(buffer)].end_section <= p.end)
          pool_.push_back(buffer);
      result = solve_part(top, pool_.size(), p.first, p.end);
      pool_.resize(top);
      if (result != SearchResult::feasible) break;
    }
    for (const auto& [buffer, r] : ranks) {
      rank_[at(buffer)] = r;
      update_hash(buffer);
    }
    return result;
  }

  std::vector<Part> parts_of(std::size_t begin, std::size_t end, std::int32_t first,
                             std::int32_t last) {
    std::fill(lowest_.begin() + first, lowest_.begin() + last, std::numeric_limits<T>::max());
    for (std::size_t k = begin; k < end; ++k) {
      const std::int32_t i = pool_[k];
      if (placed_[at(i)]) continue;
      for (const Range& r : ranges(buffers_[at(i)]))
        for (std::int32_t s = r.first; s < r.end; ++s)
          lowest_[at(s)] = std::min(lowest_[at(s)], least_[at(i)]);
    }
    std::vector<Part> parts;
    const T none = std::numeric_limits<T>::max();
    Part part{none, first, first};
    for (std::int32_t s = first; s < last; ++s) {
      if (live_[at(s)] > 0)
        part.slack = std::min(part.slack, capacity_ - live_[at(s)] - lowest_[at(s)]);
      if (s + 1 < last && crossing_[at(s)] != 0) continue;
      part.end = s + 1;
      if (part.slack != none) parts.push_back(part);
      part = {none, s + 1, s + 1};
    }
    return parts;
  }

  SearchStyle style_;
  bool by_section_;
  std::int32_t sections_;
  T capacity_;
  std::vector<Buffer> buffers_;
  std::vector<Range> ranges_;
  std::vector<std::int32_t> neighbours_;
  std::vector<std::int32_t> whole_;

  // The state; what is done is undone on the way back.
  std::vector<T> least_;  // lowest offset above the neighbours that are placed
  std::vector<char> placed_;
  std::vector<std::int32_t> rank_;
  std::vector<Key> hash_;               // of (buffer, least, rank)
  std::vector<T> live_;                 // unplaced units per section
  std::vector<std::int32_t> crossing_;  // unplaced buffers that live in sections s and s + 1
  std::vector<Moved> moved_;
  std::vector<std::int32_t> pool_;  // stack of lists of buffers
  std::vector<T> found_;

  std::vector<char> inside_;            // scratch: buffers that live in one section
  std::vector<T> reach_;                // scratch: lowest end of each buffer
  std::vector<T> lowest_;               // scratch: lowest offset in each section
  std::vector<std::int32_t> on_floor_;  // scratch: buffers that may lie on the floor of each

  FailedStates<T> failed_;
  SearchBudget budget_;
  std::int64_t left_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t attempts_ = 0;
};

}  // namespace

bool SearchBudget::is_late() const {
  return std::chrono::steady_clock::now() > deadline || (stop && stop->is_reached());
}

std::unique_ptr<ExactSearch> make_exact_search(std::span<const SearchBuffer> buffers,
                                               std::int32_t sections, std::int64_t capacity,
                                               SearchStyle style) {
  std::int64_t largest = capacity;
  for (const SearchBuffer& b : buffers)
    largest = std::max({largest, b.size, b.alignment, b.fixed + b.size});
  if (largest < (std::int64_t{1} << 28))
    return std::make_unique<Search<std::int32_t>>(buffers, sections, capacity, style);
  return std::make_unique<Search<std::int64_t>>(buffers, sections, capacity, style);
}

}  // namespace quern
