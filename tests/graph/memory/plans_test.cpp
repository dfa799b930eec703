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
#include "graph/memory/pools/pool.h"
#include "graph/memory/problem/planted.h"
#include "graph/memory/problem/trace.h"
#include "graph/memory/strategies.h"
#include "tests/graph/memory/problems.h"
#include "tests/held_texts.h"

namespace quern {
namespace {

using testing::StableHash;
using Hashes = std::map<std::string, std::uint32_t>;

void add_plans(Hashes& hashes) {
  for (const Strategy& strategy : strategies())
    for (const std::uint64_t steps : {1, 40, 600})
      for (unsigned kind = 0; kind < 4; ++kind) {
        StableHash hash;
        for (unsigned seed = 0; seed < 8; ++seed) {
          const Features features{.alignments = kind == 1,
                                  .gaps = kind > 1,
                                  .parts = kind == 3,
                                  .zeros = seed % 4 == 3};
          const MemoryProblem p = kind == 0
                                      ? planted_problem({.buffers = 25 + 10 * seed,
                                                         .seed = 40 + seed,
                                                         .drop = seed % 2 == 0 ? 0.1 : 0.0})
                                      : random_problem(15 + 5 * seed, 70 + seed, features, 200, 25);
          const PlanAnswer answer = strategy.plan(p, {.seconds = 600, .steps = steps});
          EXPECT_TRUE(validate(p, answer.plan).ok()) << strategy.name;
          hash.add(answer.plan.size);
          hash.add(answer.bound);
          for (const std::uint64_t offset : answer.plan.offsets) hash.add(offset);
        }
        hashes[cat("plans of ", strategy.name, ", ", steps, " steps, kind ", kind)] = hash.value();
      }
}

void add_orders(Hashes& hashes) {
  for (const std::uint64_t steps : {1, 20, 300})
    for (unsigned seed = 0; seed < 24; seed += 4) {
      StableHash hash;
      for (unsigned k = seed; k < seed + 4; ++k) {
        const OrderProblem p = random_order_problem(
            300 + k, {.nodes = 15 + 4 * k, .reach = 2 + k % 7, .in_place = k % 2 == 0});
        Work work(1000 * steps);
        const OrderAnswer answer = best_order(p, steps, work);
        hash.add(answer.peak);
        hash.add(answer.bound);
        for (const std::uint32_t node : answer.order) hash.add(node);
      }
      hashes[cat("orders from ", seed, " on, ", steps, " steps")] = hash.value();
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
  add_orders(found);
  add_pools(found);
  testing::expect_held(found, QUERN_SOURCE_DIR "/tests/graph/memory/plans.txt");
}

}  // namespace
}  // namespace quern
