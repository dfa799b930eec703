// SPDX-License-Identifier: Apache-2.0
// The fast Attention against the reference.
#include <limits>

#include "graph/ops/attention.h"
#include "tests/kernels/kernel_test.h"

namespace quern::testing {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;
using ::testing::StartsWith;

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

struct AttentionCase {
  Shape q, k, v;
};
const AttentionCase attention_cases[] = {
    {{1, 2, 5, 8}, {1, 2, 7, 8}, {1, 2, 7, 8}},
    {{2, 4, 1, 16}, {2, 2, 33, 16}, {2, 2, 33, 24}},
    {{3, 50, 20}, {3, 65, 20}, {3, 65, 3}},
    {{2, 1, 2, 97, 33}, {1, 3, 2, 98, 33}, {2, 1, 2, 98, 17}},
    {{1, 6, 130, 64}, {1, 6, 130, 64}, {1, 6, 130, 64}},
    {{1, 1, 9, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}},
};

Tensor with_masked_rows(Tensor mask) {
  auto* m = reinterpret_cast<float*>(mask.mutable_data());
  const std::int64_t keys = mask.shape().back();
  for (std::int64_t j = 0; j < keys; ++j) m[j] = minus_infinity;
  for (std::int64_t i = keys; i < mask.shape().elements(); i += 3) m[i] = minus_infinity;
  return mask;
}

void check(const Attention& op, const std::vector<Tensor>& inputs,
           const std::optional<Layout>& layout = {}) {
  const SelectedRun got = run_selected(op, inputs, {}, 1, 2, layout);
  EXPECT_THAT(got.implementation, StartsWith("rows"));
  EXPECT_THAT(values<float>(got.outputs[0]),
              Pointwise(FloatNear(3e-6f), values<float>(run(op, inputs))))
      << inputs[0].shape().text() << " over " << inputs[1].shape().text();
}

TEST(AttentionKernel, IsCloseToTheReference) {
  RandomTensors random(1);
  for (const AttentionCase& c : attention_cases) {
    Shape turned = c.k;
    std::swap(turned[c.k.rank() - 1], turned[c.k.rank() - 2]);
    const Tensor q = random.floats(c.q, -2, 2);
    const Tensor v = random.floats(c.v);
    const Attention op{.scale = 0.3f};
    check(op, {q, random.floats(c.k, -2, 2), v});
    check({.scale = 0.3f, .k_transposed = true}, {q, random.floats(turned, -2, 2), v});
  }
}

TEST(AttentionKernel, Masks) {
  RandomTensors random(2);
  for (const AttentionCase& c : attention_cases) {
    const std::int64_t rows = c.q[c.q.rank() - 2];
    const std::int64_t keys = c.v[c.v.rank() - 2];
    const std::vector<Tensor> qkv = {random.floats(c.q), random.floats(c.k), random.floats(c.v)};
    const auto with = [&](Tensor mask) {
      return std::vector<Tensor>{qkv[0], qkv[1], qkv[2], std::move(mask)};
    };
    check({}, with(with_masked_rows(random.floats({rows, keys}))));
    check({}, with(random.floats({rows, 1})));
    check({}, with(random.floats({keys})));
    check({}, with(random.integers<bool>({rows, keys}, 0, 1)));
    check({}, with(random.integers<bool>({rows, 1}, 0, 1)));
  }
}

TEST(AttentionKernel, ReadsHeadsWhereTheyLie) {
  RandomTensors random(3);
  const Shape shape = {2, 3, 10, 8};
  const std::int64_t heads_inside[] = {0, 2, 1, 3};
  const std::vector<Tensor> inputs = {random.floats(shape), random.floats(shape),
                                      random.floats(shape)};
  const Layout layout = Layout::permuted(shape, heads_inside);
  check({}, inputs, layout);
  check({}, inputs, Layout::channels_last(shape));
}

TEST(AttentionKernel, NanSpreadsOverItsRowOnly) {
  RandomTensors random(4);
  Tensor q = random.floats({1, 3, 4});
  reinterpret_cast<float*>(q.mutable_data())[5] = std::numeric_limits<float>::quiet_NaN();
  const SelectedRun got =
      run_selected(Attention{}, {q, random.floats({1, 9, 4}), random.floats({1, 9, 2})});
  const auto y = values<float>(got.outputs[0]);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 2 == 1) << i;
}

}  // namespace
}  // namespace quern::testing
