// SPDX-License-Identifier: Apache-2.0
// The C API of the planner alone: it gives what the planner gives in C++, and refuses what makes no
// sense with a sentence.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <quern/c/planner.h>

#include "graph/memory/pools/pool.h"
#include "graph/memory/problem/csv.h"
#include "graph/memory/problem/trace.h"
#include "tests/engine/allocation/counter.h"
#include "tests/expect.h"

extern "C" uint64_t plan_two_in_c(uint64_t size);

namespace quern {
namespace {

struct Destroy {
  void operator()(quern_planner_problem* p) const { quern_planner_problem_destroy(p); }
  void operator()(quern_planner_plan* p) const { quern_planner_plan_destroy(p); }
  void operator()(quern_planner_trace* p) const { quern_planner_trace_destroy(p); }
  void operator()(quern_planner_text* p) const { quern_planner_text_destroy(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Destroy>;

// The handle that a call makes; null where it fails.
template <class T>
Owned<T> made(const std::function<quern_planner_status(T**)>& call) {
  T* handle = nullptr;
  EXPECT_EQ(call(&handle), QUERN_PLANNER_OK) << quern_planner_last_error();
  return Owned<T>(handle);
}

std::string text_of(const std::function<quern_planner_status(quern_planner_text**)>& call) {
  const auto text = made<quern_planner_text>(call);
  return {quern_planner_text_data(text.get()), quern_planner_text_size(text.get())};
}

// Alignments, gaps with and without parts, a fixed offset and a buffer that must be zero.
constexpr std::string_view problem_csv =
    "id,lower,upper,size,alignment,gaps,zero,offset\n"
    "a,0,4,100,4,,0,-1\n"
    "b,2,9,60,4,4-6@20:40,0,-1\n"
    "c,4,8,30,1,5-6,0,-1\n"
    "d,1,3,16,16,,0,0\n"
    "e,0,9,8,8,,1,-1\n";
constexpr std::string_view trace_csv =
    "run,event,id,bytes,alignment\n"
    "0,alloc,0,1000,\n0,alloc,1,3000,\n0,free,0,,\n0,alloc,2,900,\n0,free,1,,\n0,free,2,,\n"
    "1,alloc,0,4000,\n1,free,0,,\n";

Owned<quern_planner_problem> problem_of(std::string_view csv) {
  return made<quern_planner_problem>(
      [&](auto** p) { return quern_planner_problem_read_csv(csv.data(), csv.size(), p); });
}

Owned<quern_planner_trace> trace_of(std::string_view csv) {
  return made<quern_planner_trace>(
      [&](auto** t) { return quern_planner_trace_read_csv(csv.data(), csv.size(), t); });
}

Owned<quern_planner_plan> plan_of(const quern_planner_problem* problem,
                                  const quern_planner_options* options) {
  return made<quern_planner_plan>(
      [&](auto** p) { return quern_planner_solve(problem, options, p); });
}

quern_planner_options options_of(const char* strategy, std::uint64_t capacity) {
  quern_planner_options o = QUERN_PLANNER_OPTIONS_INIT;
  o.strategy = strategy;
  o.capacity = capacity;
  o.steps = 2000;
  o.seconds = 60;
  return o;
}

quern_planner_plan_info info_of(const quern_planner_plan* plan) {
  quern_planner_plan_info info = QUERN_PLANNER_PLAN_INFO_INIT;
  EXPECT_EQ(quern_planner_plan_get_info(plan, &info), QUERN_PLANNER_OK);
  return info;
}

// Two buffers that live at one time, to be changed by tests of what is refused.
struct TwoBuffers {
  std::array<std::uint64_t, 2> sizes{8, 8}, alignments{1, 1};
  std::array<std::uint64_t, 2> fixed{QUERN_PLANNER_ANYWHERE, QUERN_PLANNER_ANYWHERE};
  std::array<std::int64_t, 2> firsts{0, 0}, ends{4, 4};
  std::array<const char*, 2> names{"left", "right"};
  std::vector<quern_planner_gap> gaps;
  quern_planner_buffers buffers = QUERN_PLANNER_BUFFERS_INIT;

  // The sentence with which they are refused; "" if they are not.
  std::string refusal() {
    buffers.count = 2;
    buffers.sizes = sizes.data();
    buffers.firsts = firsts.data();
    buffers.ends = ends.data();
    buffers.alignments = alignments.data();
    buffers.fixed_offsets = fixed.data();
    buffers.names = names.data();
    buffers.gaps = gaps.data();
    buffers.gap_count = gaps.size();
    quern_planner_problem* problem = nullptr;
    const quern_planner_status status = quern_planner_problem_create(&buffers, &problem);
    const Owned<quern_planner_problem> owned(problem);
    EXPECT_EQ(status == QUERN_PLANNER_OK, problem != nullptr);
    if (status == QUERN_PLANNER_OK) return "";
    EXPECT_EQ(status, QUERN_PLANNER_INVALID_ARGUMENT);
    return quern_planner_last_error();
  }
};

TEST(Planner, ListsWhatThereIs) {
  EXPECT_EQ(quern_planner_api_version(), std::uint32_t{QUERN_PLANNER_API_VERSION});
  EXPECT_STREQ(quern_planner_version(), QUERN_VERSION);
  std::size_t n = 0;
  for (const Strategy& s : strategies()) {
    EXPECT_EQ(quern_planner_strategy_name(n), s.name);
    EXPECT_EQ(quern_planner_strategy_summary(n++), s.summary);
  }
  EXPECT_EQ(quern_planner_strategy_name(n), nullptr);
  n = 0;
  for (const MemoryPoolKind& p : pools()) {
    EXPECT_EQ(quern_planner_pool_name(n), p.name);
    EXPECT_EQ(quern_planner_pool_summary(n++), p.summary);
  }
  EXPECT_EQ(quern_planner_pool_summary(n), nullptr);
  EXPECT_STREQ(quern_planner_status_name(QUERN_PLANNER_BUSY), "busy");
  EXPECT_STREQ(quern_planner_status_name(77), "unknown");
  EXPECT_STREQ(quern_planner_proof_name(QUERN_PLANNER_INFEASIBLE), "infeasible");
  EXPECT_STREQ(quern_planner_proof_name(-1), "unknown");
}

TEST(Planner, C99) {
  EXPECT_EQ(plan_two_in_c(24), 24u);
}

TEST(Planner, ArraysAndCsvAreTheSameProblem) {
  const auto read = problem_of(problem_csv);
  quern_planner_buffers buffers = QUERN_PLANNER_BUFFERS_INIT;
  ASSERT_EQ(quern_planner_problem_buffers(read.get(), &buffers), QUERN_PLANNER_OK);
  ASSERT_EQ(buffers.count, 5u);
  EXPECT_EQ(buffers.gap_count, 2u);
  EXPECT_EQ(buffers.gaps[0].buffer, 1u);
  EXPECT_EQ(buffers.gaps[0].to, 40u);
  EXPECT_EQ(buffers.fixed_offsets[3], 0u);
  EXPECT_EQ(buffers.fixed_offsets[0], QUERN_PLANNER_ANYWHERE);
  EXPECT_EQ(buffers.must_be_zero[4], 1);
  const auto again = made<quern_planner_problem>(
      [&](auto** p) { return quern_planner_problem_create(&buffers, p); });
  const auto csv = [](const auto& problem) {
    return text_of([&](auto** t) { return quern_planner_problem_write_csv(problem.get(), t); });
  };
  EXPECT_EQ(csv(again), csv(read));
  EXPECT_EQ(csv(again), write_memory_csv(*read_memory_csv(problem_csv), nullptr));
  EXPECT_EQ(quern_planner_problem_lower_bound(again.get()),
            lower_bound(*read_memory_csv(problem_csv)));
}

TEST(Planner, EveryStrategyGivesWhatItGivesInCpp) {
  const MemoryProblem problem = *read_memory_csv(problem_csv);
  const auto handle = problem_of(problem_csv);
  for (const Strategy& s : strategies())
    for (const std::uint64_t capacity :
         {std::uint64_t{0}, std::uint64_t{130}, std::uint64_t{500}}) {
      const quern_planner_options options = options_of(s.name.data(), capacity);
      const auto plan = plan_of(handle.get(), &options);
      const std::uint64_t limit = capacity ? capacity : any_capacity;
      const PlanAnswer answer = s.plan(problem, {.capacity = limit, .seconds = 60, .steps = 2000});
      const quern_planner_plan_info info = info_of(plan.get());
      const std::uint64_t* offsets = quern_planner_plan_offsets(plan.get());
      EXPECT_EQ(std::vector(offsets, offsets + info.count), answer.plan.offsets) << s.name;
      EXPECT_EQ(info.bytes, answer.plan.size) << s.name;
      EXPECT_EQ(info.lower_bound, answer.bound) << s.name;
      EXPECT_EQ(info.proof, static_cast<int>(status_of(answer, limit))) << s.name;
      EXPECT_EQ(info.unshared_bytes, 214u);
    }
}

TEST(Planner, OffsetsOfTheCallerAreValidated) {
  const auto problem = problem_of("id,lower,upper,size,alignment\na,0,2,8,8\nb,1,3,8,8\n");
  const auto refusal = [&](std::vector<std::uint64_t> offsets, std::uint64_t bytes) {
    quern_planner_plan* plan = nullptr;
    const quern_planner_status status = quern_planner_plan_from_offsets(
        problem.get(), offsets.data(), offsets.size(), bytes, &plan);
    EXPECT_EQ(status, QUERN_PLANNER_INVALID_ARGUMENT);
    EXPECT_EQ(plan, nullptr);
    return std::string(quern_planner_last_error());
  };
  EXPECT_CONTAINS(refusal({0, 0}, 0), "'a' and 'b' are live at once and overlap");
  EXPECT_CONTAINS(refusal({0, 12}, 0), "'b' at 12 is misaligned");
  EXPECT_CONTAINS(refusal({0, 8}, 12), "'b' at 8 is misaligned or ends outside of 12 bytes");
  EXPECT_CONTAINS(refusal({0, std::uint64_t{0} - 8}, 0), "ends outside");
  EXPECT_CONTAINS(refusal({0}, 0), "1 offsets, there are 2 buffers");
  const std::array<std::uint64_t, 2> good{16, 0};
  const auto plan = made<quern_planner_plan>([&](auto** p) {
    return quern_planner_plan_from_offsets(problem.get(), good.data(), 2, 0, p);
  });
  EXPECT_EQ(info_of(plan.get()).bytes, 24u);
  EXPECT_EQ(info_of(plan.get()).lower_bound, 16u);
  EXPECT_EQ(info_of(plan.get()).proof, QUERN_PLANNER_FEASIBLE);
}

TEST(Planner, PicturesNameTheBuffers) {
  auto problem = problem_of("id,lower,upper,size\nx<y,0,2,8\nb,1,3,8\n");
  const auto plan = plan_of(problem.get(), nullptr);
  problem.reset();  // the plan keeps it
  const std::string svg =
      text_of([&](auto** t) { return quern_planner_plan_draw_svg(plan.get(), "two & more", t); });
  EXPECT_TRUE(svg.starts_with("<svg")) << svg;
  EXPECT_CONTAINS(svg, "x&lt;y: 8 bytes at");
  EXPECT_CONTAINS(svg, "two &amp; more");
  const std::array<const quern_planner_plan*, 2> both{plan.get(), plan.get()};
  const std::array<const char*, 2> titles{"first", "second"};
  const std::string page = text_of([&](auto** t) {
    return quern_planner_draw_page("page", both.data(), titles.data(), both.size(), t);
  });
  EXPECT_CONTAINS(page, "<option selected>second</option>");
  const auto stranger_problem = problem_of("id,lower,upper,size\na,0,2,8\n");
  const auto stranger = plan_of(stranger_problem.get(), nullptr);
  const std::array<const quern_planner_plan*, 2> mixed{plan.get(), stranger.get()};
  quern_planner_text* none = nullptr;
  EXPECT_EQ(quern_planner_draw_page("page", mixed.data(), nullptr, 2, &none),
            QUERN_PLANNER_INVALID_ARGUMENT);
  EXPECT_CONTAINS(quern_planner_last_error(), "plan 1 is of another problem");
  const std::string csv =
      text_of([&](auto** t) { return quern_planner_plan_write_csv(plan.get(), t); });
  EXPECT_CONTAINS(csv, "id,lower,upper,size,offset\nx<y,0,2,8,");
}

TEST(Planner, ArraysThatMakeNoSenseAreRefused) {
  EXPECT_EQ(TwoBuffers().refusal(), "");
  TwoBuffers b;
  b.ends[1] = -1;
  EXPECT_CONTAINS(b.refusal(), "buffer 'right': ends at -1, before it begins at 0");
  b = {};
  b.alignments[0] = 0;
  EXPECT_CONTAINS(b.refusal(), "buffer 'left': alignment 0, wanted 1 to 2^60");
  b = {};
  b.firsts[0] = std::numeric_limits<std::int64_t>::min();
  EXPECT_CONTAINS(b.refusal(), "buffer 'left': step -9223372036854775808, wanted one from -2^60");
  b = {};
  b.sizes = {std::uint64_t{0} - 1, 8};
  EXPECT_CONTAINS(b.refusal(), "add up to more than 2^60 bytes");
  b = {};
  b.fixed = {0, 4};
  EXPECT_CONTAINS(b.refusal(), "fixed offsets: memory plan: buffers 'left' and 'right'");
  b = {};
  b.gaps = {{.buffer = 2, .first = 1, .end = 2, .from = 0, .to = 0}};
  EXPECT_CONTAINS(b.refusal(), "gap 0 is of buffer 2, there are 2");
  b = {};
  b.gaps = {{.buffer = 1, .first = 1, .end = 2, .from = 4, .to = 9}};
  EXPECT_CONTAINS(b.refusal(), "buffer 'right': gap with bytes 4 to 9 of 8");
  b = {};
  b.names[1] = nullptr;
  EXPECT_CONTAINS(b.refusal(), "the name of buffer 1 is null");
  b = {};
  b.buffers.struct_size = 12;
  EXPECT_CONTAINS(b.refusal(), "struct_size of quern_planner_buffers is 12, not ");
  quern_planner_buffers none = QUERN_PLANNER_BUFFERS_INIT;
  none.count = 3;
  quern_planner_problem* problem = nullptr;
  EXPECT_EQ(quern_planner_problem_create(&none, &problem), QUERN_PLANNER_INVALID_ARGUMENT);
  EXPECT_CONTAINS(quern_planner_last_error(), "sizes is null, with 3 elements");
}

TEST(Planner, OptionsThatMakeNoSenseAreRefused) {
  const auto problem = problem_of(problem_csv);
  quern_planner_plan* plan = nullptr;
  quern_planner_options options = options_of("best", 0);
  EXPECT_EQ(quern_planner_solve(problem.get(), &options, &plan), QUERN_PLANNER_NOT_FOUND);
  EXPECT_CONTAINS(quern_planner_last_error(), "no strategy 'best'; there is: auto, ");
  for (const double seconds : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    options = options_of(nullptr, 0);
    options.seconds = seconds;
    EXPECT_EQ(quern_planner_solve(problem.get(), &options, &plan), QUERN_PLANNER_INVALID_ARGUMENT);
    EXPECT_CONTAINS(quern_planner_last_error(), "wanted a number that is not negative");
  }
  EXPECT_EQ(quern_planner_solve(nullptr, nullptr, &plan), QUERN_PLANNER_INVALID_ARGUMENT);
  EXPECT_STREQ(quern_planner_last_error(), "problem is null");
  EXPECT_EQ(plan, nullptr);
}

TEST(Planner, AnEmptyProblemHasAPlan) {
  const quern_planner_buffers none = QUERN_PLANNER_BUFFERS_INIT;
  const auto problem =
      made<quern_planner_problem>([&](auto** p) { return quern_planner_problem_create(&none, p); });
  const auto plan = plan_of(problem.get(), nullptr);
  EXPECT_EQ(info_of(plan.get()).bytes, 0u);
  EXPECT_CONTAINS(
      text_of([&](auto** t) { return quern_planner_plan_draw_svg(plan.get(), nullptr, t); }),
      "</svg>");
}

TEST(Planner, EveryPoolGivesTheFiguresOfItsReplay) {
  const auto trace = trace_of(trace_csv);
  EXPECT_EQ(quern_planner_trace_run_count(trace.get()), 2u);
  EXPECT_EQ(quern_planner_trace_event_count(trace.get()), 8u);
  const MemoryTrace cpp = *read_trace_csv(trace_csv);
  for (const MemoryPoolKind& kind : pools()) {
    quern_planner_pool_options options = QUERN_PLANNER_POOL_OPTIONS_INIT;
    options.pool = kind.name.data();
    options.page = 4096;
    quern_planner_pool_figures figures = QUERN_PLANNER_POOL_FIGURES_INIT;
    ASSERT_EQ(quern_planner_trace_replay(trace.get(), &options, &figures), QUERN_PLANNER_OK);
    InventedSource source(4096);
    const Replay played = replay(cpp, *kind.make(source, {}), 10);
    EXPECT_EQ(figures.events, 8u);
    EXPECT_EQ(figures.peak_reserved, played.stats.most.reserved) << kind.name;
    EXPECT_EQ(figures.peak_used, played.stats.most.used) << kind.name;
    EXPECT_EQ(figures.peak_requested, 4000u);
    EXPECT_EQ(figures.end_reserved, played.stats.now.reserved) << kind.name;
    EXPECT_EQ(figures.hits, played.stats.hits) << kind.name;
    EXPECT_EQ(figures.system_allocations, played.stats.system_allocations) << kind.name;
    EXPECT_EQ(figures.internal_fragmentation, played.stats.internal_fragmentation()) << kind.name;
  }
}

TEST(Planner, APoolThatMeetsItsLimitTellsHowFarItCame) {
  const auto trace = trace_of(trace_csv);
  quern_planner_pool_options options = QUERN_PLANNER_POOL_OPTIONS_INIT;
  options.limit = 2000;
  quern_planner_pool_figures figures = QUERN_PLANNER_POOL_FIGURES_INIT;
  EXPECT_EQ(quern_planner_trace_replay(trace.get(), &options, &figures),
            QUERN_PLANNER_OUT_OF_MEMORY);
  EXPECT_EQ(figures.events, 1u);
  EXPECT_EQ(figures.peak_requested, 1000u);
  options = QUERN_PLANNER_POOL_OPTIONS_INIT;
  options.page = 3000;
  EXPECT_EQ(quern_planner_trace_replay(trace.get(), &options, &figures),
            QUERN_PLANNER_INVALID_ARGUMENT);
  EXPECT_CONTAINS(quern_planner_last_error(), "page is 3000, wanted a power of two from 64");
  options = QUERN_PLANNER_POOL_OPTIONS_INIT;
  options.pool = "puddle";
  EXPECT_EQ(quern_planner_trace_replay(trace.get(), &options, &figures), QUERN_PLANNER_NOT_FOUND);
  EXPECT_CONTAINS(quern_planner_last_error(), "no pool 'puddle'; there is: best-fit-arena, ");
}

TEST(Planner, RunsOfATraceAreProblems) {
  const auto trace = trace_of(trace_csv);
  quern_planner_static_peak peak = QUERN_PLANNER_STATIC_PEAK_INIT;
  ASSERT_EQ(quern_planner_trace_static_peak(trace.get(), nullptr, &peak), QUERN_PLANNER_OK);
  EXPECT_EQ(peak.bytes, 4008u);  // 3,000 bytes, 8 that an alignment of 64 forces, and 1,000
  EXPECT_EQ(peak.plans, 2u);
  EXPECT_EQ(peak.is_bound, 0);
  const auto problem = made<quern_planner_problem>(
      [&](auto** p) { return quern_planner_trace_problem(trace.get(), 0, p); });
  quern_planner_buffers buffers = QUERN_PLANNER_BUFFERS_INIT;
  ASSERT_EQ(quern_planner_problem_buffers(problem.get(), &buffers), QUERN_PLANNER_OK);
  EXPECT_EQ(std::vector(buffers.sizes, buffers.sizes + buffers.count),
            (std::vector<std::uint64_t>{1000, 3000, 900}));
  quern_planner_problem* none = nullptr;
  EXPECT_EQ(quern_planner_trace_problem(trace.get(), 2, &none), QUERN_PLANNER_NOT_FOUND);
  EXPECT_STREQ(quern_planner_last_error(), "run 2, the trace has 2");
}

TEST(Planner, ShapesAndRunsAreATrace) {
  const std::string_view lives =
      "id,lower,upper,size,shape\na,0,2,100,1\nb,1,3,100,1\na,0,2,500,2\n";
  const std::string_view runs = "run,shape\n0,1\n1,2\n2,1\n";
  const auto trace = made<quern_planner_trace>([&](auto** t) {
    return quern_planner_trace_of_shapes(lives.data(), lives.size(), runs.data(), runs.size(), t);
  });
  EXPECT_EQ(quern_planner_trace_run_count(trace.get()), 3u);
  EXPECT_EQ(quern_planner_trace_event_count(trace.get()), 10u);
}

TEST(Planner, BanksThatAreTooSmallAreNoDefect) {
  const std::string_view csv =
      "bank,capacity,cost\nsram,64,1\n\nid,lower,upper,size\na,0,2,64\nb,1,2,64\n";
  quern_planner_problem* problem = nullptr;
  ASSERT_EQ(quern_planner_problem_read_csv(csv.data(), csv.size(), &problem), QUERN_PLANNER_OK);
  for (const char* strategy : {"exact", "greedy-by-size"}) {
    quern_planner_options options = QUERN_PLANNER_OPTIONS_INIT;
    options.strategy = strategy;
    quern_planner_plan* plan = nullptr;
    EXPECT_EQ(quern_planner_solve(problem, &options, &plan), QUERN_PLANNER_OUT_OF_MEMORY);
    EXPECT_CONTAINS(quern_planner_last_error(), "fits the banks");
    EXPECT_EQ(plan, nullptr);
  }
  quern_planner_problem_destroy(problem);
}

// Two banks, of which the first is cheap and holds one of the three buffers that live at one time.
struct BankArrays {
  std::vector<std::uint64_t> sizes = {64, 64, 64};
  std::vector<std::int64_t> firsts = {0, 0, 0};
  std::vector<std::int64_t> ends = {2, 2, 2};
  std::vector<quern_planner_bank> banks = {{"sram", 64, 0, 1, 0},
                                           {"psram", QUERN_PLANNER_ANY_CAPACITY, 32, 4, 0}};
  std::vector<std::uint64_t> allowed = {0, 2, 3};
  std::vector<std::uint32_t> separations = {1, 1, 0};
  std::vector<std::uint32_t> colocations = {0, 7, 7};

  quern_planner_buffers buffers() const {
    quern_planner_buffers b = QUERN_PLANNER_BUFFERS_INIT;
    b.count = sizes.size();
    b.sizes = sizes.data();
    b.firsts = firsts.data();
    b.ends = ends.data();
    b.banks = banks.data();
    b.bank_count = banks.size();
    b.allowed_banks = allowed.data();
    b.separations = separations.data();
    b.colocations = colocations.data();
    return b;
  }
};

Owned<quern_planner_problem> problem_with_banks(const BankArrays& arrays) {
  const quern_planner_buffers b = arrays.buffers();
  return made<quern_planner_problem>([&](auto** p) { return quern_planner_problem_create(&b, p); });
}

TEST(Planner, BanksAreArraysToo) {
  const BankArrays arrays;
  const auto problem = problem_with_banks(arrays);
  ASSERT_NE(problem, nullptr);
  quern_planner_buffers back = QUERN_PLANNER_BUFFERS_INIT;
  ASSERT_EQ(quern_planner_problem_buffers(problem.get(), &back), QUERN_PLANNER_OK);
  ASSERT_EQ(back.bank_count, 2u);
  EXPECT_STREQ(back.banks[1].name, "psram");
  EXPECT_EQ(back.banks[0].alignment, 1u);
  EXPECT_EQ(back.banks[1].capacity, QUERN_PLANNER_ANY_CAPACITY);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(back.allowed_banks[i], i == 1 ? 2u : i == 2 ? 3u : 0u);
    EXPECT_EQ(back.separations[i], arrays.separations[i]);
    EXPECT_EQ(back.colocations[i], arrays.colocations[i]);
  }
  quern_planner_options exact = QUERN_PLANNER_OPTIONS_INIT;
  exact.strategy = "exact";
  const auto plan = made<quern_planner_plan>(
      [&](auto** p) { return quern_planner_solve(problem.get(), &exact, p); });
  quern_planner_plan_info info = QUERN_PLANNER_PLAN_INFO_INIT;
  ASSERT_EQ(quern_planner_plan_get_info(plan.get(), &info), QUERN_PLANNER_OK);
  EXPECT_EQ(info.proof, QUERN_PLANNER_OPTIMAL);
  EXPECT_EQ(info.bank_count, 2u);
  EXPECT_EQ(info.cost, 64u * 1 + 2 * 64u * 4);
  EXPECT_EQ(info.cost_bound, info.cost);
  const std::uint32_t* banks = quern_planner_plan_banks(plan.get());
  const std::uint64_t* bytes = quern_planner_plan_bank_sizes(plan.get());
  EXPECT_EQ((std::array{banks[0], banks[1], banks[2]}), (std::array{0u, 1u, 1u}));
  EXPECT_EQ((std::array{bytes[0], bytes[1]}), (std::array<std::uint64_t, 2>{64, 128}));

  // The same as somebody else's answer, and wrong ones.
  const auto given = [&](std::vector<std::uint64_t> offsets, std::vector<std::uint32_t> in) {
    quern_planner_plan* p = nullptr;
    const auto status = quern_planner_plan_from_places(problem.get(), offsets.data(), in.data(),
                                                       offsets.size(), &p);
    quern_planner_plan_destroy(p);
    return status;
  };
  EXPECT_EQ(given({0, 0, 64}, {0, 1, 1}), QUERN_PLANNER_OK) << quern_planner_last_error();
  EXPECT_EQ(given({0, 0, 32}, {0, 1, 1}), QUERN_PLANNER_INVALID_ARGUMENT);
  EXPECT_EQ(given({0, 64, 0}, {0, 2, 1}), QUERN_PLANNER_INVALID_ARGUMENT);
  EXPECT_CONTAINS(quern_planner_last_error(), "buffer 1 lies in bank 2, there are 2");
  EXPECT_EQ(given({0, 64, 0}, {1, 1, 1}), QUERN_PLANNER_INVALID_ARGUMENT);
  EXPECT_EQ(given({0, 0}, {0, 1}), QUERN_PLANNER_INVALID_ARGUMENT);
  EXPECT_EQ(given({~std::uint64_t{0}, 0, 64}, {0, 1, 1}), QUERN_PLANNER_INVALID_ARGUMENT);
}

TEST(Planner, BanksThatMakeNoSenseAreRefused) {
  const auto refused = [](const quern_planner_buffers& b, std::string_view sentence) {
    quern_planner_problem* problem = nullptr;
    EXPECT_EQ(quern_planner_problem_create(&b, &problem), QUERN_PLANNER_INVALID_ARGUMENT);
    EXPECT_CONTAINS(quern_planner_last_error(), sentence);
    EXPECT_EQ(problem, nullptr);
  };
  BankArrays arrays;
  arrays.allowed[2] = 4;
  refused(arrays.buffers(), "buffer 2 may lie in bank 2, there are 2");
  arrays = {};
  arrays.banks[1].name = nullptr;
  refused(arrays.buffers(), "the name of bank 1 is null");
  arrays.banks[1].name = "sram";
  refused(arrays.buffers(), "sram");
  arrays = {};
  quern_planner_buffers b = arrays.buffers();
  b.banks = nullptr;
  refused(b, "banks is null, with 2 elements");
  b.bank_count = 0;
  refused(b, "choices of banks, and no banks");
  arrays.banks.assign(QUERN_PLANNER_MAX_BANKS + 1, {"x", 1, 1, 1, 1});
  refused(arrays.buffers(), "65 banks, at most 64 are possible");

  // Callers of before have no banks.
  arrays = {};
  b = arrays.buffers();
  b.struct_size = offsetof(quern_planner_buffers, banks);
  const auto problem =
      made<quern_planner_problem>([&](auto** p) { return quern_planner_problem_create(&b, p); });
  const auto plan = made<quern_planner_plan>(
      [&](auto** p) { return quern_planner_solve(problem.get(), nullptr, p); });
  EXPECT_EQ(quern_planner_plan_banks(plan.get()), nullptr);
  EXPECT_EQ(quern_planner_plan_bank_sizes(plan.get()), nullptr);
  EXPECT_EQ(quern_planner_plan_bank_sizes(nullptr), nullptr);
}

TEST(Planner, FaultsOfFilesNameTheLine) {
  const std::string_view csv = "id,lower,upper,size\na,0,1,8\nb,0,1,many\n";
  quern_planner_problem* problem = nullptr;
  EXPECT_EQ(quern_planner_problem_read_csv(csv.data(), csv.size(), &problem),
            QUERN_PLANNER_INVALID_ARGUMENT);
  EXPECT_CONTAINS(quern_planner_last_error(), "line 3");
  EXPECT_EQ(quern_planner_problem_read_csv(nullptr, 4, &problem), QUERN_PLANNER_INVALID_ARGUMENT);
  EXPECT_CONTAINS(quern_planner_last_error(), "csv is null, with 4 bytes");
  quern_planner_trace* trace = nullptr;
  EXPECT_EQ(quern_planner_trace_read_csv("run,event\n", 10, &trace),
            QUERN_PLANNER_INVALID_ARGUMENT);
  EXPECT_EQ(problem, nullptr);
  EXPECT_EQ(trace, nullptr);
}

// What a caller does from the text to the picture; the first error ends it.
quern_planner_status all_of_it() {
  quern_planner_problem* problem = nullptr;
  quern_planner_plan* plan = nullptr;
  quern_planner_text* svg = nullptr;
  quern_planner_trace* trace = nullptr;
  quern_planner_pool_figures figures = QUERN_PLANNER_POOL_FIGURES_INIT;
  quern_planner_options options = options_of(nullptr, 0);
  options.steps = 200;
  quern_planner_status s =
      quern_planner_problem_read_csv(problem_csv.data(), problem_csv.size(), &problem);
  if (!s) s = quern_planner_solve(problem, &options, &plan);
  if (!s) s = quern_planner_plan_draw_svg(plan, "title", &svg);
  if (!s) s = quern_planner_trace_read_csv(trace_csv.data(), trace_csv.size(), &trace);
  if (!s) s = quern_planner_trace_replay(trace, nullptr, &figures);
  quern_planner_problem_destroy(problem);
  quern_planner_plan_destroy(plan);
  quern_planner_text_destroy(svg);
  quern_planner_trace_destroy(trace);
  return s;
}

TEST(Planner, MemoryThatIsRefusedIsAnError) {
  if (!testing::can_count_allocations()) GTEST_SKIP() << "malloc is a sanitizer's";
  std::size_t refused = 0;
  for (const auto failing : {testing::Failing::one, testing::Failing::all})
    for (std::uint64_t first = 0;; ++first) {
      testing::refuse_allocations(first, failing);
      const quern_planner_status status = all_of_it();
      const std::uint64_t asked = testing::allow_allocations();
      if (asked <= first) break;  // none was refused
      ASSERT_TRUE(status == QUERN_PLANNER_OUT_OF_MEMORY || status == QUERN_PLANNER_OK)
          << quern_planner_last_error();
      refused += status == QUERN_PLANNER_OUT_OF_MEMORY;
    }
  EXPECT_GT(refused, 500u);
  EXPECT_EQ(all_of_it(), QUERN_PLANNER_OK);
}

TEST(Planner, NullIsNothing) {
  quern_planner_problem_destroy(nullptr);
  quern_planner_plan_destroy(nullptr);
  quern_planner_trace_destroy(nullptr);
  quern_planner_text_destroy(nullptr);
  EXPECT_STREQ(quern_planner_text_data(nullptr), "");
  EXPECT_EQ(quern_planner_problem_lower_bound(nullptr), 0u);
  EXPECT_EQ(quern_planner_plan_offsets(nullptr), nullptr);
  EXPECT_EQ(quern_planner_trace_run_count(nullptr), 0u);
  quern_planner_plan_info info = QUERN_PLANNER_PLAN_INFO_INIT;
  EXPECT_EQ(quern_planner_plan_get_info(nullptr, &info), QUERN_PLANNER_INVALID_ARGUMENT);
  EXPECT_STREQ(quern_planner_last_error(), "plan is null");
}

TEST(Planner, ThreadsShareAProblemAndKeepTheirErrors) {
  const auto problem = problem_of(problem_csv);
  std::array<std::uint64_t, 4> bytes{};
  std::array<std::string, 4> errors;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    threads.emplace_back([&, i] {
      const std::string name = "strategy " + std::to_string(i);
      const quern_planner_options wrong = options_of(name.c_str(), 0);
      quern_planner_plan* none = nullptr;
      quern_planner_solve(problem.get(), &wrong, &none);
      const quern_planner_options right = options_of("exact", 0);
      bytes[i] = info_of(plan_of(problem.get(), &right).get()).bytes;
      errors[i] = quern_planner_last_error();
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(bytes[i], bytes[0]);
    EXPECT_CONTAINS(errors[i], "no strategy 'strategy " + std::to_string(i) + "'");
  }
}

}  // namespace
}  // namespace quern
