// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/packing/valleys.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "graph/memory/offsets/filling.h"
#include "graph/memory/packing/random.h"
#include "graph/memory/problem/stable_sort.h"

namespace quern {
namespace {

// The buffers to hold back: the shares of the sum of size x life below each border between tiers,
// and the sort key: life x size to this power.
struct Way {
  std::array<double, 4> shares;
  double size_power;
};
constexpr std::array ways = {
    Way{{}, 1},
    Way{{0.5, 0.2, 0.06}, 1.5},
    Way{{0.8, 0.5, 0.2, 0.06}, 2},
    Way{{0.2}, 1},
    Way{{0.03}, 1},
    Way{{0.2, 0.06}, 1.5},
    Way{{0.1}, 1},
    Way{{0.2}, 0},
};
constexpr std::size_t ways_of_beams = 3;  // those whose simple attempts were the best

// Work limits of a simple attempt, per buffer and in total: problems that need more suit other
// searches.
constexpr std::uint64_t most_work_each = 5000;
constexpr std::uint64_t most_valley_work = 200'000'000;
constexpr std::size_t most_cut = 2;  // then the others are not tried
constexpr std::size_t most_valleys = 300;
constexpr std::size_t children = 8;  // of each skyline that is kept
constexpr std::size_t most_kept = 16;

double power(double size, double exponent) {
  return exponent == 0     ? 1
         : exponent == 1   ? size
         : exponent == 1.5 ? size * std::sqrt(size)
                           : size * size;
}

Tiers tiers_of(const Lives& lives, const Way& way) {
  std::vector<std::uint32_t> order(lives.count());
  std::vector<double> keys(lives.count());
  std::iota(order.begin(), order.end(), 0);
  double left = 0;
  for (std::uint32_t i : order) {
    left += lives.area(i);
    keys[i] = power(static_cast<double>(lives.size[i]), way.size_power) * lives.life(i);
  }
  sort_stably(order, std::greater<>(), [&](std::uint32_t i) { return keys[i]; });
  const double all = left;
  Tiers tiers(1);
  auto share = way.shares.begin();
  for (std::uint32_t i : order) {
    if (share != way.shares.end() && *share > 0 && left < *share * all) {
      tiers.emplace_back();
      ++share;
    }
    tiers.back().push_back(i);
    left -= lives.area(i);
  }
  return tiers;
}

// The first has the parameters of the simple attempt, the others random ones.
FillingParameters valley_parameters(std::size_t child, std::uint64_t seed) {
  constexpr std::array<unsigned, 5> noises = {1, 2, 4, 8, 16};
  constexpr std::array powers = {1.0, 0.5, 1.0, 1.5, 2.0};
  constexpr std::array bases = {0.1, 0.02, 0.5};
  if (child == 0) return {};
  return {.noise = noises[seed % noises.size()],
          .life_power = powers[seed / 8 % powers.size()],
          .base = bases[seed / 64 % bases.size()]};
}

}  // namespace

class ValleySearch::Impl {
 public:
  explicit Impl(const MemoryProblem& problem) : problem_(problem), shared_(problem) {
    order_.resize(ways.size());
    std::iota(order_.begin(), order_.end(), 0);
    sizes_.fill(any_capacity);
  }

  bool suits() const {
    return std::ranges::none_of(problem_.intervals,
                                [](const Interval& i) { return i.fixed_offset.has_value(); });
  }
  bool simple() const { return attempts_ < ways.size() && cut_ < most_cut; }
  std::uint64_t work() const { return shared_.work; }

  std::optional<MemoryPlan> attempt(std::uint64_t below, const SearchEnds* ends) {
    if (simple()) return simple_attempt();
    if (below == 0 || usable_ways() == 0) return std::nullopt;
    return beam(beams_++, below - 1, ends);
  }

  std::uint64_t next_work() const {
    if (simple() || usable_ways() == 0) return 0;
    return works_[order_[beams_ % usable_ways()]] * children * width_of(beams_);
  }
  std::int64_t next_steps() const {
    if (simple() || usable_ways() == 0) return 0;
    return static_cast<std::int64_t>(shared_.lives.count() * children * width_of(beams_));
  }

 private:
  std::uint64_t most_simple_work() const {
    return std::min(most_valley_work, most_work_each * shared_.lives.count());
  }
  std::size_t usable_ways() const {
    const auto usable = std::ranges::count_if(sizes_, [](auto s) { return s != any_capacity; });
    return std::min(static_cast<std::size_t>(usable), ways_of_beams);
  }
  // It grows with the number of the beam.
  static std::size_t width_of(std::size_t number) {
    return std::min(std::size_t{2} << std::min<std::size_t>(number / (2 * ways_of_beams), 8),
                    most_kept);
  }

  static constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
  struct Candidate {
    double loss;
    Filling filling;
  };

  // Not below the best: how far above it tells which ways are good.
  std::optional<MemoryPlan> simple_attempt() {
    const std::size_t way = attempts_++;
    const std::uint64_t before = shared_.work;
    Filling filling(shared_, tiers_of(shared_.lives, ways[way]));
    if (!filling.run(any, any_height, most_simple_work())) {
      ++cut_;
      return std::nullopt;
    }
    MemoryPlan plan = plan_of(filling);
    sizes_[way] = plan.size;
    works_[way] = shared_.work - before;
    sort_stably(order_, {}, [&](std::size_t w) { return sizes_[w]; });
    return plan;
  }

  std::optional<MemoryPlan> beam(std::size_t number, std::uint64_t most, const SearchEnds* ends) {
    const std::size_t way = order_[number % usable_ways()];
    const std::size_t width = width_of(number);
    std::vector<Filling> kept;
    kept.emplace_back(shared_, tiers_of(shared_.lives, ways[way]));
    const std::size_t levels = count_levels();
    for (std::size_t level = 1; level <= levels; ++level) {
      if (ends != nullptr && ends->reached()) return std::nullopt;
      const std::size_t until = level == levels ? any : shared_.lives.count() * level / levels;
      std::vector<Candidate> candidates =
          grown(kept, {until, width, most}, mixed(number * levels + level));
      if (candidates.empty()) return std::nullopt;
      sort_stably(candidates, {}, &Candidate::loss);
      kept.clear();
      for (std::size_t k = 0; k < candidates.size() && kept.size() < width; ++k) {
        // Skip a candidate that is as good as the previous one: it is most likely the same.
        if (k > 0 && candidates[k].loss == candidates[k - 1].loss) continue;
        kept.push_back(std::move(candidates[k].filling));
        kept.back().commit();
      }
    }
    return plan_of(kept.front());
  }

  // A level costs a copy of what is kept of each section.
  std::size_t count_levels() const {
    const std::size_t sections = shared_.lives.sections;
    return std::clamp<std::size_t>(shared_.lives.count() / (sections / 16 + 64), 1, most_valleys);
  }

  struct Level {
    std::size_t until;
    std::size_t width;
    std::uint64_t most;
  };
  std::vector<Candidate> grown(const std::vector<Filling>& kept, const Level& level,
                               std::uint64_t seed) {
    std::vector<Candidate> candidates;
    const std::size_t each = children * level.width / kept.size();
    for (std::size_t k = 0; k < kept.size(); ++k) {
      for (std::size_t child = 0; child < each; ++child) {
        Filling filling = kept[k];
        const std::uint64_t lot = mixed(seed + 1000003 * k + child);
        filling.set_parameters(valley_parameters(child, lot), lot);
        if (!filling.run(level.until, level.most, most_simple_work())) continue;
        const double loss = filling.loss();
        candidates.push_back({loss, std::move(filling)});
      }
    }
    return candidates;
  }

  MemoryPlan plan_of(const Filling& filling) const {
    MemoryPlan plan{std::vector<std::uint64_t>(problem_.intervals.size(), 0), 0};
    filling.for_each_place(
        [&](const Place& p) { plan.offsets[shared_.lives.buffer[p.id]] = p.offset; });
    for (std::size_t i = 0; i < plan.offsets.size(); ++i)
      plan.size = std::max(plan.size, plan.offsets[i] + problem_.intervals[i].size);
    return plan;
  }

  const MemoryProblem& problem_;
  SharedState shared_;
  std::size_t attempts_ = 0;  // simple ones
  std::size_t cut_ = 0;       // of them, as they took too long
  std::size_t beams_ = 0;
  std::array<std::uint64_t, ways.size()> sizes_;  // that simple attempts came to
  std::array<std::uint64_t, ways.size()> works_{};
  std::vector<std::size_t> order_;  // of ways, the best first
};

ValleySearch::ValleySearch(const MemoryProblem& problem) : impl_(std::make_unique<Impl>(problem)) {}
ValleySearch::~ValleySearch() = default;
bool ValleySearch::suits() const {
  return impl_->suits();
}
bool ValleySearch::simple() const {
  return impl_->simple();
}
std::int64_t ValleySearch::next_steps() const {
  return impl_->next_steps();
}
std::uint64_t ValleySearch::next_work() const {
  return impl_->next_work();
}
std::uint64_t ValleySearch::work() const {
  return impl_->work();
}
std::optional<MemoryPlan> ValleySearch::attempt(std::uint64_t below, const SearchEnds* ends) {
  return impl_->attempt(below, ends);
}

}  // namespace quern
