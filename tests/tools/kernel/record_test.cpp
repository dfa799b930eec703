// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/record.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "tests/expect.h"

namespace quern::tools::lab {
namespace {

Record record(std::string problem, double median_us, std::uint32_t seed = 1) {
  Record r{.problem = std::move(problem),
           .kernel = "rows",
           .implementation = "rows avx512",
           .device = "cpu",
           .mode = "warm",
           .math = "f32"};
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(1, 0.01);
  for (int i = 0; i < 50; ++i) {
    r.wall_us.push_back(median_us * noise(random));
    r.processor_us.push_back(r.wall_us.back() * 0.99);
  }
  return r;
}

TEST(KernelRecord, IsReadBackAsItWas) {
  Record r = record("matmul:m4n5k6", 12.5);
  r.weight = 3;
  r.threads = 2;
  r.machine["cpu"] = "a CPU";
  r.date = "2026-11-29T07:05:11Z";
  const auto back = parse_record(parse_json(record_json(r).line()).value());
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->key(), r.key());
  EXPECT_EQ(back->wall_us, r.wall_us);
  EXPECT_EQ(back->processor_us, r.processor_us);
  EXPECT_EQ(back->weight, 3);
  EXPECT_EQ(back->date, r.date);
  EXPECT_EQ(back->machine.dump(), r.machine.dump());
}

std::string refusal(const std::function<void(Json&)>& change) {
  Json j = record_json(record("p", 1));
  change(j);
  const auto r = parse_record(j);
  return r ? "" : std::string(r.error().message());
}

TEST(KernelRecord, RefusesWithTheMember) {
  EXPECT_EQ(refusal([](Json&) {}), "");
  EXPECT_CONTAINS(refusal([](Json& j) { j["schema"] = 2; }), "'schema'");
  EXPECT_CONTAINS(refusal([](Json& j) { j["problem"] = 7; }), "'problem'");
  EXPECT_CONTAINS(refusal([](Json& j) { j["threads"] = -1; }), "'threads'");
  EXPECT_CONTAINS(refusal([](Json& j) { j["threads"] = 1e99; }), "'threads'");
  EXPECT_CONTAINS(refusal([](Json& j) { j["wall_us"] = "fast"; }), "'wall_us'");
  for (const char* date : {"today", "2026-11-29", "2026-11-29T07:05:11Z ", "2026-11-29T07:05:1xZ"})
    EXPECT_CONTAINS(refusal([&](Json& j) { j["date"] = date; }), "'date'");
  EXPECT_CONTAINS(refusal([](Json& j) { j["wall_us"] = Json::array(); }), "'wall_us'");
  EXPECT_CONTAINS(refusal([](Json& j) { j["wall_us"].push(-1); }), "'wall_us'");
  EXPECT_CONTAINS(refusal([](Json& j) { j["processor_us"].push(1); }), "'processor_us'");
}

TEST(KernelRecord, FilesNameTheLine) {
  const std::string path = ::testing::TempDir() + "kernel_records.jsonl";
  std::ofstream(path) << record_json(record("a", 1)).line() << "\n{\"schema\":1}\n";
  const auto records = read_records(path);
  ASSERT_FALSE(records);
  EXPECT_CONTAINS(std::string(records.error().message()), "line 3");
  std::ofstream(path) << record_json(record("a", 1)).line() << "nonsense\n";
  EXPECT_CONTAINS(std::string(read_records(path).error().message()), "line 2");
  std::ofstream(path) << record_json(record("a", 1)).line();
  EXPECT_EQ(read_records(path).value().size(), 1U);
  std::remove(path.c_str());
  EXPECT_EQ(read_records(path).error().code(), Code::not_found);
}

using Verdict = ComparedKernel::Verdict;

TEST(KernelComparison, FindsWhatMoved) {
  const std::vector<Record> before = {record("same", 10, 1), record("slower", 10, 2),
                                      record("faster", 10, 3), record("gone", 10)};
  const std::vector<Record> after = {record("same", 10, 4), record("slower", 10.5, 5),
                                     record("faster", 9.5, 6), record("new", 10)};
  const auto c = compare_records(before, after, {});
  ASSERT_TRUE(c);
  ASSERT_EQ(c->kernels.size(), 3U);
  EXPECT_EQ(c->kernels[0].verdict, Verdict::same);
  EXPECT_EQ(c->kernels[1].verdict, Verdict::slower);
  EXPECT_EQ(c->kernels[2].verdict, Verdict::faster);
  EXPECT_NEAR(c->kernels[1].change(), 0.05, 0.01);
  EXPECT_EQ(c->only_before.size(), 1U);
  EXPECT_EQ(c->only_after.size(), 1U);
  EXPECT_FALSE(c->is_good());
}

TEST(KernelComparison, ASmallChangeIsNoneHoweverSure) {
  const std::vector<Record> before = {record("p", 10, 1)};
  const std::vector<Record> after = {record("p", 10.15, 2)};
  EXPECT_EQ(compare_records(before, after, {}).value().kernels[0].verdict, Verdict::same);
  EXPECT_EQ(compare_records(before, after, {.threshold = 0.005}).value().kernels[0].verdict,
            Verdict::slower);
}

TEST(KernelComparison, ALargeChangeOfFewSamplesIsNotSure) {
  Record a = record("p", 10, 1);
  Record b = record("p", 20, 2);
  for (Record* r : {&a, &b}) {
    r->wall_us.resize(3);
    r->processor_us.resize(3);
  }
  const auto c = compare_records(std::vector{a}, std::vector{b}, {});
  EXPECT_EQ(c.value().kernels[0].verdict, Verdict::same);
}

TEST(KernelComparison, WhatIsNotBelievedAnyMoreIsNotGood) {
  Record b = record("p", 1, 2);
  b.refused = "wrong answer";
  const auto c = compare_records(std::vector{record("p", 10)}, std::vector{b}, {});
  EXPECT_EQ(c.value().kernels[0].verdict, Verdict::not_believed);
  EXPECT_FALSE(c.value().is_good());
  EXPECT_TRUE(compare_records(std::vector{b}, std::vector{b}, {}).value().is_good());
}

TEST(KernelComparison, RefusesFilesThatCannotBeCompared) {
  const std::vector<Record> a = {record("a", 1)};
  const std::vector<Record> twice = {record("a", 1), record("a", 1)};
  EXPECT_FALSE(compare_records(a, std::vector{record("b", 1)}, {}));
  EXPECT_FALSE(compare_records(a, twice, {}));
}

}  // namespace
}  // namespace quern::tools::lab
