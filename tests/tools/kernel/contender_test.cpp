// SPDX-License-Identifier: Apache-2.0
// Which kernel is measured, and that what is measured is a time.
#include "tools/kernel/contender.h"

#include <gtest/gtest.h>

#include "tests/expect.h"
#include "tools/kernel/cold.h"
#include "tools/kernel/lab.h"

namespace quern::tools::lab {
namespace {

struct Measurable {
  explicit Measurable(std::string_view line)
      : problem(parse_problem(line).value()),
        model(build_problem(problem, 1).value()),
        answers(Answers::make(problem, model, {}).value()) {}

  Result<std::unique_ptr<Contender>> contender(const std::string& implementation,
                                               ContenderOptions options = {}) const {
    options.name = implementation;
    options.compile = {.threads = 1, .implementation = implementation};
    return LocalContender::make(model, open_device("cpu").value(), answers, std::move(options));
  }

  Problem problem;
  Model model;
  Answers answers;
};

void expect_longer(Contender& longer, Contender& shorter) {
  std::vector<double> times[2];
  for (int i = 0; i < 15; ++i) {
    times[0].push_back(shorter.call().value().processor_us);
    times[1].push_back(longer.call().value().processor_us);
  }
  EXPECT_GT(median_interval(times[1]).median, median_interval(times[0]).median);
}

TEST(KernelContender, AnImplementationIsTakenByItsName) {
  const Measurable product("matmul:m32n48k64 +relu");
  for (const std::string name : {"rows", "reference"}) {
    const auto c = product.contender(name);
    ASSERT_TRUE(c) << c.error().message();
    EXPECT_EQ((*c)->entry(), name);
    EXPECT_EQ((*c)->entries().back(), "reference");
    const auto sample = (*c)->call();
    ASSERT_TRUE(sample) << sample.error().message();
    EXPECT_GT(sample->wall_us, 0);
    EXPECT_GT(sample->processor_us, 0);
  }
  // A name that the list does not have, or that cannot compute it, changes nothing.
  EXPECT_EQ(product.contender("depthwise").value()->entry(),
            product.contender("").value()->entry());
}

TEST(KernelContender, FlopsAreThoseOfTheOperatorAndWhatFollows) {
  const Measurable product("matmul:m32n48k64");
  EXPECT_EQ(product.contender("rows").value()->info().flops, 2.0 * 32 * 48 * 64);
  EXPECT_EQ(product.contender("rows").value()->info().bytes, 4.0 * (32 * 64 + 48 * 64 + 32 * 48));
}

TEST(KernelContender, WhatPassesRemoveIsNothingToMeasure) {
  const Measurable nothing("op:Identity f32[64]");
  const auto c = nothing.contender("");
  EXPECT_TRUE(!c || (*c)->call());  // a copy, or nothing at all
}

TEST(KernelContender, ColdCallsTakeLonger) {
  CacheEvictor evictor(std::size_t{64} << 20);
  EXPECT_GT(evictor.cold_ns(), 1.5 * evictor.warm_ns());
  EXPECT_LE(evictor.bytes(), std::size_t{64} << 20);
  const Measurable sum("op:Binary kind=add f32[16384] f32[16384]");
  const auto warm = sum.contender("");
  const auto cold = sum.contender("", {.evictor = &evictor});
  ASSERT_TRUE(warm && cold);
  expect_longer(**cold, **warm);
}

// The weights of 2.25 MB leave the second-level cache where as much as the call touches, and 64 MB
// more, is read; nothing is where that is all.
TEST(KernelContender, CallsBehindOtherMemoryTakeLonger) {
  const OtherMemory others(std::size_t{64} << 20);
  const Measurable product("matmul:m1n768k768");
  const auto warm = product.contender("");
  const auto behind =
      product.contender("", {.others = &others, .between_bytes = std::size_t{64} << 20});
  ASSERT_TRUE(warm && behind);
  expect_longer(**behind, **warm);
}

TEST(KernelContender, ChosenElementsAreTheBytesOfAGather) {
  const Measurable rows("op:Gather kind=axis const:f32[1000,16] i64[4]@0..1000");
  EXPECT_EQ(rows.contender("").value()->info().bytes, 2.0 * 4 * 16 * 4 + 4 * 8);
}

TEST(KernelAnswers, ASpoiledAnswerIsWrongEverywhere) {
  for (const char* line : {"op:Softmax f32[4,8]", "op:Binary kind=less f32[8] f32[8]",
                           "matmul:m4n5k6 u8*i8", "op:Softmax f16[4,8]", "op:Softmax f64[4,8]"}) {
    const Measurable m(line);
    const TensorType type = m.answers.output_type(0);
    Tensor spoiled = Tensor::zeros(type).value();
    m.answers.spoil(0, 0, spoiled.mutable_data());
    const std::string text = m.answers.verdict(0, 0, spoiled.view());
    EXPECT_CONTAINS(text, std::to_string(type.shape.elements()));
    EXPECT_NE(text, "") << line;
  }
}

TEST(KernelAnswers, AnotherShapeIsWrong) {
  const Measurable m("op:Softmax f32[4,8]");
  const Tensor other = Tensor::zeros({DType::f32, {4, 7}}).value();
  EXPECT_CONTAINS(m.answers.verdict(0, 0, other.view()), "the answer is f32[4,7]");
}

// Where results are not all determined, as of operators of the host, the reference judges.
TEST(KernelAnswers, TheReferenceJudgesWhatTheOracleLeavesOpen) {
  EXPECT_EQ(Measurable("op:Softmax f32[4,8]").answers.judge(), "oracle");
  EXPECT_EQ(Measurable("op:Unary kind=floor f32[64]@-0.001..0.001 +add").answers.judge(), "oracle");
}

TEST(KernelDevices, ListsKeepTheOptionsOfADevice) {
  using List = std::vector<std::string>;
  EXPECT_EQ(split_devices("cpu,vulkan:0,validate,vulkan"),
            (List{"cpu", "vulkan:0,validate", "vulkan"}));
  EXPECT_EQ(split_devices("cpu"), List{"cpu"});
  EXPECT_EQ(split_devices(""), List{});
}

TEST(KernelMeasure, EndsWhereTheTimeIsUpAndOrdersAreDrawn) {
  const Measurable product("matmul:m32n48k64");
  std::vector<std::unique_ptr<Contender>> contenders;
  contenders.push_back(product.contender("rows").value());
  contenders.push_back(product.contender("reference").value());
  const auto results = measure(contenders, {.time_s = 0.2, .precision = 1e-9, .least_samples = 5});
  ASSERT_EQ(results.size(), 2U);
  for (const Measured& m : results) {
    EXPECT_EQ(m.refused, "");
    EXPECT_GE(m.samples.size(), 3U);
    EXPECT_LE(m.wall.low, m.wall.median);
  }
  EXPECT_LT(results[0].wall.median, results[1].wall.median);
  const auto precise = measure(contenders, {.time_s = 10, .precision = 0.9, .least_samples = 20});
  EXPECT_LT(precise[0].samples.size(), 200U);
}

}  // namespace
}  // namespace quern::tools::lab
