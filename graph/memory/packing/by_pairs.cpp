// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/packing/by_pairs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/offsets/placer.h"
#include "graph/memory/packing/exact_search.h"
#include "graph/memory/problem/sweep.h"

namespace quern {
namespace {

constexpr std::int64_t far = std::int64_t{1} << 62;  // problems have at most 2^60 bytes: check()
constexpr std::size_t max_pairs = 8192;
constexpr std::size_t max_met = std::size_t{1} << 19;  // in all sections: what stacking looks at
constexpr std::int64_t work_a_step = 256;  // pairs looked at: about what a step of others takes
constexpr std::int64_t first_steps = 100;  // of the first round

std::int64_t align_down(std::int64_t n, std::int64_t alignment) {
  return n >= 0 ? n / alignment * alignment : -round_up(-n, alignment);
}
std::int64_t align_up(std::int64_t n, std::int64_t alignment) {
  return -align_down(-n, alignment);
}

// Values from `low` to `high`, both of them included.
struct Window {
  std::int64_t low, high;
};

// The buffers that are ever live, and which differences of offsets are allowed.
class Pairs {
 public:
  struct Buffer {
    std::uint32_t interval;
    std::int64_t size, alignment;
    std::int64_t fixed;  // offset, or -1
  };
  struct Pair {
    std::uint32_t low, high;              // of the buffers; the difference is high's minus low's
    std::uint32_t first_window, windows;  // in `windows`, ascending
  };
  // A buffer of a maximal set of buffers that are live at one time.
  struct Live {
    std::uint32_t buffer;
    std::int64_t from, to;
  };

  explicit Pairs(const MemoryProblem& problem) {
    const std::vector<Piece> pieces = pieces_of(problem);
    const Conflicts conflicts(problem);
    if (!conflicts.listed()) return;
    std::vector<std::uint32_t> buffer_of(problem.intervals.size());
    std::vector<std::pair<std::size_t, std::size_t>> span;  // of each buffer's pieces
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      if (p == 0 || pieces[p].interval != pieces[p - 1].interval) {
        buffer_of[pieces[p].interval] = static_cast<std::uint32_t>(buffers.size());
        buffers.push_back(buffer(problem, pieces[p].interval));
        span.emplace_back(p, p);
      }
      span.back().second = p + 1;
    }
    of.resize(buffers.size());
    for (std::uint32_t i = 0; i < buffers.size(); ++i)
      for (const std::uint32_t other : conflicts[buffers[i].interval]) {
        const std::uint32_t j = buffer_of[other];
        if (j <= i) continue;
        if (pairs.size() == max_pairs) return;
        add(i, j, std::span(pieces).subspan(span[i].first, span[i].second - span[i].first),
            std::span(pieces).subspan(span[j].first, span[j].second - span[j].first));
      }
    is_listed = list_sections(pieces, buffer_of);
  }

  std::vector<Buffer> buffers;
  std::vector<Pair> pairs;
  std::vector<Window> windows;
  std::vector<std::vector<std::uint32_t>> of;  // the pairs of each buffer
  std::vector<std::vector<Live>> sections;
  bool is_listed = false;

 private:
  static Buffer buffer(const MemoryProblem& problem, std::size_t interval) {
    const Interval& i = problem.intervals[interval];
    return {static_cast<std::uint32_t>(interval), static_cast<std::int64_t>(i.size),
            static_cast<std::int64_t>(i.alignment),
            i.fixed_offset ? static_cast<std::int64_t>(*i.fixed_offset) : -1};
  }

  void add(std::uint32_t i, std::uint32_t j, std::span<const Piece> low,
           std::span<const Piece> high) {
    std::vector<Window> taken;  // the ends are allowed
    for (const Piece& a : low)
      for (const Piece& b : high)
        if (a.first < b.end && b.first < a.end)
          taken.push_back({static_cast<std::int64_t>(a.from) - static_cast<std::int64_t>(b.to),
                           static_cast<std::int64_t>(a.to) - static_cast<std::int64_t>(b.from)});
    std::ranges::sort(taken, {}, &Window::low);
    Pair pair{i, j, static_cast<std::uint32_t>(windows.size()), 0};
    std::int64_t from = -far;
    for (const Window& w : taken) {
      if (from <= w.low) windows.push_back({from, w.low});
      from = std::max(from, w.high);
    }
    windows.push_back({from, far});
    pair.windows = static_cast<std::uint32_t>(windows.size()) - pair.first_window;
    of[i].push_back(static_cast<std::uint32_t>(pairs.size()));
    of[j].push_back(static_cast<std::uint32_t>(pairs.size()));
    pairs.push_back(pair);
  }

  // False if there are too many.
  bool list_sections(std::span<const Piece> pieces, std::span<const std::uint32_t> buffer_of) {
    std::vector<std::size_t> live;
    bool grew = false;
    std::size_t met = 0;
    for (const Event& e : events_of(pieces)) {
      if (e.begins) {
        live.push_back(e.piece);
        grew = true;
        continue;
      }
      if (std::exchange(grew, false)) {
        auto& section = sections.emplace_back();
        for (const std::size_t p : live)
          section.push_back({buffer_of[pieces[p].interval],
                             static_cast<std::int64_t>(pieces[p].from),
                             static_cast<std::int64_t>(pieces[p].to)});
        met += live.size() * live.size();
        if (met > max_met) return false;
      }
      live.erase(std::ranges::find(live, e.piece));
    }
    return true;
  }
};

// Tells whether the buffers fit a capacity. Choices that led to failures are remembered from run to
// run.
class PairSearch {
 public:
  explicit PairSearch(const Pairs& pairs) : p_(pairs), weight_(pairs.pairs.size(), 1) {
    index_.resize(p_.buffers.size());
    for (std::uint32_t k = 0; k < p_.pairs.size(); ++k) {
      index_[p_.pairs[k].low].push_back({p_.pairs[k].high, k});
      index_[p_.pairs[k].high].push_back({p_.pairs[k].low, k});
    }
    for (auto& row : index_) std::ranges::sort(row);
  }

  SearchResult run(std::int64_t capacity, std::int64_t steps, const SearchEnds& ends) {
    work_ = 0;
    most_work_ = steps * work_a_step;
    if (!begin(capacity)) return SearchResult::infeasible;
    for (;;) {
      const bool may_fit = propagate();
      if (is_spent() || ends.reached()) return SearchResult::out_of_budget;
      if (may_fit) {
        const std::optional<std::uint32_t> pair = next_pair();
        if (!pair) return SearchResult::feasible;
        choose(*pair);
      } else if (!turn()) {
        return SearchResult::infeasible;
      }
    }
  }

  std::int64_t steps() const { return work_ / work_a_step + 1; }  // of the last run
  std::span<const std::int64_t> offsets() const { return low_; }  // after `feasible`

 private:
  struct Windows {
    std::uint32_t first, end;  // of a pair, that are left
  };
  struct Change {
    enum class Of : std::uint8_t { low, high, windows } of;
    std::uint32_t index;
    std::int64_t bound;
    Windows windows;
  };
  struct Choice {
    std::uint32_t pair;
    Windows other;  // not tried yet
    std::size_t changes;
  };

  bool begin(std::int64_t capacity) {
    const std::size_t n = p_.buffers.size();
    low_.assign(n, 0);
    high_.resize(n);
    left_.resize(p_.pairs.size());
    changes_.clear();
    choices_.clear();
    queue_.clear();
    is_queued_.assign(n, 0);
    for (std::uint32_t i = 0; i < n; ++i) {
      const Pairs::Buffer& b = p_.buffers[i];
      high_[i] = align_down(capacity - b.size, b.alignment);
      if (b.fixed >= 0) low_[i] = b.fixed;
      if (b.fixed >= 0 && high_[i] >= b.fixed) high_[i] = b.fixed;
      if (low_[i] > high_[i]) return false;
      enqueue(i);
    }
    for (std::size_t k = 0; k < left_.size(); ++k) {
      const Pairs::Pair& pair = p_.pairs[k];
      left_[k] = {pair.first_window, pair.first_window + pair.windows};
    }
    for (const auto& section : p_.sections) {
      std::int64_t live = 0;
      for (const Pairs::Live& l : section) live += l.to - l.from;
      if (live > capacity) return false;
    }
    return true;
  }

  void enqueue(std::uint32_t i) {
    if (std::exchange(is_queued_[i], char{1}) == 0) queue_.push_back(i);
  }

  bool raise(std::uint32_t i, std::int64_t low) {
    if (low <= low_[i]) return true;
    changes_.push_back({Change::Of::low, i, low_[i], {}});
    low_[i] = align_up(low, p_.buffers[i].alignment);
    enqueue(i);
    return low_[i] <= high_[i];
  }
  bool lower(std::uint32_t i, std::int64_t high) {
    if (high >= high_[i]) return true;
    changes_.push_back({Change::Of::high, i, high_[i], {}});
    high_[i] = align_down(high, p_.buffers[i].alignment);
    enqueue(i);
    return low_[i] <= high_[i];
  }
  void keep(std::uint32_t k, Windows windows) {
    changes_.push_back({Change::Of::windows, k, 0, left_[k]});
    left_[k] = windows;
  }

  // The interval in which the difference of a pair can still lie.
  Window reach(std::uint32_t k) const {
    const Pairs::Pair& pair = p_.pairs[k];
    return {std::max(low_[pair.high] - high_[pair.low], p_.windows[left_[k].first].low),
            std::min(high_[pair.high] - low_[pair.low], p_.windows[left_[k].end - 1].high)};
  }

  bool revise(std::uint32_t k) {
    const Pairs::Pair& pair = p_.pairs[k];
    Windows w = left_[k];
    const std::int64_t least = low_[pair.high] - high_[pair.low];
    const std::int64_t most = high_[pair.high] - low_[pair.low];
    while (w.first < w.end && p_.windows[w.first].high < least) ++w.first;
    while (w.first < w.end && p_.windows[w.end - 1].low > most) --w.end;
    if (w.first == w.end) return false;
    if (w.first != left_[k].first || w.end != left_[k].end) keep(k, w);
    const Window allowed{p_.windows[w.first].low, p_.windows[w.end - 1].high};
    return (allowed.low == -far || (raise(pair.high, low_[pair.low] + allowed.low) &&
                                    lower(pair.low, high_[pair.high] - allowed.low))) &&
           (allowed.high == far || (lower(pair.high, high_[pair.low] + allowed.high) &&
                                    raise(pair.low, low_[pair.high] - allowed.high)));
  }

  bool is_spent() const { return work_ > most_work_; }

  bool fail() {
    for (const std::uint32_t i : queue_) is_queued_[i] = 0;
    queue_.clear();
    return false;
  }

  // Tightens all offsets; false if there is no plan with the choices so far. Ends early when the
  // work is spent.
  bool propagate() {
    do {
      while (!queue_.empty() && !is_spent()) {
        const std::uint32_t i = queue_.back();
        queue_.pop_back();
        is_queued_[i] = 0;
        work_ += static_cast<std::int64_t>(p_.of[i].size());
        for (const std::uint32_t k : p_.of[i]) {
          if (revise(k)) continue;
          ++weight_[k];
          return fail();
        }
      }
      for (const auto& section : p_.sections)
        if (!is_spent() && !stack(section)) return fail();
    } while (!queue_.empty() && !is_spent());
    return true;
  }

  // Buffers that lie below another at one time lie there beside each other: it lies above their
  // sum; likewise what lies above.
  bool stack(std::span<const Pairs::Live> section) {
    for (const Pairs::Live& mine : section) {
      std::int64_t below = 0;
      std::int64_t above = 0;
      std::int64_t floor = far;
      std::int64_t ceiling = -far;
      for (const Pairs::Live& other : section) {
        if (other.buffer == mine.buffer) continue;
        const std::uint32_t k = pair_of(mine.buffer, other.buffer);
        Window d = reach(k);
        if (p_.pairs[k].high != mine.buffer) d = {-d.high, -d.low};  // mine minus the other's
        if (d.low >= other.to - mine.from) {
          below += other.to - other.from;
          floor = std::min(floor, low_[other.buffer] + other.from);
        } else if (d.high <= other.from - mine.to) {
          above += other.to - other.from;
          ceiling = std::max(ceiling, high_[other.buffer] + other.to);
        }
      }
      work_ += static_cast<std::int64_t>(section.size());
      if (below > 0 && !raise(mine.buffer, floor + below - mine.from)) return blame(mine, section);
      if (above > 0 && !lower(mine.buffer, ceiling - above - mine.to)) return blame(mine, section);
    }
    return true;
  }

  bool blame(const Pairs::Live& mine, std::span<const Pairs::Live> section) {
    for (const Pairs::Live& other : section)
      if (other.buffer != mine.buffer) ++weight_[pair_of(mine.buffer, other.buffer)];
    return false;
  }

  std::uint32_t pair_of(std::uint32_t i, std::uint32_t j) const {
    return std::ranges::lower_bound(index_[i], std::pair{j, std::uint32_t{0}})->second;
  }

  // The pair with the least room for its weight; none if all buffers may lie as low as they can.
  std::optional<std::uint32_t> next_pair() {
    std::optional<std::uint32_t> best;
    double least = 0;
    bool fits = true;
    for (std::uint32_t k = 0; k < left_.size(); ++k) {
      const Windows w = left_[k];
      if (w.end - w.first < 2) continue;
      const Pairs::Pair& pair = p_.pairs[k];
      const std::int64_t lowest = low_[pair.high] - low_[pair.low];
      fits = fits && std::any_of(p_.windows.begin() + w.first, p_.windows.begin() + w.end,
                                 [&](Window x) { return x.low <= lowest && lowest <= x.high; });
      const Window r = reach(k);
      const double room = static_cast<double>((p_.windows[w.first].high - r.low) +
                                              (r.high - p_.windows[w.end - 1].low) + 1) /
                          static_cast<double>(weight_[k]);
      if (best && least <= room) continue;
      best = k;
      least = room;
    }
    work_ += static_cast<std::int64_t>(left_.size());
    return fits ? std::nullopt : best;
  }

  // Takes the half of the windows that leaves more room.
  void choose(std::uint32_t k) {
    const Windows w = left_[k];
    const std::uint32_t middle = w.first + (w.end - w.first) / 2;
    Windows now{w.first, middle};
    Windows later{middle, w.end};
    const Window r = reach(k);
    if (r.high - p_.windows[middle].low > p_.windows[middle - 1].high - r.low)
      std::swap(now, later);
    choices_.push_back({k, later, changes_.size()});
    take(k, now);
  }

  void take(std::uint32_t k, Windows windows) {
    keep(k, windows);
    enqueue(p_.pairs[k].low);
    enqueue(p_.pairs[k].high);
  }

  // Takes the other half of the last choice; false if there is none.
  bool turn() {
    if (choices_.empty()) return false;
    const Choice last = choices_.back();
    choices_.pop_back();
    for (; changes_.size() > last.changes; changes_.pop_back()) {
      const Change& c = changes_.back();
      switch (c.of) {
        case Change::Of::low: low_[c.index] = c.bound; break;
        case Change::Of::high: high_[c.index] = c.bound; break;
        case Change::Of::windows: left_[c.index] = c.windows; break;
      }
    }
    take(last.pair, last.other);
    return true;
  }

  const Pairs& p_;
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> index_;  // other, pair
  std::vector<std::int64_t> weight_;  // of each pair: how often it led to a failure
  std::vector<std::int64_t> low_, high_;
  std::vector<Windows> left_;
  std::vector<Change> changes_;
  std::vector<Choice> choices_;
  std::vector<std::uint32_t> queue_;  // buffers whose pairs are to be looked at
  std::vector<char> is_queued_;
  std::int64_t work_ = 0;
  std::int64_t most_work_ = 0;
};

class ByPairs final : public PlanSearch {
 public:
  ByPairs(const MemoryProblem& problem, MemoryPlan plan, std::uint64_t capacity, SearchEnds& ends)
      : problem_(problem),
        capacity_(capacity),
        ends_(ends),
        pairs_(problem),
        search_(pairs_),
        answer_{std::move(plan), lower_bound(problem)} {}

  // Asks for any smaller plan, for one at the bound, and for one between them.
  bool round(std::uint64_t below) override {
    if (!pairs_.is_listed) return false;
    ask(below, [&](std::uint64_t ceiling) { return std::min(ceiling - 1, capacity_); });
    ask(below, [&](std::uint64_t) { return answer_.bound; });
    ask(below, [&](std::uint64_t ceiling) { return std::midpoint(answer_.bound, ceiling - 1); });
    steps_ = std::min(2 * steps_, std::int64_t{1} << 40);
    return is_open(below) && !ends_.reached();
  }

  const PlanAnswer& answer() const override { return answer_; }

 private:
  bool is_open(std::uint64_t below) const {
    return answer_.bound < std::min(answer_.plan.size, below) && answer_.bound <= capacity_ &&
           (capacity_ == any_capacity || answer_.plan.size > capacity_);
  }

  template <class Choose>
  void ask(std::uint64_t below, Choose choose) {
    if (!is_open(below) || ends_.reached()) return;
    const std::uint64_t capacity = choose(std::min(answer_.plan.size, below));
    const std::int64_t steps = std::min(steps_, ends_.steps);
    const SearchResult result = search_.run(static_cast<std::int64_t>(capacity), steps, ends_);
    ends_.steps -= search_.steps();
    if (result == SearchResult::infeasible) answer_.bound = std::max(answer_.bound, capacity + 1);
    if (result == SearchResult::feasible) adopt();
  }

  void adopt() {
    MemoryPlan plan{std::vector<std::uint64_t>(problem_.intervals.size()), 0};
    for (std::size_t k = 0; k < pairs_.buffers.size(); ++k)
      plan.offsets[pairs_.buffers[k].interval] = static_cast<std::uint64_t>(search_.offsets()[k]);
    for (std::size_t i = 0; i < plan.offsets.size(); ++i) {
      const Interval& b = problem_.intervals[i];
      if (b.fixed_offset) plan.offsets[i] = *b.fixed_offset;
      plan.size = std::max(plan.size, plan.offsets[i] + b.size);
    }
    answer_.plan = std::move(plan);
  }

  const MemoryProblem& problem_;
  std::uint64_t capacity_;
  SearchEnds& ends_;
  Pairs pairs_;
  PairSearch search_;
  PlanAnswer answer_;
  std::int64_t steps_ = first_steps;
};

}  // namespace

std::unique_ptr<PlanSearch> make_pair_search(const MemoryProblem& problem, MemoryPlan plan,
                                             std::uint64_t capacity, SearchEnds& ends) {
  return std::make_unique<ByPairs>(problem, std::move(plan), capacity, ends);
}

}  // namespace quern
