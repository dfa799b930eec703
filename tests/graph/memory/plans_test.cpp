// SPDX-License-Identifier: Apache-2.0
// Plans, orders and addresses as they were when last looked at, as hashes over many problems: any
// change of a strategy, a search or a pool shows here, also where its results are as good. Searches
// end after steps, not after a time, so that they are the same on every machine.
//
// Where a difference is wanted, write the hashes anew, and commit them:
//   QUERN_WRITE_TEXTS=1 ctest --test-dir build/release -R Plans
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "engine/vocabulary/text_util.h"
#include "graph/memory/order/order.h"
#include "graph/memory/order/step_graph.h"
#include "graph/memory/packing/boxes.h"
#include "graph/memory/packing/by_pairs.h"
#include "graph/memory/packing/by_time.h"
#include "graph/memory/packing/exact.h"
#include "graph/memory/packing/packing_search.h"
#include "graph/memory/packing/valleys.h"
#include "graph/memory/packing/windows.h"
#include "graph/memory/pools/pool.h"
#include "graph/memory/problem/in_flight.h"
#include "graph/memory/problem/planted.h"
#include "graph/memory/problem/trace.h"
#include "tests/graph/memory/problems.h"
#include "tests/held_texts.h"

namespace quern {
namespace {

using testing::StableHash;
using Hashes = std::map<std::string, std::uint32_t>;

void add(StableHash& hash, const PlanAnswer& answer) {
  hash.add(answer.plan.size);
  hash.add(answer.bound);
  for (const std::uint64_t offset : answer.plan.offsets) hash.add(offset);
}

MemoryProblem problem_of(unsigned kind, unsigned seed) {
  const Features features{.alignments = kind == 1,
                          .gaps = kind > 1,
                          .parts = kind == 3,
                          .zeros = seed % 4 == 3,
                          .fixed = kind == 4};
  if (kind == 0)
    return planted_problem(
        {.buffers = 25 + 10 * seed, .seed = 40 + seed, .drop = seed % 2 == 0 ? 0.1 : 0.0});
  // Fixed buffers lie far enough apart for small ones.
  return random_problem(15 + 5 * seed, 70 + seed, features, kind == 4 ? 12 : 200, 25);
}

// Where a search ends tells how far it had come by then: what it leaves out and what it does not.
void add_plans(Hashes& hashes) {
  for (const Strategy& strategy : strategies())
    for (const std::uint64_t steps : {1, 8, 40, 200, 600, 3000, 20000})
      for (unsigned kind = 0; kind < 5; ++kind) {
        StableHash hash;
        for (unsigned seed = 0; seed < 8; ++seed) {
          const MemoryProblem p = problem_of(kind, seed);
          const PlanAnswer answer = strategy.plan(p, {.seconds = 600, .steps = steps});
          EXPECT_TRUE(validate(p, answer.plan).ok()) << strategy.name;
          add(hash, answer);
        }
        hashes[cat("plans of ", strategy.name, ", ", steps, " steps, kind ", kind)] = hash.value();
      }
}

// So many buffers that they are planned section by section, peak by peak or valley by valley.
void add_large_plans(Hashes& hashes) {
  for (const std::string_view name : {"auto", "exact"}) {
    const Strategy& strategy = *find_strategy(name);
    StableHash hash;
    for (const std::uint64_t steps : {1, 300, 5000}) {
      for (const double drop : {0.0, 0.2})
        add(hash, strategy.plan(planted_problem({.buffers = 2500, .seed = 9, .drop = drop}),
                                {.seconds = 600, .steps = steps}));
      add(hash,
          strategy.plan(random_problem(1500, 5, {.alignments = true, .gaps = true}, 5000, 900),
                        {.seconds = 600, .steps = steps}));
    }
    hashes[cat("large plans of ", name)] = hash.value();
  }
}

void add(StableHash& hash, const MemoryPlan& plan) {
  hash.add(plan.size);
  for (const std::uint64_t offset : plan.offsets) hash.add(offset);
}

// Attempt after attempt, each at less than the last.
template <class Search>
void add_attempts(StableHash& hash, Search& search, std::uint64_t bound, int attempts) {
  std::uint64_t best = 4 * bound;
  for (int n = 0; n < attempts; ++n) {
    hash.add(static_cast<std::uint64_t>(search.next_steps()));
    hash.add(search.next_work());
    const auto plan = search.attempt(best, nullptr);
    hash.add(plan.has_value());
    if (!plan) continue;
    add(hash, *plan);
    best = std::min(best, plan->size);
  }
}

// The parts of the strategies, which those come by only where others before them have failed.
void add_searches(Hashes& hashes) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    const MemoryProblem planted = planted_problem(
        {.buffers = 150 + 100 * seed, .seed = 90 + seed, .drop = seed % 2 == 0 ? 0.1 : 0.0});
    const MemoryProblem small = random_problem(70, 30 + seed, {.gaps = seed == 3}, 900, 60);
    const auto hash_of = [&](const char* name, const auto& fill) {
      StableHash hash;
      for (const MemoryProblem* p : {&planted, &small}) fill(hash, *p, lower_bound(*p));
      hashes[cat(name, ' ', seed)] = hash.value();
    };
    hash_of("valleys", [](StableHash& hash, const MemoryProblem& p, std::uint64_t bound) {
      ValleySearch search(p);
      add_attempts(hash, search, bound, 40);
    });
    hash_of("packings", [](StableHash& hash, const MemoryProblem& p, std::uint64_t bound) {
      PackingSearch search(p);
      if (search.suits()) add_attempts(hash, search, bound, 20);
    });
    hash_of("boxes", [](StableHash& hash, const MemoryProblem& p, std::uint64_t) {
      for (const Joining joining :
           {Joining::in_time, Joining::matching, Joining::all, Joining::filling}) {
        const Boxes boxes = boxes_of(p, joining);
        for (const std::uint32_t box : boxes.box) hash.add(box);
        for (const std::uint64_t within : boxes.within) hash.add(within);
      }
    });
    hash_of("by time", [](StableHash& hash, const MemoryProblem& p, std::uint64_t bound) {
      for (const std::uint64_t capacity : {bound, bound + bound / 50, bound + bound / 10}) {
        SearchEnds ends({.seconds = 600, .steps = 20000});
        const auto plan = fit_by_time(p, capacity, ends);
        hash.add(static_cast<std::uint64_t>(ends.steps));
        if (plan) add(hash, *plan);
      }
    });
    hash_of("windows", [](StableHash& hash, const MemoryProblem& p, std::uint64_t bound) {
      SearchEnds ends({.seconds = 600, .steps = 50000});
      add(hash, lowered(p, find_strategy("first-fit")->plan(p, {}).plan, bound + bound / 50, ends));
      hash.add(static_cast<std::uint64_t>(ends.steps));
    });
    hash_of("rounds", [](StableHash& hash, const MemoryProblem& p, std::uint64_t bound) {
      for (const auto make : {make_plan_search, make_pair_search}) {
        SearchEnds ends({.seconds = 600, .steps = 60000});
        const auto search = make(p, find_strategy("first-fit")->plan(p, {}).plan, bound, ends);
        for (int n = 0; n < 6 && search->round(search->answer().plan.size); ++n) {
          add(hash, search->answer());
          hash.add(static_cast<std::uint64_t>(ends.steps));
        }
      }
    });
  }
}

void add_orders(Hashes& hashes) {
  for (const std::uint64_t steps : {1, 20, 300, 4000})
    for (unsigned seed = 0; seed < 24; seed += 4) {
      StableHash hash;
      for (unsigned k = seed; k < seed + 4; ++k) {
        const OrderProblem p = random_order_problem(
            300 + k, {.nodes = 15 + 4 * k, .reach = 2 + k % 7, .in_place = k % 2 == 0});
        Work work(1000 * steps);
        const OrderAnswer answer = best_order(p, steps, work);
        hash.add(answer.peak);
        hash.add(answer.bound);
        hash.add(work.left());
        for (const std::uint32_t node : answer.order) hash.add(node);
      }
      hashes[cat("orders from ", seed, " on, ", steps, " steps")] = hash.value();
    }
  for (unsigned seed = 0; seed < 3; ++seed) {
    Work work(30'000'000);
    const OrderAnswer answer = best_order(randomly_wired(seed, 4, 30), 1000, work);
    StableHash hash;
    hash.add(answer.peak);
    hash.add(work.left());
    for (const std::uint32_t node : answer.order) hash.add(node);
    hashes[cat("order of randomly wired stages ", seed)] = hash.value();
  }
}

void add_schedules(Hashes& hashes) {
  for (const std::uint64_t work : {1'000, 30'000, 1'000'000, 50'000'000})
    for (const bool order : {false, true}) {
      StableHash hash;
      for (unsigned seed = 0; seed < 40; ++seed) {
        const StepGraph g = random_program(500 + seed, 5 + seed, 1 + seed % 3);
        const ScheduleAnswer answer = best_schedule(g, {.order = order, .work = work});
        hash.add(answer.plain_bound);
        hash.add(answer.bound);
        hash.add(answer.order_is_optimal);
        hash.add(answer.is_complete);
        for (const std::uint32_t step : answer.schedule.order) hash.add(step);
        for (const auto& alias : answer.schedule.aliases) {
          hash.add(alias.root);
          hash.add(alias.offset);
        }
      }
      hashes[cat("schedules, work ", work, order ? ", in any order" : "")] = hash.value();
    }
}

void add_runs_in_flight(Hashes& hashes) {
  for (const std::size_t runs : {2, 3}) {
    StableHash hash;
    for (unsigned seed = 0; seed < 40; ++seed) {
      const InFlight f = in_flight(
          random_problem(6 + seed % 9, seed, {.gaps = true, .parts = seed % 2 == 0}, 40), runs);
      hash.add(static_cast<std::uint64_t>(f.lag));
      hash.add(static_cast<std::uint64_t>(f.period));
      for (const std::uint32_t turn : f.turns) hash.add(turn);
      hash.add(lower_bound(f.problem));
    }
    hashes[cat(runs, " runs in flight")] = hash.value();
  }
}

MemoryTrace random_trace(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  MemoryTrace trace;
  std::vector<std::uint32_t> live;
  for (int i = 0; i < 1500; ++i) {
    if (i % 300 == 0) trace.runs.push_back(trace.events.size());
    if (live.size() > 40 || (below(2) && !live.empty())) {
      const auto at = static_cast<std::size_t>(below(live.size()));
      trace.events.push_back({TraceEvent::Kind::free, live[at]});
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      const auto block = static_cast<std::uint32_t>(trace.blocks.size());
      trace.blocks.push_back({below(std::uint64_t{1} << below(20)) + 1,
                              below(6) ? 64 : std::uint64_t{1} << below(13)});
      trace.events.push_back({TraceEvent::Kind::allocate, block});
      live.push_back(block);
    }
  }
  return trace;
}

void add_pools(Hashes& hashes) {
  for (const MemoryPoolKind& kind : pools()) {
    StableHash hash;
    for (unsigned seed = 0; seed < 6; ++seed) {
      InventedSource source(4096);
      const auto pool = kind.make(source, {});
      const Replay r = replay(random_trace(seed), *pool, 600);
      EXPECT_TRUE(r.status.ok()) << r.status.message();
      for (const std::uint64_t v :
           {r.stats.most.reserved, r.stats.most.used, r.stats.now.reserved, r.stats.fullest.used,
            r.stats.hits, r.stats.system_allocations, r.stats.system_releases})
        hash.add(v);
    }
    hashes[cat("pool ", kind.name)] = hash.value();
  }
}

TEST(Plans, AreAsTheyWere) {
  Hashes found;
  add_plans(found);
  add_large_plans(found);
  add_searches(found);
  add_orders(found);
  add_schedules(found);
  add_runs_in_flight(found);
  add_pools(found);
  testing::expect_held(found, QUERN_SOURCE_DIR "/tests/graph/memory/plans.txt");
}

}  // namespace
}  // namespace quern
