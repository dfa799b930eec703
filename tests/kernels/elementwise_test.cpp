// SPDX-License-Identifier: Apache-2.0
// The fused elementwise kernel against the reference where operands are broadcast.
#include "tests/graph/named_op.h"
#include "tests/kernels/kernel_test.h"

namespace quern::testing {
namespace {

using ::testing::StartsWith;

TEST(ElementwiseKernel, BroadcastOperandsInEveryLayout) {
  struct Case {
    Shape a, b;
  };
  const Case cases[] = {
      {{1, 24, 40, 50}, {1, 24, 1, 1}},
      {{2, 24, 9, 7}, {2, 24, 1, 1}},
      {{1, 3, 50, 60}, {3, 1, 1}},
      {{2, 16, 5, 5}, {2, 1, 5, 5}},
      {{4, 600, 3}, {600, 1}},
      {{70, 30, 17}, {17}},
      {{1, 8, 6, 6}, {}},
      {{3000, 5}, {3000, 1}},
      {{2, 8, 3, 4}, {2, 8, 3, 4}},
  };
  RandomTensors random(1);
  for (const Case& c : cases)
    for (const char* kind : {"add", "sub"}) {
      const std::vector<Tensor> inputs = {random.floats(c.a), random.floats(c.b)};
      std::vector<std::optional<Layout>> layouts = {std::nullopt};
      if (c.a.rank() >= 3) layouts.push_back(Layout::channels_last(c.a));
      if (c.a.rank() >= 3 && c.a[1] % 8 == 0) layouts.push_back(Layout::channel_blocked(c.a, 8));
      for (const auto& layout : layouts) {
        const SelectedRun got = run_selected(binary_op(kind), inputs, {}, 1, 2, layout);
        EXPECT_THAT(got.implementation, StartsWith("elementwise"));
        EXPECT_TRUE(same_bytes(got.outputs[0], run(binary_op(kind), inputs)))
            << c.a.text() << " and " << c.b.text() << " lying as "
            << (layout ? layout->text() : "row-major");
      }
    }
}

// Rows of a few elements, where operands are broadcast along some of the dimensions: either operand
// may be the one, the other may lie in any order, and a chunk may end within a row.
TEST(ElementwiseKernel, GathersOperandsOfShortRows) {
  struct Case {
    Shape a, b;
    std::vector<std::int64_t> order;  // of a's dimensions in memory; none: row-major
  };
  const Case cases[] = {
      {{1, 100, 8, 6, 2}, {1, 100, 1, 1, 2}, {}},
      {{1, 100, 8, 6, 2}, {1, 100, 1, 1, 2}, {0, 2, 1, 4, 3}},
      {{8, 8, 100, 6}, {8, 1, 100, 6}, {0, 1, 3, 2}},
      {{5, 4, 100, 6}, {5, 4, 1, 6}, {0, 1, 3, 2}},
      {{30, 1, 20, 5}, {30, 7, 1, 5}, {}},
      {{3, 1, 5, 2}, {3, 7, 5, 2}, {}},
      {{7, 1, 2}, {1, 600, 1}, {}},
      {{2, 3, 2, 3, 2, 3, 2, 2}, {1, 3, 1, 3, 1, 3, 1, 2}, {7, 6, 5, 4, 3, 2, 1, 0}},
      {{0, 3, 2}, {1, 3, 1}, {}},
  };
  RandomTensors random(3);
  for (const Case& c : cases) {
    const std::vector<Tensor> inputs = {random.floats(c.a), random.floats(c.b)};
    std::optional<Layout> layout;
    if (!c.order.empty()) layout = Layout::permuted(c.a, c.order);
    const Op sub = binary_op("sub");
    const Tensor difference = run(sub, inputs);
    const Tensor wanted = run(binary_op("div"), {inputs[1], difference});
    for (int threads : {1, 2}) {
      const SelectedRun got = run_selected({.op = sub,
                                            .inputs = inputs,
                                            .post_ops = {binary_post_op("div", 0, true)},
                                            .operands = {inputs[1]},
                                            .threads = threads,
                                            .layout = layout});
      EXPECT_THAT(got.implementation, StartsWith("elementwise"));
      EXPECT_EQ(got.post_ops_taken, 1U);
      EXPECT_TRUE(same_bytes(got.outputs[0], wanted)) << c.a.text() << " and " << c.b.text();
    }
  }
}

// f(x) and what follows in one pass, with operands of the result's shape, one for each channel, and
// one number, on either side.
TEST(ElementwiseKernel, TakesBinaryPostOps) {
  RandomTensors random(2);
  const Shape shape = {2, 8, 6, 5};
  const std::vector<Tensor> inputs = {random.floats(shape), random.floats({8, 1, 1})};
  const std::vector<Tensor> operands = {random.floats(shape), random.floats({8, 1, 1}),
                                        random.floats({})};
  const Op add = binary_op("add");
  const auto step = [](const char* kind, const Tensor& left, const Tensor& right) {
    return run(binary_op(kind), {left, right});
  };
  const Tensor sum = run(unary_op("relu"), {run(add, inputs)});
  const Tensor product = step("mul", sum, operands[0]);
  const Tensor wanted = step("div", step("sub", operands[1], product), operands[2]);
  for (const auto& layout : {std::optional<Layout>(), std::optional(Layout::channels_last(shape)),
                             std::optional(Layout::channel_blocked(shape, 8))}) {
    const SelectedRun got =
        run_selected({.op = add,
                      .inputs = inputs,
                      .post_ops = {unary_op("relu"), binary_post_op("mul", 0),
                                   binary_post_op("sub", 1, true), binary_post_op("div", 2)},
                      .operands = operands,
                      .layout = layout});
    EXPECT_THAT(got.implementation, StartsWith("elementwise"));
    EXPECT_EQ(got.post_ops_taken, 4U);
    EXPECT_TRUE(same_bytes(got.outputs[0], wanted))
        << "lying as " << (layout ? layout->text() : "row-major");
  }
}

}  // namespace
}  // namespace quern::testing
