// SPDX-License-Identifier: Apache-2.0
// Schedules of random programs: run over shared bytes, they give what they give when nothing is
// shared.
#include "graph/memory/order/step_graph.h"

#include <ctime>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/graph/memory/problems.h"
#include "tests/sanitized.h"

namespace quern {
namespace {

constexpr std::uint64_t unit = unit_of_programs;

using Bytes = std::vector<std::uint64_t>;  // a number for each unit

bool holds(const StepGraph& g, const Schedule& s) {
  Work unlimited;
  return holds(g, s, unlimited);
}

// A write ends at a multiple of write_unit; this spoils the bytes from the result to that end.
void spoil(const StepGraph& g, std::uint64_t at, std::uint32_t result, Bytes& arena) {
  const std::uint64_t step = std::max<std::uint64_t>(g.write_unit / unit, 1);
  const std::uint64_t units = g.buffers[result].size / unit;
  for (std::uint64_t u = units; u < (units + step - 1) / step * step; ++u) arena[at + u] = 0x5b01;
}

// Runs the steps that are not void in an arena of units. What nobody has written is noise.
std::vector<Bytes> run(const StepGraph& g, const Schedule& s) {
  const ScheduledMemory memory = memory_of(g, s);
  EXPECT_TRUE(check(memory.problem).ok());
  const MemoryPlan plan = default_strategy().plan(memory.problem, {.steps = 2000}).plan;
  EXPECT_TRUE(validate(memory.problem, plan).ok());
  Bytes arena(plan.size / unit + 8, 0xdead);
  const auto at = [&](std::uint32_t b) {
    const Schedule::Alias alias = s.aliases[b];
    return (plan.offsets[memory.interval_of[alias.root]] + alias.offset) / unit;
  };
  const auto read = [&](std::uint32_t b) {
    const auto first = arena.begin() + static_cast<std::ptrdiff_t>(at(b));
    return Bytes(first, first + static_cast<std::ptrdiff_t>(g.buffers[b].size / unit));
  };
  for (std::uint32_t n : memory.steps) {
    const StepGraph::Step& step = g.steps[n];
    if (step.only_copies) {
      for (const auto& share : step.shares) {
        const Bytes bytes = read(share.operand);
        const std::uint64_t to = at(share.result) + share.offset / unit;
        if (to == at(share.operand)) continue;
        std::ranges::copy(bytes, arena.begin() + static_cast<std::ptrdiff_t>(to));
        if (share.offset + g.buffers[share.operand].size == g.buffers[share.result].size)
          spoil(g, at(share.result), share.result, arena);
      }
      continue;
    }
    // Unit by unit, as a kernel that works in place must: later reads see earlier writes.
    const std::uint32_t result = step.writes[0];
    for (std::uint64_t u = 0; u < g.buffers[result].size / unit; ++u) {
      std::uint64_t sum = n + 1;
      for (std::uint32_t r : step.reads) {
        if (g.buffers[r].size == g.buffers[result].size) {
          sum = sum * 31 + arena[at(r) + u];
        } else {
          for (std::uint64_t v : read(r)) sum = sum * 31 + v;
        }
      }
      arena[at(result) + u] = sum;
    }
    spoil(g, at(result), result, arena);
    // Scratch is anything afterwards.
    if (step.scratch > 0)
      for (std::uint64_t u = 0; u < step.scratch / unit; ++u)
        arena[plan.offsets[memory.scratch_of[n]] / unit + u] = 0xbad;
  }
  std::vector<Bytes> results;
  for (std::uint32_t b = 0; b < g.buffers.size(); ++b)
    if (g.buffers[b].live_out) results.push_back(read(b));
  return results;
}

std::uint64_t bound(const StepGraph& g, const Schedule& s) {
  return lower_bound(memory_of(g, s).problem);
}

TEST(Schedule, GivesTheSameResultsInLessMemory) {
  std::size_t by_order = 0;
  std::size_t by_alias = 0;
  std::size_t spared = 0;
  for (unsigned seed = 0; seed < 800; ++seed) {
    // As on a host, and as on a device.
    const StepGraph g = random_program(seed % 400, 2 + seed % 40, seed < 400 ? 1 : 2 + seed % 3);
    const auto wanted = run(g, plain_schedule(g));
    const std::uint64_t plain = best_schedule(g, {.order = false, .alias = false}).bound;
    ASSERT_LE(plain, bound(g, plain_schedule(g))) << "seed " << seed;
    for (const ScheduleOptions& options : {ScheduleOptions{.order = false, .alias = false},
                                           ScheduleOptions{.order = true, .alias = false},
                                           ScheduleOptions{.order = false, .alias = true},
                                           ScheduleOptions{.order = true, .alias = true}}) {
      const ScheduleAnswer answer = best_schedule(g, options);
      ASSERT_TRUE(holds(g, answer.schedule)) << "seed " << seed;
      for (std::uint32_t b = 0; b < g.buffers.size(); ++b) {
        if (!g.buffers[b].live_out) continue;
        ASSERT_EQ(answer.schedule.aliases[b].root, b) << "seed " << seed;
      }
      ASSERT_EQ(answer.plain_bound, plain) << "seed " << seed;
      ASSERT_LE(answer.bound, plain) << "seed " << seed;
      ASSERT_EQ(bound(g, answer.schedule), answer.bound) << "seed " << seed;
      ASSERT_EQ(run(g, answer.schedule), wanted)
          << "seed " << seed << " order " << options.order << " alias " << options.alias;
      by_order += options.order && !options.alias && answer.bound < plain ? 1 : 0;
      by_alias += options.alias && !options.order && answer.bound < plain ? 1 : 0;
      for (std::uint32_t n = 0; n < g.steps.size(); ++n)
        spared += is_void(g, answer.schedule, n) ? 1 : 0;
    }
  }
  EXPECT_GT(by_order, 50U);
  EXPECT_GT(by_alias, 20U);
  EXPECT_GT(spared, 50U);
}

// Wherever the work ends, the schedule is right, and no larger than the plain one.
TEST(Schedule, WithLittleWorkIsStillRight) {
  std::size_t ended = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const StepGraph g = random_program(seed, 5 + seed % 40, 1 + seed % 3);
    const auto wanted = run(g, plain_schedule(g));
    for (std::uint64_t work = 1; work < 10'000'000; work *= 4) {
      const ScheduleAnswer answer = best_schedule(g, {.work = work});
      ASSERT_TRUE(holds(g, answer.schedule)) << "seed " << seed << ", work " << work;
      ASSERT_LE(answer.bound, answer.plain_bound) << "seed " << seed << ", work " << work;
      ASSERT_EQ(run(g, answer.schedule), wanted) << "seed " << seed << ", work " << work;
      ended += answer.is_complete ? 0 : 1;
    }
  }
  EXPECT_GT(ended, 100U);
}

// Buffer k holds k + 1 results; buffer k + n is the result that is appended to it.
StepGraph growing_list(std::uint32_t n) {
  StepGraph list;
  list.buffers.resize(2 * n + 1, {.size = 64});
  for (std::uint32_t k = 0; k < n; ++k) {
    const std::uint32_t made = n + k + 1;
    list.buffers[k + 1].size = std::uint64_t{64} * (k + 2);
    list.steps.push_back({.reads = {k}, .writes = {made}});
    list.steps.push_back(
        {.reads = {k, made},
         .writes = {k + 1},
         .shares = {{k, k + 1, true, 0}, {made, k + 1, true, std::uint64_t{64} * (k + 1)}},
         .only_copies = true});
  }
  return list;
}

// A schedule from elsewhere, which is right, but each step of which is about all bytes before it.
TEST(Schedule, OfAnotherHandIsLookedAtInBoundedTime) {
  const auto all_in_the_last = [](const StepGraph& list, std::uint32_t n) {
    Schedule s = plain_schedule(list);
    for (std::uint32_t k = 0; k < n; ++k) {
      s.aliases[k] = {n, 0};
      s.aliases[n + k + 1] = {n, std::uint64_t{64} * (k + 1)};
    }
    return s;
  };
  for (const std::uint32_t n : {50U, 20000U}) {
    const StepGraph list = growing_list(n);
    Work work(usual_work(list));
    const auto begin = std::clock();
    EXPECT_EQ(fits(list, all_in_the_last(list, n), work), n == 50);
    EXPECT_EQ(work.is_spent(), n != 50);
    EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC,
              testing::sanitized ? 40 : 4);
  }
}

// A chain of results in place, a fan, and a list that grows by one result at a time: what takes
// quadratic time where each step looks at all others.
TEST(Schedule, OfManyStepsTakesBoundedTime) {
  constexpr std::uint32_t n = 20000;
  StepGraph chain;
  StepGraph fan;
  const StepGraph list = growing_list(n);
  for (StepGraph* g : {&chain, &fan}) g->buffers.resize(2 * n + 1, {.size = 64});
  StepGraph::Step gather{.name = "gather", .writes = {2 * n}, .only_copies = true};
  for (std::uint32_t k = 0; k < n; ++k) {
    chain.steps.push_back({.reads = {k}, .writes = {k + 1}, .shares = {{k, k + 1, false, 0}}});
    fan.steps.push_back({.reads = {0}, .writes = {k + 1}});
    gather.reads.push_back(k + 1);
    gather.shares.push_back({k + 1, 2 * n, true, std::uint64_t{64} * k});
  }
  fan.buffers[2 * n] = {.size = std::uint64_t{64} * n, .live_out = true};
  fan.steps.push_back(std::move(gather));
  const auto begin = std::clock();
  EXPECT_EQ(best_schedule(chain).bound, 64U);
  const ScheduleAnswer fanned = best_schedule(fan);
  EXPECT_EQ(fanned.bound, fan.buffers[2 * n].size + 64) << "all results lie in the list";
  const ScheduleAnswer grown = best_schedule(list);
  EXPECT_TRUE(holds(list, grown.schedule));
  EXPECT_FALSE(grown.is_complete);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC,
            testing::sanitized ? 120 : 12);
}

// A schedule that holds() refuses gives wrong results, unless values happen to be equal.
TEST(Schedule, ThatSharesAtRandomIsSeenThrough) {
  std::size_t wrong = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const StepGraph g = random_program(seed, 12);
    const auto wanted = run(g, plain_schedule(g));
    Random random(seed);
    Schedule s = plain_schedule(g);
    for (const auto& step : g.steps)
      for (const auto& share : step.shares) {
        if (!random.one_in(2) || s.aliases[share.operand].root != share.operand) continue;
        if (s.aliases[share.result].root == share.operand) continue;
        const Schedule::Alias to = s.aliases[share.result];
        for (auto& alias : s.aliases)
          if (alias.root == share.operand)
            alias = {to.root, alias.offset + to.offset + share.offset};
      }
    if (holds(g, s)) {
      ASSERT_EQ(run(g, s), wanted) << "seed " << seed;
    } else {
      ++wrong;
    }
  }
  EXPECT_GT(wrong, 50U);
}

// x0 and x1 are made in their places of y, whose first half rests until then.
TEST(Schedule, SparesACopy) {
  StepGraph g;
  for (const std::uint64_t size : {unit, unit, 2 * unit, unit})
    g.buffers.push_back({.name = std::to_string(g.buffers.size()), .size = size});
  g.buffers[3].live_out = true;
  g.steps = {{.name = "a", .writes = {0}},
             {.name = "b", .writes = {1}, .scratch = unit},
             {.name = "concat",
              .reads = {0, 1},
              .writes = {2},
              .shares = {{0, 2, true, 0}, {1, 2, true, unit}},
              .only_copies = true},
             {.name = "use", .reads = {2}, .writes = {3}}};
  const ScheduleAnswer answer = best_schedule(g);
  EXPECT_EQ(answer.plain_bound, 4 * unit);
  EXPECT_EQ(answer.bound, 3 * unit);
  EXPECT_TRUE(is_void(g, answer.schedule, 2));
  EXPECT_EQ(memory_of(g, answer.schedule).steps, (std::vector<std::uint32_t>{0, 1, 3}));
}

// Bytes that no step has written were there before the first: their readers wait for nobody.
TEST(Schedule, ReadsWhatIsThereInAnyOrder) {
  StepGraph g;
  for (const std::uint64_t size : {unit, 100 * unit, 100 * unit, unit, unit})
    g.buffers.push_back({.name = std::to_string(g.buffers.size()), .size = size});
  g.buffers[4].live_out = true;
  g.steps = {{.name = "large", .reads = {0}, .writes = {1}},
             {.name = "also large", .reads = {0}, .writes = {2}},
             {.name = "narrows", .reads = {2}, .writes = {3}},
             {.name = "joins", .reads = {1, 3}, .writes = {4}}};
  const ScheduleAnswer answer = best_schedule(g);
  EXPECT_GE(answer.plain_bound, 200 * unit);
  EXPECT_LE(answer.bound, 103 * unit);
  EXPECT_EQ(answer.schedule.order, (std::vector<std::uint32_t>{1, 2, 0, 3}));
}

// A run may bind a result anywhere: it is copied into a larger one, and written over by none.
TEST(Schedule, LeavesAResultWhereItIsBound) {
  StepGraph g;
  for (const std::uint64_t size : {unit, unit, 2 * unit, unit})
    g.buffers.push_back({.name = std::to_string(g.buffers.size()), .size = size});
  g.buffers[0].live_out = g.buffers[2].live_out = true;
  g.steps = {{.name = "a", .writes = {0}},
             {.name = "b", .writes = {1}},
             {.name = "concat",
              .reads = {0, 1},
              .writes = {2},
              .shares = {{0, 2, true, 0}, {1, 2, true, unit}},
              .only_copies = true},
             {.name = "use", .reads = {0}, .writes = {3}, .shares = {{0, 3}}}};
  const Schedule s = best_schedule(g).schedule;
  EXPECT_EQ(s.aliases[0].root, 0U);
  EXPECT_EQ(s.aliases[1].root, 2U);
  EXPECT_EQ(s.aliases[3].root, 3U);
  EXPECT_FALSE(is_void(g, s, 2));
  Schedule wrong = plain_schedule(g);
  wrong.aliases[0] = {2, 0};
  EXPECT_FALSE(holds(g, wrong));
}

// Two readers: the one that comes last may write over it.
TEST(Schedule, TakesTheOperandThatDies) {
  StepGraph g;
  for (int n = 0; n < 4; ++n)
    g.buffers.push_back({.name = std::to_string(n), .size = unit, .live_out = n == 3});
  g.steps = {{.name = "x", .writes = {0}},
             {.name = "f", .reads = {0}, .writes = {1}, .shares = {{0, 1}}},
             {.name = "g", .reads = {0}, .writes = {2}, .shares = {{0, 2}}},
             {.name = "add", .reads = {1, 2}, .writes = {3}, .shares = {{1, 3}, {2, 3}}}};
  const Schedule s = best_schedule(g).schedule;
  EXPECT_NE(s.aliases[1].root, s.aliases[0].root);
  EXPECT_EQ(s.aliases[2].root, s.aliases[0].root);
  EXPECT_EQ(s.aliases[3].root, s.aliases[1].root);
}

}  // namespace
}  // namespace quern
