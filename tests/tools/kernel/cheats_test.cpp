// SPDX-License-Identifier: Apache-2.0
// Kernels that want to look faster, or better, than they are, and a harness that is lied to: each
// is caught, with a sentence that names the deed. An honest kernel beside them is believed.
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <quern/c/custom_op.h>
#include <quern/custom_ops.h>

#include "tests/expect.h"
#include "tools/kernel/floor.h"
#include "tools/kernel/measure.h"
#include "tools/kernel/own.h"

namespace quern::tools::lab {
namespace {

constexpr std::string_view softmax_line = "op:Softmax axis=1 f32[16,512]@-4..4";

// ---- an honest kernel, and what cheats do with it

quern_status softmax_shape(const quern_op_call* c) {
  const quern_op_input& x = c->inputs[0];
  return c->api->set_output(c, 0, x.dtype, x.rank, x.dims);
}

struct Rows {
  const float* x;
  float* y;
  std::int64_t rows, n;
};

Rows rows_of_call(const quern_op_call* c) {
  return {static_cast<const float*>(c->inputs[0].data), static_cast<float*>(c->outputs[0].data),
          c->inputs[0].dims[0], c->inputs[0].dims[1]};
}

void compute(const Rows& r, float factor = 1) {
  for (std::int64_t row = 0; row < r.rows; ++row) {
    const float* x = r.x + row * r.n;
    float* y = r.y + row * r.n;
    float largest = x[0];
    for (std::int64_t i = 1; i < r.n; ++i) largest = std::max(largest, x[i]);
    float sum = 0;
    for (std::int64_t i = 0; i < r.n; ++i) sum += y[i] = std::exp(x[i] - largest);
    for (std::int64_t i = 0; i < r.n; ++i) y[i] *= factor / sum;
  }
}

using Deed = std::function<void(const Rows&)>;

quern_status do_deed(const quern_op_call* c) {
  (*static_cast<const Deed*>(c->context))(rows_of_call(c));
  return QUERN_OK;
}

// ---- measuring

struct Trial {
  Problem problem = parse_problem(softmax_line).value();
  Model model = build_problem(problem, 1).value();
  Answers answers = Answers::make(problem, model, {}).value();

  Measured measure_one(const Model& graph, ContenderOptions options) const {
    auto contender =
        LocalContender::make(graph, open_device("cpu").value(), answers, std::move(options));
    if (!contender) return {.refused = std::string(contender.error().message())};
    std::vector<std::unique_ptr<Contender>> contenders;
    contenders.push_back(std::move(*contender));
    return measure(contenders, {.time_s = 0.1, .least_samples = 10})[0];
  }
};

CompileOptions one_thread() {
  return {.threads = 1};
}

// What the harness says of a kernel that does this.
Measured measured(const Deed& deed, const Clocks* clocks = nullptr) {
  quern_custom_op op = QUERN_CUSTOM_OP_INIT;
  op.domain = "test";
  op.name = "Softmax";
  op.flags = QUERN_OP_DETERMINISTIC;
  op.context = const_cast<Deed*>(&deed);
  op.infer = softmax_shape;
  op.run = do_deed;
  const auto ops = std::make_shared<CustomOps>();
  EXPECT_TRUE(ops->add(op).ok());
  const Trial trial;
  const std::vector<OwnKernel> own = own_kernels(trial.problem, *ops);
  if (own.size() != 1) return {.refused = "no kernel of one's own"};
  EXPECT_EQ(own[0].name, "test.Softmax");
  const Model model = build_problem(own[0].problem, 1, ops).value();
  return trial.measure_one(model, {.name = own[0].name, .compile = one_thread(), .clocks = clocks});
}

TEST(KernelCheats, AnHonestKernelIsBelieved) {
  const Measured m = measured([](const Rows& r) { compute(r); });
  EXPECT_EQ(m.refused, "");
  EXPECT_GE(m.samples.size(), 3U);  // as many as a busy machine lets it have
  EXPECT_GT(m.wall.median, 0);
  EXPECT_GT(m.processor.median, 0);
}

TEST(KernelCheats, ACachedAnswer) {
  std::vector<float> kept;
  const Measured m = measured([&](const Rows& r) {
    if (kept.empty()) {
      compute(r);
      kept.assign(r.y, r.y + r.rows * r.n);
    }
    std::copy(kept.begin(), kept.end(), r.y);
  });
  EXPECT_CONTAINS(m.refused, "wrong answer");
}

TEST(KernelCheats, NoWork) {
  EXPECT_CONTAINS(measured([](const Rows&) {}).refused, "wrong answer");
}

TEST(KernelCheats, WrongByOnePercent) {
  EXPECT_CONTAINS(measured([](const Rows& r) { compute(r, 1.01F); }).refused, "wrong answer");
}

TEST(KernelCheats, ASmallerShape) {
  const Measured m = measured([](const Rows& r) { compute({r.x, r.y, r.rows / 2, r.n}); });
  EXPECT_CONTAINS(m.refused, "wrong answer");
  EXPECT_CONTAINS(m.refused, "4096 of 8192");
}

TEST(KernelCheats, AReusedOutput) {
  int calls = 0;
  const Measured m = measured([&](const Rows& r) {
    if (calls++ < 2) compute(r);
  });
  EXPECT_CONTAINS(m.refused, "wrong answer");
}

// Later calls, and those of others, would take tens of times as long.
TEST(KernelCheats, DenormalInputs) {
  const Measured m = measured([](const Rows& r) {
    compute(r);
    std::fill_n(const_cast<float*>(r.x), r.rows * r.n, 1e-40F);
  });
  EXPECT_CONTAINS(m.refused, "wrote to its input 0");
}

TEST(KernelCheats, WorkBehindTheTimedRegion) {
  std::thread later;
  std::vector<float> numbers;
  const Measured m = measured([&](const Rows& r) {
    if (later.joinable()) later.join();
    std::copy(numbers.begin(), numbers.end(), r.y);  // of the call before
    later = std::thread([&numbers, x = std::vector<float>(r.x, r.x + r.rows * r.n), r] {
      numbers.resize(x.size());
      compute({x.data(), numbers.data(), r.rows, r.n});
    });
  });
  later.join();
  EXPECT_CONTAINS(m.refused, "wrong answer");
}

TEST(KernelCheats, WorkOfThreadsThatAreNotCounted) {
  const Measured m = measured([&](const Rows& r) {
    std::thread([r] {
      for (int i = 0; i < 20; ++i) compute(r);
    }).join();
  });
  EXPECT_CONTAINS(m.refused, "other threads than those of the call");
}

TEST(KernelCheats, ThreadsLeftSpinning) {
  std::atomic<bool> ends = false;
  std::vector<std::thread> spinning;
  const Deed deed = [&](const Rows& r) {
    compute(r);
    if (spinning.empty())
      for (int i = 0; i < 2; ++i)
        spinning.emplace_back([&] {
          while (!ends.load(std::memory_order_relaxed)) {
          }
        });
  };
  // On a machine with much other work they may have no turn while one is looked at.
  Measured m;
  for (int i = 0; i < 10 && m.refused.empty(); ++i) m = measured(deed);
  ends = true;
  for (std::thread& t : spinning) t.join();
  EXPECT_FALSE(m.is_believed());
  EXPECT_CONTAINS(m.refused, "threads");
}

// The second look, for threads that wait while a call is timed.
TEST(KernelCheats, ThreadsThatSpinBetweenCalls) {
  std::atomic<bool> ends = false;
  std::atomic<bool> is_in_call = false;
  std::thread spinning([&] {
    while (!ends.load())
      if (is_in_call.load()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  });
  const Trial trial;
  const auto contender =
      LocalContender::make(trial.model, open_device("cpu").value(), trial.answers,
                           {.name = "rows", .compile = one_thread()});
  ASSERT_TRUE(contender);
  EXPECT_CONTAINS(std::string((*contender)->check_idle().message()), "threads were left");
  ends = true;
  spinning.join();
  EXPECT_TRUE((*contender)->check_idle().ok());
}

TEST(KernelCheats, APatchedClock) {
  Clocks slow = system_clocks();
  slow.wall = [] { return system_clocks().wall() / 2; };
  const Measured m = measured([](const Rows& r) { compute(r); }, &slow);
  EXPECT_CONTAINS(m.refused, "clocks disagree");
}

TEST(KernelCheats, SwappedContenders) {
  const Trial trial;
  ContenderOptions swapped{.name = "rows", .entry = "rows", .compile = one_thread()};
  swapped.compile.implementation = "reference";
  EXPECT_CONTAINS(trial.measure_one(trial.model, std::move(swapped)).refused,
                  "the time of rows, but reference ran");
  ContenderOptions honest{.name = "reference", .entry = "reference", .compile = one_thread()};
  honest.compile.implementation = "reference";
  EXPECT_EQ(trial.measure_one(trial.model, std::move(honest)).refused, "");
}

// ---- the floor

TEST(KernelFloor, CountsWhatMustBeMultiplied) {
  const auto work = [](std::string_view line, Math math = Math::f32) {
    const Problem problem = parse_problem(line).value();
    return least_work(problem, build_problem(problem, 1).value(), math);
  };
  EXPECT_EQ(work("matmul:m4n5k6").flops, 2.0 * 4 * 5 * 6);
  EXPECT_EQ(work("matmul:b3m4n5k6").flops, 2.0 * 3 * 4 * 5 * 6);
  EXPECT_EQ(work("conv:c2o4h5k3").flops, 2.0 * 9 * 4 * 2 * 9);
  // A row of 5 with one zero before and behind: 2 + 3 + 3 + 3 + 2 taps.
  EXPECT_EQ(work("conv:c2o4h5k3p1").flops, 2.0 * 13 * 13 * 4 * 2);
  EXPECT_EQ(work("conv:c2o4h5k3p1s2").flops, 2.0 * 7 * 7 * 4 * 2);
  EXPECT_EQ(work("conv:c4o4h5k1g2").flops, 2.0 * 25 * 4 * 2);
  EXPECT_EQ(work("matmul:m4n5k6", Math::bf16).flops, 0);
  EXPECT_EQ(work("matmul:m4n5k6 f64").flops, 0);
  EXPECT_EQ(work("op:Softmax f32[3,4]").flops, 0);
  EXPECT_EQ(work("op:Softmax f32[3,4]").written_bytes, 48U);
}

TEST(KernelFloor, IsTheLongerOfArithmeticAndWriting) {
  const Roof roof{.gflops = 100, .copy_gbytes = 10};
  EXPECT_DOUBLE_EQ(floor_us({.flops = 1e6}, "rows", roof, 0), 10);
  EXPECT_DOUBLE_EQ(floor_us({.flops = 1e6}, "onednn jit_wino:avx512", roof, 0), 2.5);
  EXPECT_DOUBLE_EQ(floor_us({.flops = 1e6, .written_bytes = 1000000}, "rows", roof, 20), 50);
  EXPECT_EQ(floor_us({}, "rows", roof, 0), 0);
}

TEST(KernelFloor, WhatBeatsItIsRefused) {
  const auto device = open_device("cpu").value();
  Roofs roofs;
  const LeastWork work{.flops = 1e9};
  Measured m{.info = {.name = "rows", .device = "cpu"}, .samples = {{1, 1}}};
  m.wall.median = 1;  // 1e15 FLOP/s
  ASSERT_TRUE(refuse_impossible(m, work, *device, roofs).ok());
  EXPECT_CONTAINS(m.refused, "impossible: 1.0 us");
  Measured possible{.info = {.name = "rows", .device = "cpu"}, .samples = {{1e9, 1e9}}};
  possible.wall.median = 1e9;
  ASSERT_TRUE(refuse_impossible(possible, work, *device, roofs).ok());
  EXPECT_EQ(possible.refused, "");
}

}  // namespace
}  // namespace quern::tools::lab
