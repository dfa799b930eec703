// SPDX-License-Identifier: Apache-2.0
// Products in bf16 have the same bits for any number of threads, as those in f32 have: a library
// that splits sums among threads is asked for with one.
#include "engine/vocabulary/text_util.h"
#include "graph/ops/cast.h"
#include "graph/ops/conv.h"
#include "tests/kernels/sweep.h"

namespace quern::testing {
namespace {

Tensor bf16(const Tensor& t) {
  return run(Cast{.to = DType::bf16}, {t});
}

void expect_same_bits(const Op& op, const std::vector<Tensor>& inputs, const std::string& text) {
  const auto answer = [&](int threads) {
    return run_selected({.op = op, .inputs = inputs, .constants = {1}, .threads = threads});
  };
  const SelectedRun one = answer(1);
  for (const int threads : {2, 3, 8}) {
    const SelectedRun several = answer(threads);
    EXPECT_TRUE(same_bytes(one.outputs[0], several.outputs[0]))
        << text << " on " << threads << " threads by " << several.implementation;
  }
}

TEST(Bf16Threads, ChangeNoBitOfConvolutions) {
  static const std::vector<std::int64_t> channels = {3, 16, 64, 256, 512, 2048};
  static const std::vector<std::int64_t> sides = {1, 3, 7, 14, 28};
  static const std::vector<std::int64_t> kernels = {1, 3};
  RandomTensors random(2);
  sweep(60, [&](Point& point) {
    const std::int64_t in = point.of(channels);
    const std::int64_t out = std::max<std::int64_t>(point.of(channels) / 8, 16);
    const std::int64_t side = point.of(sides);
    const std::int64_t k = side > 1 ? point.of(kernels) : 1;
    const Shape x = {1, in, side, side};
    const Shape w = {out, in, k, k};
    expect_same_bits(Conv{.window = {.pads = {k / 2, k / 2, k / 2, k / 2}}, .f32_result = true},
                     {bf16(random.floats(x)), bf16(random.floats(w)), absent()},
                     cat(x.text(), " by ", w.text()));
  });
}

}  // namespace
}  // namespace quern::testing
