// SPDX-License-Identifier: Apache-2.0
// The default: list strategies until one reaches the bound, then the exact search, of the buffers
// as they are and of boxes that they are joined to (boxes.h), in turns.
#include <algorithm>
#include <memory>
#include <vector>

#include "graph/memory/boxes.h"
#include "graph/memory/by_time.h"
#include "graph/memory/exact.h"
#include "graph/memory/local_search.h"
#include "graph/memory/orders.h"
#include "graph/memory/sand.h"
#include "graph/memory/strategies.h"

namespace quern {
namespace {

// Of so many buffers no search of any other kind makes more.
constexpr std::size_t many = 5000;
constexpr Sand sands[] = {{0.2, true},   {0.05, false}, {0.3, true},  {0.02, false},
                          {0.1, false},  {0.1, true},   {0.5, true},  {0.03, false},
                          {0.25, false}, {0.4, true},   {0.15, true}, {0.07, false}};

// The best of the list strategies. `enough`: a size that ends the search for a better one.
MemoryPlan best_of_lists(const MemoryProblem& problem, std::uint64_t enough,
                         const SearchEnds& ends) {
  Placer placer(problem);
  enough = std::max(enough, placer.bound());
  MemoryPlan best = problem.intervals.size() > many ? placer.place(by_life(problem), Fit::lowest)
                                                    : placer.place(by_size(problem), Fit::tightest);
  using MakeOrder = Order (*)(const Placer&);
  constexpr MakeOrder orders[] = {
      [](const Placer& p) { return by_area(p.problem()); },
      [](const Placer& p) { return by_breadth(p.problem()); },
      [](const Placer& p) { return by_conflict(p); },
      [](const Placer& p) { return by_life(p.problem()); },
      [](const Placer& p) { return by_start(p.problem()); },
      [](const Placer& p) { return by_size(p.problem()); },
  };
  for (const Fit fit : {Fit::lowest, Fit::tightest}) {
    for (const MakeOrder order : orders) {
      if (best.size <= enough || ends.reached()) break;
      MemoryPlan plan = placer.place(order(placer), fit);
      if (plan.size < best.size) best = std::move(plan);
    }
  }
  if (best.size > enough && !ends.reached()) {
    MemoryPlan plan = plan_skyline(problem, {}).plan;
    if (plan.size < best.size) best = std::move(plan);
  }
  const bool free = std::ranges::none_of(
      problem.intervals, [](const Interval& i) { return i.fixed_offset.has_value(); });
  for (const Sand& sand : sands) {
    if (problem.intervals.size() <= many || !free || best.size <= enough || ends.reached()) break;
    MemoryPlan plan = place_rocks_first(placer, sand);
    if (plan.size < best.size) best = std::move(plan);
  }
  return best;
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
    answer_ = {best_of_lists(problem, 0, ends_), lower_bound(problem)};
  }

  PlanAnswer run() {
    if (done()) return std::move(answer_);
    enter_boxes(Joining::all);
    enter_boxes(Joining::filling);
    enter_boxes(Joining::matching);
    auto whole = make_plan_search(problem_, answer_.plan, limits_.capacity, ends_);
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
      for (const auto& r : racers_) runs = runs || r->runs;
    }
    search_parts();
    return std::move(answer_);
  }

 private:
  // What the exact search takes for more than it is: buffers of which at times only a part is live.
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

  bool done() const {
    return status_of(answer_, limits_.capacity) != PlanStatus::unknown &&
           (limits_.capacity != any_capacity || answer_.plan.size <= answer_.bound);
  }

  void adopt(MemoryPlan plan) {
    if (plan.size < answer_.plan.size) answer_.plan = std::move(plan);
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
  std::vector<std::unique_ptr<Racer>> racers_;
};

}  // namespace

PlanAnswer plan_auto(const MemoryProblem& problem, const PlanLimits& limits) {
  return Race(problem, limits).run();
}

}  // namespace quern
