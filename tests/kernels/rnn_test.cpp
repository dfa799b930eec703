// SPDX-License-Identifier: Apache-2.0
// With the identity as activation the equations are plain arithmetic.
#include "graph/ops/recurrent.h"
#include "graph/ops/unary.h"
#include "tests/expect.h"
#include "tests/kernels/spatial_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

const Unary identity{.kind = UnaryKind::affine, .alpha = 1};

// One hidden unit that adds up what it sees: h' = x + h / 2.
const Rnn adder{.kind = RnnKind::rnn, .hidden_size = 1, .activations = {identity}};
Tensor one(std::initializer_list<float> v) {
  return tensor<float>({1, static_cast<std::int64_t>(v.size()), 1}, v);
}
Tensor sequence(std::initializer_list<float> v) {
  return tensor<float>({static_cast<std::int64_t>(v.size()), 1, 1}, v);
}
std::vector<Tensor> run_rnn(const Rnn& op, const std::vector<Tensor>& inputs,
                            std::size_t outputs = 2) {
  auto r = run_reference(op, inputs, outputs);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? std::move(*r) : std::vector<Tensor>(outputs);
}

TEST(Rnn, StepsThroughTheSequence) {
  const auto y = run_rnn(adder, {sequence({1, 2, 3}), one({1}), one({0.5f})});
  EXPECT_EQ(y[0].shape(), (Shape{3, 1, 1, 1}));
  EXPECT_ELEMENTS(values<float>(y[0]), 1, 2.5f, 4.25f);
  EXPECT_EQ(y[1].shape(), (Shape{1, 1, 1}));
  EXPECT_ELEMENTS(values<float>(y[1]), 4.25f);
}

TEST(Rnn, BiasesAndInitialState) {
  const auto y = run_rnn(adder, {sequence({1, 2}), one({1}), one({0.5f}),
                                 tensor<float>({1, 2}, {10, 100}), absent(), one({4})});
  EXPECT_ELEMENTS(values<float>(y[0]), 113, 168.5f);
}

TEST(Rnn, Reverse) {
  Rnn op = adder;
  op.direction = Direction::reverse;
  const auto y = run_rnn(op, {sequence({1, 2, 3}), one({1}), one({0.5f})});
  EXPECT_ELEMENTS(values<float>(y[0]), 2.75f, 3.5f, 3);
  EXPECT_ELEMENTS(values<float>(y[1]), 2.75f);
}

TEST(Rnn, Bidirectional) {
  Rnn op = adder;
  op.direction = Direction::bidirectional;
  op.activations = {identity, {.kind = UnaryKind::affine, .alpha = -1}};
  const Tensor w = tensor<float>({2, 1, 1}, {1, 10});
  const auto y = run_rnn(op, {sequence({1, 2}), w, tensor<float>({2, 1, 1}, {0.5f, 0})});
  EXPECT_EQ(y[0].shape(), (Shape{2, 2, 1, 1}));
  EXPECT_ELEMENTS(values<float>(y[0]), 1, -10, 2.5f, -20);
  EXPECT_ELEMENTS(values<float>(y[1]), 2.5f, -10);
}

TEST(Rnn, SequenceLengths) {
  Rnn op = adder;
  op.direction = Direction::bidirectional;
  op.activations = {identity, identity};
  const Tensor ones = tensor<float>({2, 1, 1}, {1, 1});
  // Three steps of two sequences, the second of length 2, a third of none.
  const Tensor x = tensor<float>({3, 3, 1}, {1, 10, nan, 2, 20, nan, 3, nan, nan});
  const Tensor h = tensor<float>({2, 3, 1}, {0, 0, 7, 0, 0, 8});
  const auto y = run_rnn(op, {x, ones, ones, absent(), tensor<std::int32_t>({3}, {3, 2, 0}), h});
  EXPECT_ELEMENTS(values<float>(y[0]), 1, 10, 0, 6, 30, 0,  //
                  3, 30, 0, 5, 20, 0,                       //
                  6, 0, 0, 3, 0, 0);
  EXPECT_ELEMENTS(values<float>(y[1]), 6, 30, 7, 6, 30, 8);
}

TEST(Rnn, BatchFirst) {
  Rnn op = adder;
  op.direction = Direction::bidirectional;
  op.activations = {identity, identity};
  op.batch_first = true;
  const Tensor ones = tensor<float>({2, 1, 1}, {1, 1});
  const Tensor x = tensor<float>({2, 3, 1}, {1, 2, 3, 10, 20, 30});
  const auto y =
      run_rnn(op, {x, ones, ones, absent(), absent(), tensor<float>({2, 2, 1}, {0, 1, 2, 3})});
  EXPECT_EQ(y[0].shape(), (Shape{2, 3, 2, 1}));
  EXPECT_ELEMENTS(values<float>(y[0]), 1, 7, 3, 6, 6, 4, 12, 63, 32, 53, 62, 33);
  EXPECT_EQ(y[1].shape(), (Shape{2, 2, 1}));
  EXPECT_ELEMENTS(values<float>(y[1]), 6, 7, 62, 63);
}

TEST(Rnn, ClipBoundsWhatIsActivated) {
  Rnn op = adder;
  op.clip = 2;
  EXPECT_ELEMENTS(values<float>(run_rnn(op, {sequence({1, 5, -9}), one({1}), one({0.5f})})[0]), 1,
                  2, -2);
}

TEST(Rnn, DefaultActivations) {
  const Rnn rnn{.kind = RnnKind::rnn, .hidden_size = 1};
  EXPECT_THAT(values<float>(run_rnn(rnn, {sequence({1}), one({1}), one({0})})[0]),
              ElementsAre(FloatNear(std::tanh(1.0f), 1e-6f)));
  // All weights 0: sigmoid(0) = 1/2 of everything.
  const Rnn gru{.kind = RnnKind::gru, .hidden_size = 1};
  EXPECT_ELEMENTS(values<float>(run_rnn(gru, {sequence({1}), one({0, 0, 0}), one({0, 0, 0}),
                                              absent(), absent(), one({8})})[0]),
                  4);
  const Rnn lstm{.kind = RnnKind::lstm, .hidden_size = 1};
  const auto y = run_rnn(
      lstm,
      {sequence({1}), one({0, 0, 0, 0}), one({0, 0, 0, 0}), absent(), absent(), absent(), one({1})},
      3);
  EXPECT_ELEMENTS(values<float>(y[2]), 0.5f);
  EXPECT_THAT(values<float>(y[0]), ElementsAre(FloatNear(0.5f * std::tanh(0.5f), 1e-6f)));
}

TEST(Rnn, SeveralUnitsAndInputs) {
  const Rnn op{.kind = RnnKind::rnn, .hidden_size = 2, .activations = {identity}};
  const Tensor x = tensor<float>({2, 1, 3}, {1, 2, 3, 0, 0, 0});
  const Tensor w = tensor<float>({1, 2, 3}, {1, 10, 100, -1, -10, -100});
  const Tensor r = tensor<float>({1, 2, 2}, {0, 1, 2, 0});  // swaps, doubling the first
  EXPECT_ELEMENTS(values<float>(run_rnn(op, {x, w, r})[0]), 321, -321, -321, 642);
}

// z = 2, r = 3, with h = 10: n = x + r h = 31 + bias, h' = (1 - z) n + z h.
TEST(Gru, Equations) {
  Rnn op{.kind = RnnKind::gru, .hidden_size = 1, .activations = {identity, identity}};
  const Tensor b = tensor<float>({1, 6}, {0, 0, 5, 0, 0, 7});
  const std::vector<Tensor> inputs = {sequence({1}), one({2, 3, 1}), one({0, 0, 1}), b,
                                      absent(),      one({10})};
  EXPECT_ELEMENTS(values<float>(run_rnn(op, inputs)[0]), -(1 + 5 + 30 + 7) + 20);
  op.linear_before_reset = true;
  EXPECT_ELEMENTS(values<float>(run_rnn(op, inputs)[0]), -(1 + 5 + 3 * (10 + 7)) + 20);
}

// i = 2, o = 3, f = 5, g = 7 with c = 10: c' = 50 + 14, h' = 3 * 64.
TEST(Lstm, Equations) {
  Rnn op{.kind = RnnKind::lstm, .hidden_size = 1, .activations = {identity, identity, identity}};
  std::vector<Tensor> inputs = {sequence({1}), one({2, 3, 5, 7}), one({0, 0, 0, 0}), absent(),
                                absent(),      absent(),          one({10})};
  auto y = run_rnn(op, inputs, 3);
  EXPECT_ELEMENTS(values<float>(y[2]), 64);
  EXPECT_ELEMENTS(values<float>(y[0]), 192);
  op.input_forget = true;  // f = 1 - i
  EXPECT_ELEMENTS(values<float>(run_rnn(op, inputs, 3)[2]), 4);
  op.input_forget = false;
  // Peepholes of i and f look at the old cell, that of o at the new one.
  inputs.push_back(tensor<float>({1, 3}, {0.1f, 1, 0.2f}));
  y = run_rnn(op, inputs, 3);
  EXPECT_THAT(values<float>(y[2]), ElementsAre(FloatNear((5 + 2) * 10 + (2 + 1) * 7, 1e-4f)));
  EXPECT_THAT(values<float>(y[0]), ElementsAre(FloatNear((3 + 91) * 91, 1e-2f)));
}

TEST(Lstm, GatesAreInOrderAndBiasesAreAdded) {
  const Rnn op{
      .kind = RnnKind::lstm, .hidden_size = 1, .activations = {identity, identity, identity}};
  const Tensor b = tensor<float>({1, 8}, {1, 2, 3, 4, 10, 20, 30, 40});
  const auto y = run_rnn(op, {sequence({0}), one({9, 9, 9, 9}), one({9, 9, 9, 9}), b}, 3);
  EXPECT_ELEMENTS(values<float>(y[2]), 11 * 44);
  EXPECT_ELEMENTS(values<float>(y[1]), 22 * 11 * 44);
}

TEST(Rnn, OutputsNobodyWantsAreLeftAlone) {
  const Op op = adder;
  const Tensor x = sequence({1, 2, 3});
  const Tensor w = one({1});
  const std::vector<TensorView> inputs = {x.view(), w.view(), w.view()};
  Tensor h = Tensor::zeros({DType::f32, {1, 1, 1}}).value();
  std::vector<MutableTensorView> outputs = {{{DType::f32, {3, 1, 1, 1}}, nullptr},
                                            {h.type(), h.mutable_data()}};
  alignas(64) std::byte memory[64];
  Scratch scratch(memory, sizeof memory);
  StringPool strings;
  ASSERT_TRUE(Rnn::kernels().reference.run({op, inputs, outputs, scratch, strings}).ok());
  EXPECT_ELEMENTS(values<float>(h), 6);
}

TEST(Rnn, NarrowFloatsKeepTheirStateWide) {
  Rnn op = adder;
  const Tensor x = tensor<Half>({3, 1, 1}, {Half(2048.0f), Half(1.0f), Half(1.0f)});
  const Tensor w = tensor<Half>({1, 1, 1}, {Half(1.0f)});
  EXPECT_EQ(static_cast<float>(values<Half>(run_rnn(op, {x, w, w})[1])[0]), 2050);
}

TEST(Rnn, EmptyTensors) {
  EXPECT_EQ(run_rnn(adder, {tensor<float>({0, 1, 1}, {}), one({1}), one({1}), absent(), absent(),
                            one({3})})[0]
                .shape(),
            (Shape{0, 1, 1, 1}));
  EXPECT_ELEMENTS(values<float>(run_rnn(adder, {tensor<float>({0, 1, 1}, {}), one({1}), one({1}),
                                                absent(), absent(), one({3})})[1]),
                  3);
  EXPECT_ELEMENTS(
      (values<float>(run_rnn(adder, {tensor<float>({2, 1, 0}, {}), tensor<float>({1, 1, 0}, {}),
                                     one({2}), absent(), absent(), one({3})})[0])),
      6, 12);
  EXPECT_EQ(run_rnn(adder, {tensor<float>({2, 0, 1}, {}), one({1}), one({1})})[0].shape(),
            (Shape{2, 1, 0, 1}));
}

TEST(Rnn, InfersWhatItCan) {
  const Dim t = Dim::symbol(0);
  const Dim n = Dim::symbol(1);
  const Rnn op{.kind = RnnKind::lstm, .direction = Direction::bidirectional, .hidden_size = 8};
  EXPECT_EQ(dims_of(op, {f32({t, n, 4}), unranked(), unranked()}), (Dims{t, 2, n, 8}));
  EXPECT_EQ(dims_of(op, {f32({t, n, 4}), unranked(), unranked()}, 2), (Dims{2, n, 8}));
  EXPECT_EQ(dims_of(Rnn{.batch_first = true}, {f32({n, t, 4}), unranked(), f32({1, 32, 8})}),
            (Dims{n, t, 1, 8}));
  EXPECT_EQ(dims_of(op, {unranked(), unranked(), unranked()}), (Dims{Dim(), 2, Dim(), 8}));
}

TEST(Rnn, RefusesWhatDoesNotFit) {
  const Tensor x = sequence({1, 2});
  const Tensor w = one({1});
  EXPECT_CONTAINS(error_of(adder, {x, one({1, 1}), w}),
                  "input 1 (f32[1,2,1]) does not fit, wants f32[1,1,1]");
  EXPECT_CONTAINS(error_of(adder, {x, w, tensor<float>({1, 1, 2}, {0, 0})}), "input 2");
  EXPECT_CONTAINS(error_of(adder, {x, w, w, tensor<float>({1, 1}, {0})}), "input 3");
  EXPECT_CONTAINS(error_of(adder, {x, w, w, absent(), tensor<std::int32_t>({2}, {1, 1})}),
                  "input 4");
  EXPECT_CONTAINS(error_of(adder, {x, w, w, absent(), tensor<float>({1}, {1})}), "must be i32");
  EXPECT_CONTAINS(error_of(adder, {x, w, w, absent(), tensor<std::int32_t>({1}, {3})}),
                  "sequence 0 has the length 3 of 2");
  EXPECT_CONTAINS(error_of(adder, {x, w, w, absent(), tensor<std::int32_t>({1}, {-1})}),
                  "length -1");
  EXPECT_CONTAINS(error_of(adder, {x, w, w}, 3), "rnn has no cell state");
  EXPECT_CONTAINS(error_of(Rnn{.kind = RnnKind::gru, .hidden_size = 1, .activations = {identity}},
                           {x, one({1, 1, 1}), one({1, 1, 1})}),
                  "has 1 activations, wants 2");
  EXPECT_CONTAINS(
      error_of(Rnn{.kind = RnnKind::rnn, .activations = {{.kind = UnaryKind::is_nan}}}, {x, w, w}),
      "is_nan");
  EXPECT_CONTAINS(error_of(Rnn{.kind = RnnKind::rnn, .hidden_size = -1}, {x, w, w}),
                  "hidden_size is -1");
}

TEST(Rnn, Cost) {
  EXPECT_EQ(cost(Rnn{.kind = RnnKind::lstm},
                 {{DType::f32, {5, 2, 3}}, {DType::f32, {1, 16, 3}}, {DType::f32, {1, 16, 4}}}, {})
                .flops,
            2.0 * 10 * (48 + 64));
}

}  // namespace
}  // namespace quern::testing
