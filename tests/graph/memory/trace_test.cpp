// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/problem/trace.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/vocabulary/text_util.h"
#include "tests/expect.h"

namespace quern {
namespace {

using enum TraceEvent::Kind;

constexpr const char* two_runs =
    "run,event,id,bytes,alignment\n"
    "4,alloc,0,100,64\n"
    "4,alloc,1,200,\n"
    "4,free,0,,\n"
    "4,free,1,,\n"
    "9,alloc,1,300,128\n"
    "9,free,1,,\n";

TEST(TraceCsv, Reads) {
  const auto trace = read_trace_csv(two_runs);
  ASSERT_TRUE(trace) << trace.error().message();
  EXPECT_EQ(trace->blocks, (std::vector<TraceBlock>{{100, 64}, {200, 64}, {300, 128}}));
  EXPECT_EQ(trace->events,
            (std::vector<TraceEvent>{
                {allocate, 0}, {allocate, 1}, {free, 0}, {free, 1}, {allocate, 2}, {free, 2}}));
  EXPECT_EQ(trace->runs, (std::vector<std::size_t>{0, 4}));
  EXPECT_EQ(trace->run(1).size(), 2U);
}

TEST(TraceCsv, ReadsWhatItWrote) {
  const MemoryTrace trace = read_trace_csv(two_runs).value();
  const MemoryTrace again = read_trace_csv(write_trace_csv(trace, 4)).value();
  EXPECT_EQ(again.blocks, trace.blocks);
  EXPECT_EQ(again.events, trace.events);
  EXPECT_EQ(again.runs, trace.runs);
  EXPECT_EQ(again.last_run, 5U);
  const std::string twice = write_trace_csv(trace) + write_trace_csv(trace, 2, CsvHeader::no);
  EXPECT_EQ(read_trace_csv(twice).value().runs.size(), 4U);
}

TEST(TraceCsv, IsToldFromAProblem) {
  EXPECT_TRUE(is_trace_csv(two_runs));
  EXPECT_TRUE(is_trace_csv("id,run,event,bytes"));
  EXPECT_FALSE(is_trace_csv("id,lower,upper,size\n"));
  EXPECT_FALSE(is_trace_csv(""));
}

TEST(TraceCsv, NamesTheLineOfAFault) {
  const auto error = [](std::string_view rows,
                        std::string_view header = "run,event,id,bytes,alignment") {
    const auto trace = read_trace_csv(cat(header, "\n", rows));
    return trace ? std::string("none") : std::string(trace.error().message());
  };
  EXPECT_EQ(error("", "run,event,id"), "trace line 1: no column \"bytes\"");
  EXPECT_EQ(error("0,alloc,1,8"), "trace line 2: 4 cells, the header has 5");
  EXPECT_EQ(error("0,alloc,1,8,64\n0,alloc,1,8,64"), "trace line 3: id 1 lives since line 2");
  EXPECT_EQ(error("0,free,7,,"), "trace line 2: id 7 does not live");
  EXPECT_EQ(error("0,alloc,1,8,64\n0,free,1,,\n0,free,1,,"), "trace line 4: id 1 does not live");
  EXPECT_EQ(error("1,alloc,1,8,64\n0,free,1,,"), "trace line 3: run 0 after run 1");
  EXPECT_EQ(error("0,grow,1,8,64"), "trace line 2: event is \"grow\", wanted alloc or free");
  EXPECT_EQ(error("0,alloc,1,8,48"), "trace line 2: alignment 48 is no power of two");
  EXPECT_CONTAINS(error("0,alloc,1,-8,64"), "bytes is \"-8\", wanted an integer from 0");
  EXPECT_CONTAINS(error("0,alloc,1,,64"), "bytes is \"\"");
  EXPECT_CONTAINS(error("0,alloc,1,99999999999999999999,64"), "line 2");
  EXPECT_CONTAINS(error("-1,alloc,1,8,64"), "run is \"-1\"");
  EXPECT_CONTAINS(error("0,alloc,one,8,64"), "id is \"one\"");
}

// Bytes that come from anywhere: an error or a trace, and then every pool plays it.
TEST(TraceCsv, SurvivesNoise) {
  std::mt19937 random(1);
  const std::string letters = "01249,,,\nallocfree-";
  for (int i = 0; i < 3000; ++i) {
    std::string text = two_runs;
    for (int k = 0; k < 1 + i % 4; ++k)
      text[30 + random() % (text.size() - 30)] = letters[random() % letters.size()];
    const auto trace = read_trace_csv(text);
    if (!trace) {
      EXPECT_CONTAINS(std::string(trace.error().message()), "line ");
      continue;
    }
    for (const MemoryPoolKind& kind : pools()) {
      InventedSource source;
      const auto pool = kind.make(source, {.limit = 1 << 30});
      const Replay r = replay(*trace, *pool, 10);
      EXPECT_TRUE(r.status.ok() || r.status.code() == Code::out_of_memory);
    }
    static_peak(*trace, *find_strategy("greedy-by-size"), {});
  }
}

TEST(TraceOfShapes, PlaysTheShapesInTurn) {
  const auto trace = trace_of_shapes(
      "seq,id,lower,upper,size\n"
      "8,a,0,2,100\n"
      "8,b,2,3,200\n"
      "9,a,0,2,110\n"
      "9,b,1,3,220\n",
      "run,seq\n0,9\n1,8\n2,9\n");
  ASSERT_TRUE(trace) << trace.error().message();
  ASSERT_EQ(trace->runs.size(), 3U);
  EXPECT_EQ(trace->blocks[0].bytes, 110U);
  EXPECT_EQ(trace->run(1)[1], (TraceEvent{free, 2})) << "frees come first";
  EXPECT_EQ(trace->run(1)[2], (TraceEvent{allocate, 3}));
}

TEST(TraceOfShapes, NamesTheLineOfAFault) {
  const auto error = [](std::string_view lives, std::string_view runs) {
    const auto trace = trace_of_shapes(lives, runs);
    return trace ? std::string("none") : std::string(trace.error().message());
  };
  EXPECT_EQ(error("id,lower,upper,size\n", "run,seq\n"), "lifetimes line 1: no column \"shape\"");
  EXPECT_EQ(error("shape,id,lower,upper,size\n8,a,2,1,8\n", "run,seq\n"),
            "lifetimes line 2: lives from 2 to 1");
  EXPECT_EQ(error("shape,id,lower,upper,size\n8,a,0,1,8\n", "run,shape\n0,8\n1,7\n"),
            "runs line 3: no lifetimes of shape \"7\"");
}

TEST(StaticPeak, PlansEachRun) {
  const MemoryTrace trace = read_trace_csv(two_runs).value();
  const StaticPeak peak = static_peak(trace, default_strategy(), {});
  EXPECT_EQ(peak.bytes, 328U) << "200 behind 128, or 300: the padding of 100 to 64";
  EXPECT_EQ(peak.plans, 2U);
  EXPECT_FALSE(peak.is_bound);
}

TEST(StaticPeak, TakesRunsByThemselves) {
  const MemoryTrace trace =
      read_trace_csv("run,event,id,bytes\n0,alloc,0,640\n1,alloc,1,64\n1,free,1,\n2,free,0,\n")
          .value();
  const MemoryProblem problem = problem_of_run(trace, 1);
  ASSERT_EQ(problem.intervals.size(), 1U) << "the first block is not mentioned";
  EXPECT_EQ(problem_of_run(trace, 2).intervals[0].first, 0);
}

TEST(StaticPeak, SaysWhenNothingCanHoldIt) {
  std::string text = "run,event,id,bytes\n";
  for (int i = 0; i < 20; ++i) text += cat("0,alloc,", i, ",", std::uint64_t{1} << 60, "\n");
  const StaticPeak peak = static_peak(read_trace_csv(text).value(), default_strategy(), {});
  EXPECT_TRUE(peak.is_bound);
  EXPECT_EQ(peak.bytes, std::numeric_limits<std::uint64_t>::max());
}

TEST(Replay, CountsAndStops) {
  const MemoryTrace trace = read_trace_csv(two_runs).value();
  InventedSource source;
  const auto pool = default_pool().make(source, {});
  const Replay all = replay(trace, *pool, 10);
  EXPECT_TRUE(all.status.ok());
  EXPECT_EQ(all.events, 6U);
  EXPECT_EQ(all.stats.live, 0U);
  EXPECT_EQ(all.stats.allocations, 3U);
  EXPECT_EQ(all.stats.most.requested, 300U);

  const auto small = default_pool().make(source, {.limit = 256});
  const Replay part = replay(trace, *small, 10);
  EXPECT_EQ(part.status.code(), Code::out_of_memory);
  EXPECT_EQ(part.events, 1U);
  const Replay late = replay(trace, *small, -1);
  EXPECT_EQ(late.status.code(), Code::busy);
  EXPECT_EQ(late.events, 0U);
}

}  // namespace
}  // namespace quern
