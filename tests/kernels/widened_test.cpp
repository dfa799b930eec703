// SPDX-License-Identifier: Apache-2.0
// Products of 16-bit floats, by whatever kernel is chosen for them and by that for f32 with casts
// around it, against the reference.
#include "kernels/cpu/widened.h"

#include <cmath>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/binary.h"
#include "graph/ops/cast.h"
#include "graph/ops/unary.h"
#include "kernels/contract/machine.h"
#include "tests/graph/named_op.h"
#include "tests/kernels/kernel_test.h"

namespace quern::testing {
namespace {

Tensor in(DType type, const Tensor& t) {
  return run(Cast{.to = type}, {t});
}
Tensor wide(const Tensor& t) {
  return in(DType::f32, t);
}

// A result may be rounded to the number beside the right one, a sum before it in f32.
void expect_neighbours(const Tensor& got, const Tensor& want, double sizes,
                       const std::string& text) {
  ASSERT_EQ(got.type(), want.type()) << text;
  const double step = want.dtype() == DType::bf16  ? 0x1p-7
                      : want.dtype() == DType::f16 ? 0x1p-10
                                                   : 0;
  const Tensor g = wide(got);
  const Tensor w = wide(want);
  for (std::size_t i = 0; i < w.span<float>().size(); ++i) {
    const double expected = w.span<float>()[i];
    EXPECT_NEAR(g.span<float>()[i], expected, step * std::fabs(expected) + 1e-5 * sizes)
        << text << ", element " << i;
  }
}

struct Case16 {
  std::string text;
  Op op, f32_result;
  Shape x, w;
  bool has_bias = false;
};

std::vector<Case16> cases() {
  const auto of = [](const char* name, const char* text, const Shape& x, const Shape& w,
                     const char* attributes) {
    return Case16{
        text, named(name, attributes),         named(name, cat(attributes, " f32_result=true")), x,
        w,    std::string_view(name) == "Conv"};
  };
  return {of("Conv", "channels", {2, 32, 9, 7}, {48, 32, 3, 3}, "pads=[1,1,1,1]"),
          of("Conv", "1x1", {1, 64, 14, 14}, {32, 64, 1, 1}, ""),
          of("Conv", "few channels", {1, 3, 20, 20}, {16, 3, 3, 3}, "strides=[2,2]"),
          of("Conv", "groups", {1, 32, 6, 6}, {32, 16, 3, 3}, "group=2"),
          of("Conv", "depthwise", {1, 16, 8, 8}, {16, 1, 3, 3}, "pads=[1,1,1,1] group=16"),
          of("Conv", "padding alone", {1, 16, 3, 3}, {16, 16, 1, 1}, "pads=[2,2,2,2]"),
          of("Conv", "1-D", {1, 20, 40}, {24, 20, 5}, "dilations=[2]"),
          of("MatMul", "rows", {33, 64}, {64, 48}, ""),
          of("MatMul", "one row", {1, 96}, {96, 33}, "alpha=0.5"),
          of("MatMul", "batch", {2, 3, 17, 32}, {32, 16}, ""),
          of("MatMul", "transposed", {20, 32}, {40, 32}, "transpose_b=true")};
}

// relu, then a residual.
const PostOps chain = {Unary{UnaryKind::relu}, BinaryPostOp{BinaryKind::add, 0, false}};

Tensor with_post_ops(Tensor sum, std::size_t count, const Tensor& residual) {
  if (count > 0) sum = run(Unary{UnaryKind::relu}, {sum});
  if (count > 1) sum = run(Binary{BinaryKind::add}, {sum, wide(residual)});
  return sum;
}

void expect_like_reference(const Case16& c, const Op& op, DType type, bool weights_known,
                           Selection (*select)(const KernelRequest&)) {
  RandomTensors random(static_cast<unsigned>(c.x.elements() + c.w.elements()));
  const bool to_f32 = op == c.f32_result;
  std::vector<Tensor> inputs = {in(type, random.floats(c.x)), in(type, random.floats(c.w))};
  if (c.has_bias) inputs.push_back(in(to_f32 ? DType::f32 : type, random.floats({c.w[0]})));
  std::vector<Tensor> for_f32 = inputs;
  if (c.has_bias) for_f32[2] = wide(inputs[2]);
  const Tensor sum = run(c.f32_result, for_f32);
  const DType result = to_f32 ? DType::f32 : type;
  const std::vector<Tensor> operands = {in(result, random.floats(sum.shape()))};
  for (const bool with_chain : {false, true}) {
    SelectedCase asked{.op = op, .inputs = inputs, .select = select};
    if (weights_known) asked.constants = {1};
    if (with_chain) {
      asked.post_ops = chain;
      asked.operands = operands;
      asked.dying = {inputs.size()};
    }
    const SelectedRun got = run_selected(asked);
    const std::string text = cat(c.text, " of ", name_of(type), to_f32 ? " to f32" : "", " by ",
                                 got.implementation, with_chain ? " with a chain" : "");
    ASSERT_FALSE(got.outputs.empty()) << text;
    // Without oneDNN, convolutions by weights that a run brings are the reference's.
    if (weights_known || kernel_machine().onednn != "none") {
      EXPECT_EQ(got.implementation.find("reference"), std::string::npos) << text;
    }
    const Tensor want = in(result, with_post_ops(sum, got.post_ops_taken, operands[0]));
    expect_neighbours(got.outputs[0], want, std::sqrt(static_cast<double>(c.w.elements())), text);
  }
}

TEST(Products16, AreThoseOfTheReference) {
  for (const Case16& c : cases())
    for (const DType type : {DType::bf16, DType::f16})
      for (const bool known : {true, false}) {
        expect_like_reference(c, c.op, type, known, nullptr);
        expect_like_reference(c, c.f32_result, type, known, nullptr);
      }
}

TEST(Products16, AreThoseOfTheReferenceByTheKernelForF32) {
  for (const Case16& c : cases())
    for (const DType type : {DType::bf16, DType::f16}) {
      expect_like_reference(c, c.op, type, true, select_widened);
      expect_like_reference(c, c.f32_result, type, false, select_widened);
    }
}

TEST(Products16, OfF32AreNotWidened) {
  RandomTensors random(3);
  const std::vector<Tensor> inputs = {random.floats({4, 8}), random.floats({8, 4})};
  const Op op = named("MatMul", "");
  EXPECT_EQ(run_selected({.op = op, .inputs = inputs, .select = select_widened}).implementation,
            "");
}

}  // namespace
}  // namespace quern::testing
