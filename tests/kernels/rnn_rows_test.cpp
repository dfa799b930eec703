// SPDX-License-Identifier: Apache-2.0
// The fast LSTM and GRU against the reference.
#include "graph/ops/recurrent.h"
#include "graph/ops/unary.h"
#include "tests/kernels/kernel_test.h"

namespace quern::testing {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;
using ::testing::StartsWith;

struct RnnCase {
  std::int64_t steps, batch, input, hidden;
};
const RnnCase rnn_cases[] = {
    {1, 1, 257, 128}, {7, 1, 5, 3}, {5, 3, 20, 16}, {9, 8, 33, 40}, {4, 2, 1, 1}, {200, 1, 64, 30},
};

std::vector<Tensor> operands(const Rnn& op, const RnnCase& c, bool with_bias, bool with_states) {
  RandomTensors random(static_cast<unsigned>(c.steps * 100 + c.hidden));
  const std::int64_t d = op.direction == Direction::bidirectional ? 2 : 1;
  const std::int64_t rows = (op.kind == RnnKind::lstm ? 4 : 3) * c.hidden;
  const Shape state = op.batch_first ? Shape{c.batch, d, c.hidden} : Shape{d, c.batch, c.hidden};
  std::vector<Tensor> inputs = {random.floats(op.batch_first ? Shape{c.batch, c.steps, c.input}
                                                             : Shape{c.steps, c.batch, c.input}),
                                random.floats({d, rows, c.input}, -0.5f, 0.5f),
                                random.floats({d, rows, c.hidden}, -0.5f, 0.5f)};
  inputs.push_back(with_bias ? random.floats({d, 2 * rows}) : absent());
  if (!with_states) return inputs;
  inputs.push_back(absent());
  inputs.push_back(random.floats(state));
  if (op.kind == RnnKind::lstm) inputs.push_back(random.floats(state));
  return inputs;
}

void check(const Rnn& op, const RnnCase& c) {
  for (bool with_bias : {true, false})
    for (bool with_states : {true, false}) {
      const std::size_t outputs = op.kind == RnnKind::lstm ? 3 : 2;
      const auto inputs = operands(op, c, with_bias, with_states);
      const auto want = run_reference(op, inputs, outputs).value();
      std::vector<std::size_t> constants = {1, 2};
      if (with_bias) constants.push_back(3);
      const SelectedRun got = run_selected(op, inputs, constants, outputs);
      EXPECT_THAT(got.implementation, StartsWith("rows"));
      for (std::size_t i = 0; i < outputs; ++i)
        EXPECT_THAT(values<float>(got.outputs[i]),
                    Pointwise(FloatNear(5e-6f), values<float>(want[i])))
            << "output " << i << ", " << c.steps << " steps of " << c.batch << " by " << c.input
            << " to " << c.hidden;
    }
}

TEST(RnnKernel, IsCloseToTheReference) {
  for (Direction direction : {Direction::forward, Direction::reverse, Direction::bidirectional})
    for (bool batch_first : {false, true})
      for (const RnnCase& c : rnn_cases) {
        check({.kind = RnnKind::lstm, .direction = direction, .batch_first = batch_first}, c);
        for (bool before : {false, true})
          check({.kind = RnnKind::gru,
                 .direction = direction,
                 .linear_before_reset = before,
                 .batch_first = batch_first},
                c);
      }
}

TEST(RnnKernel, LeavesOtherFormsToTheReference) {
  const Rnn lstm;
  auto inputs = operands(lstm, {3, 2, 4, 5}, true, true);
  const auto implementation = [&](const Rnn& op, const std::vector<std::size_t>& constants) {
    return run_selected(op, inputs, constants, 2).implementation;
  };
  EXPECT_EQ(implementation(lstm, {1, 2}), "reference") << "the bias is no constant";
  EXPECT_EQ(implementation({.clip = 1}, {1, 2, 3}), "reference");
  EXPECT_EQ(implementation({.input_forget = true}, {1, 2, 3}), "reference");
  const Unary relu{.kind = UnaryKind::relu};
  EXPECT_EQ(implementation({.activations = {relu, relu, relu}}, {1, 2, 3}), "reference");
  inputs[4] = tensor<std::int32_t>({2}, {3, 1});
  EXPECT_EQ(implementation(lstm, {1, 2, 3}), "reference") << "lengths are given";
}

}  // namespace
}  // namespace quern::testing
