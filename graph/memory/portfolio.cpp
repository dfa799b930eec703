// SPDX-License-Identifier: Apache-2.0
// The default: list strategies until one reaches the bound, then the exact search, of the buffers
// as they are and of boxes that they are joined to (boxes.h), in turns.
#include <algorithm>
#include <memory>
#include <vector>

#include "graph/memory/offsets/local_search.h"
#include "graph/memory/offsets/skyline.h"
#include "graph/memory/order/orders.h"
#include "graph/memory/packing/boxes.h"
#include "graph/memory/packing/by_pairs.h"
#include "graph/memory/packing/by_time.h"
#include "graph/memory/packing/exact.h"
#include "graph/memory/packing/large_first.h"
#include "graph/memory/packing/packing_search.h"
#include "graph/memory/packing/valleys.h"
#include "graph/memory/packing/windows.h"
#include "graph/memory/problem/peaks.h"
#include "graph/memory/strategies.h"

namespace quern {
namespace {

// Keeps the best of the plans that are tried, until one is small enough or time is over.
class Best {
 public:
  Best(MemoryPlan first, std::uint64_t enough, const SearchEnds& ends)
      : plan_(std::move(first)), enough_(enough), ends_(ends) {}

  // False if there was none.
  template <class MakePlan>
  bool attempt(MakePlan make) {
    if (plan_.size <= enough_ || ends_.reached()) return false;
    std::optional<MemoryPlan> plan = make();
    if (!plan) return false;
    if (plan->size < plan_.size) plan_ = *std::move(plan);
    return true;
  }
  MemoryPlan take() { return std::move(plan_); }

 private:
  MemoryPlan plan_;
  std::uint64_t enough_;
  const SearchEnds& ends_;
};

// With more buffers peaks, valleys and packings come first, because each list takes long.
constexpr std::size_t many = 5000;
// With more than very_many buffers the time does not matter until the plan is this near to the
// bound, because no other search is useful.
constexpr std::size_t very_many = 20000;
constexpr double near_enough = 0.01;
constexpr std::uint64_t most_work = 1'000'000'000;  // some seconds
constexpr std::int64_t window_steps = 1'000'000;
constexpr int rounds_before_peaks = 2;
constexpr double peak_seconds = 10;  // most often steps end it before
constexpr std::uint64_t peak_steps = 100'000;
constexpr double promising = 3;  // limit on a packing's excess, relative to the best plan's

constexpr SmallBuffers small_buffers[] = {{0.2, true}, {0.05, false}, {0.3, true},   {0.02, false},
                                          {0.1, true}, {0.1, false},  {0.15, true},  {0.03, false},
                                          {0.4, true}, {0.07, false}, {0.25, false}, {0.5, true}};

// The best of the list strategies. `enough`: a size that ends the search for a better one.
MemoryPlan best_of_lists(const MemoryProblem& problem, std::uint64_t enough,
                         const SearchEnds& ends) {
  const bool is_large = problem.intervals.size() > many;
  Placer placer(problem);
  Best best(is_large ? placer.place(by_size(problem), Fit::lowest)
                     : placer.place(by_size(problem), Fit::tightest),
            std::max(enough, placer.bound()), ends);
  // Better than lists where long lives leave much room, which valleys do not fill well.
  if (problem.intervals.size() > very_many)
    for (const SmallBuffers& small : small_buffers)
      if (!best.attempt([&] { return place_large_first(placer, small); })) break;
  using MakeOrder = Order (*)(const Placer&);
  constexpr MakeOrder orders[] = {
      [](const Placer& p) { return by_area(p.problem()); },
      [](const Placer& p) { return by_breadth(p.problem()); },
      [](const Placer& p) { return by_conflict(p); },
      [](const Placer& p) { return by_life(p.problem()); },
      [](const Placer& p) { return by_start(p.problem()); },
      [](const Placer& p) { return by_size(p.problem()); },
  };
  for (const Fit fit : {Fit::lowest, Fit::tightest})
    for (const MakeOrder order : orders)
      best.attempt([&] { return placer.place(order(placer), fit); });
  if (!is_large) best.attempt([&] { return skyline_plan(problem); });
  return best.take();
}

// A search over the buffers, joined in some way or as they are.
struct Racer {
  Boxes boxes;
  std::unique_ptr<PlanSearch> search;
  bool runs = true;
};

class Race {
 public:
  Race(const MemoryProblem& problem, const PlanLimits& limits)
      : problem_(problem), limits_(limits), ends_(limits) {
    answer_ = {{{}, any_capacity}, lower_bound(problem)};
    const std::size_t n = problem.intervals.size();
    if (n > many) start_many();
    if (!near() || !(done() || ends_.reached())) adopt(best_of_lists(problem, 0, ends_));
    if (n > very_many)
      search_far();
    else if (valleys_ && !done() && !near())
      lower();
  }

  PlanAnswer run() {
    if (done()) return std::move(answer_);
    enter_boxes(Joining::all);
    enter_boxes(Joining::filling);
    enter_boxes(Joining::matching);
    auto whole = make_plan_search(problem_, answer_.plan, limits_.capacity, ends_);
    // Searches the buffers that the exact search treats as one, by their parts.
    std::unique_ptr<PlanSearch> pairs;
    if (std::ranges::any_of(problem_.intervals, has_parts))
      pairs = make_pair_search(problem_, answer_.plan, limits_.capacity, ends_);
    bool pairs_run = pairs != nullptr;
    for (bool runs = true; runs && !done() && !ends_.reached();) {
      for (const auto& r : racers_) {
        if (done()) break;
        if (r->runs) r->runs = r->search->round(answer_.plan.size);
        adopt(unpacked(problem_, r->boxes, r->search->answer().plan));
      }
      if (done()) break;
      runs = whole->round(answer_.plan.size);
      adopt(whole->answer().plan);
      answer_.bound = std::max(answer_.bound, whole->answer().bound);
      if (pairs_run && !done()) {
        pairs_run = pairs->round(answer_.plan.size);
        adopt(pairs->answer().plan);
        answer_.bound = std::max(answer_.bound, pairs->answer().bound);
        runs = runs || pairs_run;
      }
      if (packing_ && !done() && packing_fits()) {
        attempt_packing(&ends_);
        runs = true;
      }
      if (valleys_ && !done() && beam_fits()) {
        attempt_valleys(&ends_);
        runs = true;
      }
      for (const auto& r : racers_) runs = runs || r->runs;
    }
    search_parts();
    return std::move(answer_);
  }

 private:
  // Searches for buffers that at times are only partly live, whose size the exact search
  // overestimates.
  void search_parts() {
    const std::size_t n = problem_.intervals.size();
    if (done() || n > 4096) return;
    if (n <= 1024) {
      SearchEnds half = ends_;
      half.steps = std::min<std::int64_t>(ends_.steps / 2, 200000);
      ends_.steps -= half.steps;
      if (auto plan = fit_by_time(problem_, answer_.bound, half)) adopt(std::move(*plan));
    }
    for (std::uint64_t seed = 1; !done() && !ends_.reached(); ++seed) {
      const std::int64_t steps = std::min<std::int64_t>(1000, ends_.steps);
      ends_.steps -= steps;
      adopt(anneal(problem_, {limits_.capacity, ends_.seconds(), static_cast<std::uint64_t>(steps)},
                   seed)
                .plan);
    }
  }

  // Searches peaks: with very many buffers regardless of the time limit, else for a share of it.
  void search_peaks() {
    const bool is_far = problem_.intervals.size() > very_many;
    const SearchEnds ends({.seconds = is_far ? peak_seconds : limits_.seconds / 4});
    PeakSearch search(problem_);
    const auto plan_peaks = [&](const MemoryProblem& peaks) {
      return plan_auto(peaks, {any_capacity, ends.seconds(), peak_steps}).plan;
    };
    while (!done() && !near() && !ends.reached()) {
      std::optional<MemoryPlan> plan = search.attempt(plan_peaks);
      if (!plan) return;
      adopt(*std::move(plan));
    }
  }

  // Whatever the time, as long as the best plan is far from the bound.
  void search_far() {
    const bool packing_leads = packing_size_ <= answer_.plan.size;
    if (packing_leads) search_beams();
    if (valleys_ && !done() && !near()) lower();
    if (!packing_leads) search_beams();
  }

  // Runs beams of the kind of search that has found the best plan.
  void search_beams() {
    for (std::uint64_t work = 0; !done() && !near();) {
      const bool can_pack = packing_fits() && work + packing_->next_work() <= most_work;
      const bool can_fill = valleys_ && beam_fits() && work + valleys_->next_work() <= most_work;
      if (!can_pack && !can_fill) return;
      if (can_pack && (!can_fill || packing_size_ <= answer_.plan.size)) {
        work += packing_->next_work();
        attempt_packing(nullptr);
      } else {
        work += valleys_->next_work();
        attempt_valleys(nullptr);
      }
    }
  }

  bool done() const {
    return status_of(answer_, limits_.capacity) != PlanStatus::unknown &&
           (limits_.capacity != any_capacity || answer_.plan.size <= answer_.bound);
  }

  void adopt(MemoryPlan plan) {
    if (plan.size < answer_.plan.size) answer_.plan = std::move(plan);
  }

  void lower() {
    const std::int64_t steps = std::min(
        ends_.steps, problem_.intervals.size() > very_many ? window_steps : window_steps / 5);
    SearchEnds windows = ends_;
    windows.steps = steps;
    const auto target =
        static_cast<std::uint64_t>((1 + near_enough) * static_cast<double>(answer_.bound));
    adopt(lowered(problem_, answer_.plan, target, windows));
    ends_.steps -= steps - windows.steps;
  }

  bool near() const {
    return static_cast<double>(answer_.plan.size) <=
           (1 + near_enough) * static_cast<double>(answer_.bound);
  }

  // Simple attempts of valleys and packings, in turns; peaks where the first of them fail.
  void start_many() {
    valleys_ = std::make_unique<ValleySearch>(problem_);
    if (!valleys_->suits()) valleys_.reset();
    packing_ = std::make_unique<PackingSearch>(problem_);
    if (!packing_->suits()) packing_.reset();
    const auto goes_on = [&] { return !done() && !(near() && ends_.reached()); };
    for (int round = 0; goes_on(); ++round) {
      if (round == rounds_before_peaks) search_peaks();
      const bool fills = valleys_ && valleys_->simple() && goes_on();
      if (fills) attempt_valleys(nullptr);
      const bool packs = packing_ && packing_->simple() && goes_on();
      if (packs) attempt_packing(nullptr);
      if (!fills && !packs && round > rounds_before_peaks) return;
    }
  }

  // It is not far behind the best plan. A step is a buffer that is placed; simple attempts are
  // none.
  bool packing_fits() const {
    const auto above = [&](std::uint64_t size) {
      return static_cast<double>(size) - static_cast<double>(answer_.bound);
    };
    return packing_ && above(packing_size_) <= promising * above(answer_.plan.size) &&
           packing_->next_steps() <= ends_.steps;
  }

  void attempt_packing(const SearchEnds* ends) {
    if (!packing_->simple()) ends_.steps -= packing_->next_steps();
    auto plan = packing_->attempt(answer_.plan.size, ends);
    if (!plan) return;
    packing_size_ = std::min(packing_size_, plan->size);
    adopt(*std::move(plan));
  }

  // A step is a buffer that is placed; simple attempts are none.
  bool beam_fits() const {
    return valleys_->next_steps() > 0 && valleys_->next_steps() <= ends_.steps;
  }

  void attempt_valleys(const SearchEnds* ends) {
    ends_.steps -= valleys_->next_steps();
    if (auto plan = valleys_->attempt(answer_.plan.size, ends)) adopt(*std::move(plan));
  }

  void enter_boxes(Joining joining) {
    if (done() || ends_.reached()) return;
    auto racer = std::make_unique<Racer>();
    racer->boxes = boxes_of(problem_, joining);
    const MemoryProblem& boxed = racer->boxes.problem;
    if (boxed.intervals.size() == problem_.intervals.size()) return;
    MemoryPlan plan = best_of_lists(boxed, answer_.bound, ends_);
    adopt(unpacked(problem_, racer->boxes, plan));
    racer->search = make_plan_search(boxed, std::move(plan), limits_.capacity, ends_);
    racers_.push_back(std::move(racer));
  }

  const MemoryProblem& problem_;
  const PlanLimits& limits_;
  SearchEnds ends_;
  PlanAnswer answer_;
  std::unique_ptr<ValleySearch> valleys_;
  std::unique_ptr<PackingSearch> packing_;
  std::uint64_t packing_size_ = any_capacity;  // of the smallest of its plans
  std::vector<std::unique_ptr<Racer>> racers_;
};

}  // namespace

PlanAnswer plan_auto(const MemoryProblem& problem, const PlanLimits& limits) {
  return Race(problem, limits).run();
}

}  // namespace quern
