// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/packing/packing_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>

#include "graph/memory/offsets/gap_packing.h"
#include "graph/memory/packing/random.h"
#include "graph/memory/problem/stable_sort.h"

namespace quern {
namespace {

constexpr std::size_t attempts_of_width = 2;  // from the first section, and from the fullest
constexpr std::size_t most_levels = 300;
// Sections that buffers live for, in sum: each attempt looks at all of them.
constexpr double most_lives = 2e7;
constexpr std::uint64_t most_looks = 300'000'000;  // of a packing at buffers and gaps
// The cost of a packing in tens of nanoseconds: per buffer, and per section of its life.
constexpr double buffer_work = 100;
constexpr double live_work = 2;
constexpr double look_work = 0.1;  // per look, where there are far more of them
// Limits on the size of all packings of a beam and of lists of pairs: some hundred MiB.
constexpr std::size_t most_blocks = 8'000'000;
constexpr double most_searched_pairs = 8e6;
// Attempts aim at this share above the bound until there is such a plan, then at half the excess of
// the best one: with less room packings fail early, with more they fail late.
constexpr double first_aim = 0.008;

// The first child uses the best parameters, the others random ones.
PackingParameters parameters_of(std::size_t child, std::uint64_t lot) {
  using Distance = PackingParameters::Distance;
  constexpr std::array mismatches = {0.33, 0.16, 0.66, 0.08, 0.33, 0.25, 0.5, 1.3};
  constexpr std::array distances = {Distance::logarithm,     Distance::share_of_life,
                                    Distance::none,          Distance::logarithm,
                                    Distance::share_of_life, Distance::share_of_life,
                                    Distance::logarithm,     Distance::share_of_life};
  constexpr std::array smalls = {4.0, 4.0, 3.0, 8.0, 2.0, 6.0, 4.0, 4.0};
  constexpr std::array larges = {0.0, 0.0, 4.0, 2.5, 2.0, 0.0, 3.0, 1.5};
  if (child == 0) return {};
  return {.mismatch = mismatches[lot % 8],
          .distance = distances[lot / 8 % 8],
          .wall = lot / 512 % 2 == 0 ? 1.0 : 2.0,
          .small = smalls[lot / 64 % 8],
          .large = larges[lot / 1024 % 8]};
}

}  // namespace

class PackingSearch::Impl {
  struct Width {
    std::size_t kept;
    std::size_t children;  // of each packing that is kept
  };
  static constexpr Width widths[] = {{1, 1}, {2, 3}, {8, 6}, {24, 8}, {64, 8}};

 public:
  explicit Impl(const MemoryProblem& problem)
      : problem_(problem), lives_(problem), bound_(lower_bound(problem)) {
    const std::vector<std::uint64_t> totals = lives_.totals();
    // The last of several: attempts from the first section are others.
    fullest_ = static_cast<std::uint32_t>(totals.rend() -
                                          std::max_element(totals.rbegin(), totals.rend()) - 1);
    std::vector<std::int64_t> counts(totals.size() + 1);  // of what begins, less what ends
    for (const Lives::Span& span : lives_.span) {
      live_ += span.end - span.first;
      ++counts[span.first];
      --counts[span.end];
    }
    std::partial_sum(counts.begin(), counts.end(), counts.begin());
    most_live_ = static_cast<std::size_t>(*std::ranges::max_element(counts));
    const double bytes = std::accumulate(totals.begin(), totals.end(), 0.0);
    mean_size_ = live_ > 0 ? std::max(bytes / live_, 1.0) : 1;
  }

  bool suits() const {
    return lives_.sections > 0 && live_ <= most_lives &&
           std::ranges::none_of(problem_.intervals,
                                [](const Interval& i) { return i.fixed_offset.has_value(); }) &&
           std::ranges::all_of(lives_.alignment, [&](std::uint64_t a) { return a == lives_.unit; });
  }

  std::optional<MemoryPlan> attempt(std::uint64_t best, const SearchEnds* ends) {
    const std::size_t number = attempts_++;
    if (number == 0) all_ = forwards(0);
    if (number == 1 && fullest_ > 0) {
      from_fullest_ = forwards(fullest_);
      to_fullest_ = backwards(fullest_);
    }
    height_ = aim(best);
    const std::uint32_t start = number % attempts_of_width == 0 ? 0 : fullest_;
    Beam beam{width_of(number), number, ends, {}, 0};
    beam.kept.emplace_back();
    if (!go(beam, start, start == 0 ? all_ : from_fullest_)) return std::nullopt;
    if (start > 0 && !turn(beam, start)) return std::nullopt;
    return plan_of(beam.kept.front());
  }

  bool simple() const { return attempts_ < attempts_of_width; }
  std::uint64_t next_work() const {
    const Width w = width_of(attempts_);
    const double each =
        std::max(buffer_work * static_cast<double>(lives_.count()) + live_work * live_,
                 look_work * static_cast<double>(looks_));
    return static_cast<std::uint64_t>(each) * w.kept * w.children;
  }
  std::int64_t next_steps() const {
    const Width w = width_of(attempts_);
    return static_cast<std::int64_t>(lives_.count() * w.kept * w.children);
  }

 private:
  // The placed buffers, last to first: packings share their beginnings.
  struct Batch {
    std::shared_ptr<const Batch> before;
    std::vector<Place> places;
  };
  struct State {
    Packing packing;
    std::shared_ptr<const Batch> batch;
    double loss = 0;
  };
  struct Beam {
    Width width;
    std::size_t number;
    const SearchEnds* ends;
    std::vector<State> kept;
    std::size_t levels;  // so far
  };

  Width width_of(std::size_t number) const {
    std::size_t k = std::min(number / attempts_of_width, std::size(widths) - 1);
    while (k > 0 && widths[k].kept * widths[k].children * most_live_ > most_blocks) --k;
    return widths[k];
  }

  std::uint64_t aim(std::uint64_t best) const {
    const double over = static_cast<double>(best - std::min(best, bound_));
    const auto above =
        static_cast<std::uint64_t>(std::min(first_aim * static_cast<double>(bound_), over / 2));
    return (bound_ + above) / lives_.unit * lives_.unit;
  }

  // The arrivals by section from `start` on; all buffers live at `start` begin there.
  std::vector<Arrivals> forwards(std::uint32_t start) const {
    std::vector<std::vector<Arrivals::Buffer>> begins(lives_.sections - start);
    for (std::uint32_t i = 0; i < lives_.count(); ++i)
      if (const auto [first, end] = lives_.span[i]; end > start)
        begins[std::max(first, start) - start].push_back({lives_.size[i], end, i});
    return arrivals_of(begins);
  }
  // The arrivals of the buffers that end by `start`, with time reversed: section s is the problem's
  // sections - 1 - s.
  std::vector<Arrivals> backwards(std::uint32_t start) const {
    std::vector<std::vector<Arrivals::Buffer>> begins(start);
    for (std::uint32_t i = 0; i < lives_.count(); ++i)
      if (const auto [first, end] = lives_.span[i]; end <= start)
        begins[start - end].push_back({lives_.size[i], lives_.sections - first, i});
    return arrivals_of(begins);
  }
  std::vector<Arrivals> arrivals_of(std::vector<std::vector<Arrivals::Buffer>>& begins) const {
    const double in_pairs = std::sqrt(2 * most_searched_pairs / lives_.sections);
    const auto most_in_pairs = static_cast<std::size_t>(std::clamp(in_pairs, 1.0, 256.0));
    std::vector<Arrivals> arrivals;
    arrivals.reserve(begins.size());
    for (auto& buffers : begins) arrivals.emplace_back(std::move(buffers), most_in_pairs);
    return arrivals;
  }

  // Back to the fullest section, and from there to the first. What is live there was the first
  // batch.
  bool turn(Beam& beam, std::uint32_t start) {
    for (State& s : beam.kept) {
      const Batch* first = s.batch.get();
      while (first->before) first = first->before.get();
      s.packing.live.clear();
      for (const Place& p : first->places)
        if (const auto [begin, end] = lives_.span[p.id]; begin <= start && start < end)
          s.packing.live.push_back(
              {p.offset, p.offset + lives_.size[p.id], lives_.sections - begin});
      std::ranges::sort(s.packing.live, {}, &Packing::Block::begin);
    }
    return go(beam, lives_.sections - start, to_fullest_);
  }

  // Packs the sections from `first` on. False if the ends were reached.
  bool go(Beam& beam, std::uint32_t first, const std::vector<Arrivals>& arrivals) {
    const std::size_t each = std::max<std::size_t>(lives_.count() / most_levels, 1);
    GapPacker packer(height_, mean_size_, most_looks * beam.width.kept * beam.width.children);
    for (std::size_t from = 0; from < arrivals.size();) {
      std::size_t count = 0;
      std::size_t end = from;
      while (end < arrivals.size() && (end == from || count < each))
        count += arrivals[end++].buffers().size();
      std::vector<State> candidates = grown(beam, packer, first, arrivals, from, end);
      if (packer.failed() || candidates.empty()) return false;
      keep_best(beam, std::move(candidates));
      from = end;
    }
    looks_ = packer.work() / (beam.width.kept * beam.width.children);
    return true;
  }

  // Returns nothing if the ends were reached.
  std::vector<State> grown(Beam& beam, GapPacker& packer, std::uint32_t first,
                           const std::vector<Arrivals>& arrivals, std::size_t from,
                           std::size_t end) const {
    std::vector<State> candidates;
    const std::uint64_t seed = mixed(beam.number * 1'000'003 + beam.levels++);
    const std::size_t each = beam.width.kept * beam.width.children / beam.kept.size();
    for (std::size_t k = 0; k < beam.kept.size(); ++k) {
      for (std::size_t child = 0; child < each; ++child) {
        if (beam.ends != nullptr && beam.ends->reached()) return {};
        State s = beam.kept[k];
        packer.set_parameters(parameters_of(child, mixed(seed + 1'000'003 * k + child)));
        for (std::size_t i = from; i < end; ++i)
          packer.pack(s.packing, arrivals[i], first + static_cast<std::uint32_t>(i));
        s.loss = packer.loss(s.packing, first + static_cast<std::uint32_t>(end - 1));
        candidates.push_back(std::move(s));
      }
    }
    return candidates;
  }

  static void keep_best(Beam& beam, std::vector<State> candidates) {
    const auto rank = [](const State& s) {
      return std::tuple(s.packing.excess > 0 ? s.packing.size : 0, s.packing.excess, s.loss);
    };
    sort_stably(candidates, {}, rank);
    beam.kept.clear();
    for (std::size_t k = 0; k < candidates.size() && beam.kept.size() < beam.width.kept; ++k) {
      // Skip a candidate that is as good as the previous one: it is most likely the same.
      if (k > 0 && !beam.kept.empty() && rank(candidates[k]) == rank(beam.kept.back())) continue;
      State& s = candidates[k];
      s.batch = std::make_shared<const Batch>(Batch{s.batch, std::exchange(s.packing.placed, {})});
      beam.kept.push_back(std::move(s));
    }
  }

  MemoryPlan plan_of(const State& state) const {
    MemoryPlan plan{std::vector<std::uint64_t>(problem_.intervals.size(), 0), 0};
    for (const Batch* b = state.batch.get(); b != nullptr; b = b->before.get())
      for (const Place& p : b->places) plan.offsets[lives_.buffer[p.id]] = p.offset;
    for (std::size_t i = 0; i < plan.offsets.size(); ++i)
      plan.size = std::max(plan.size, plan.offsets[i] + problem_.intervals[i].size);
    return plan;
  }

  const MemoryProblem& problem_;
  Lives lives_;
  std::uint64_t bound_;
  std::uint32_t fullest_ = 0;
  double mean_size_ = 1;       // of what is live, on average
  double live_ = 0;            // sum of lives
  std::size_t most_live_ = 0;  // buffers in one section
  std::uint64_t looks_ = 0;    // of one of the packings of the last attempt
  std::uint64_t height_ = 0;   // of the attempt
  std::size_t attempts_ = 0;
  // The arrivals of each section, for attempts from the first section, and from the fullest one.
  std::vector<Arrivals> all_, from_fullest_, to_fullest_;
};

PackingSearch::PackingSearch(const MemoryProblem& problem)
    : impl_(std::make_unique<Impl>(problem)) {}
PackingSearch::~PackingSearch() = default;
bool PackingSearch::suits() const {
  return impl_->suits();
}
std::optional<MemoryPlan> PackingSearch::attempt(std::uint64_t best, const SearchEnds* ends) {
  return impl_->attempt(best, ends);
}
std::int64_t PackingSearch::next_steps() const {
  return impl_->next_steps();
}
bool PackingSearch::simple() const {
  return impl_->simple();
}
std::uint64_t PackingSearch::next_work() const {
  return impl_->next_work();
}

}  // namespace quern
