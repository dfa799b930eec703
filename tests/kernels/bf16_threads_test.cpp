// SPDX-License-Identifier: Apache-2.0
// Convolutions in bf16 have the same bits for any number of threads: a library that splits sums
// among threads is asked for with one. Where the CPU has no units for bf16 they are those in f32 of
// as many threads.
#include "engine/vocabulary/text_util.h"
#include "graph/ops/cast.h"
#include "graph/ops/conv.h"
#include "tests/kernels/sweep.h"

namespace quern::testing {
namespace {

Tensor as_bf16(const Tensor& t) {
  return run(Cast{.to = DType::bf16}, {t});
}

Tensor as_f32(const Tensor& t) {
  return run(Cast{.to = DType::f32}, {t});
}

SelectedRun answer(const Conv& conv, const std::vector<Tensor>& inputs, int threads) {
  return run_selected({.op = conv, .inputs = inputs, .constants = {1}, .threads = threads});
}

void expect_same_bits(Conv conv, const std::vector<Tensor>& inputs, const std::string& text) {
  conv.f32_result = true;
  const SelectedRun one = answer(conv, inputs, 1);
  for (const int threads : {2, 3, 8}) {
    const SelectedRun several = answer(conv, inputs, threads);
    Tensor wanted = one.outputs[0];
    if (several.implementation.ends_with(" widened")) {
      conv.f32_result = false;
      wanted = answer(conv, {as_f32(inputs[0]), as_f32(inputs[1]), inputs[2]}, threads).outputs[0];
      conv.f32_result = true;
    }
    EXPECT_TRUE(same_bytes(wanted, several.outputs[0]))
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
    expect_same_bits(Conv{.window = {.pads = {k / 2, k / 2, k / 2, k / 2}}},
                     {as_bf16(random.floats(x)), as_bf16(random.floats(w)), absent()},
                     cat(x.text(), " by ", w.text()));
  });
}

}  // namespace
}  // namespace quern::testing
