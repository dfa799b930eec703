// SPDX-License-Identifier: Apache-2.0
// com.microsoft AttnLSTM against plain loops over its equations.
#include <algorithm>
#include <cmath>

#include "tests/engine/one_operator.h"

namespace quern::onnx_test {
namespace {

using quern::testing::answer;
using quern::testing::expect_values;
using quern::testing::Fed;
using quern::testing::inputs_of;
using quern::testing::model_of;
using quern::testing::OneOperator;
using quern::testing::pattern;
using quern::testing::tensor;
using ::testing::HasSubstr;

using Row = std::vector<double>;

struct AttentiveLstm {
  static constexpr std::int64_t steps = 4, batch = 2, width = 3, hidden = 2, memory = 3, depth = 2,
                                inner = 3;
  std::int64_t directions = 1;
  bool reverse = false;    // the only direction
  std::int64_t mixed = 0;  // the width of the attention layer; 0: none
  std::vector<std::int32_t> lengths;
  std::vector<std::int32_t> memory_lengths;
  bool has_more = false;  // a bias, peepholes and initial states
  double clip = 0;
  bool couples = false;

  std::int64_t state() const { return mixed > 0 ? mixed : depth; }
  Tensor x = pattern({steps, batch, width}, 1);
  Tensor m = pattern({batch, memory, depth}, 2);
  Tensor w() const { return pattern({directions, 4 * hidden, width + state()}, 3); }
  Tensor r() const { return pattern({directions, 4 * hidden, hidden}, 4); }
  Tensor b() const { return pattern({directions, 8 * hidden}, 5); }
  Tensor h0() const { return pattern({directions, batch, hidden}, 6); }
  Tensor c0() const { return pattern({directions, batch, hidden}, 7); }
  Tensor p() const { return pattern({directions, 3 * hidden}, 8); }
  Tensor qw() const { return pattern({directions, hidden, inner}, 9); }
  Tensor mw() const { return pattern({directions, depth, inner}, 10); }
  Tensor v() const { return pattern({directions, inner}, 11); }
  Tensor aw() const {
    return pattern({directions, hidden + depth, std::max<std::int64_t>(mixed, 1)}, 12);
  }

  static double at(const Tensor& t, std::int64_t i) {
    return t.span<float>()[static_cast<std::size_t>(i)];
  }

  // What a hidden state attends to in the memory of sequence s, in direction d.
  Row attended(std::int64_t d, std::int64_t s, const Row& h) const {
    const std::int64_t seen =
        memory_lengths.empty() ? memory : memory_lengths[static_cast<std::size_t>(s)];
    Row shares;
    double sum = 0;
    for (std::int64_t k = 0; k < seen; ++k) {
      double score = 0;
      for (std::int64_t t = 0; t < inner; ++t) {
        double z = 0;
        for (std::int64_t j = 0; j < hidden; ++j)
          z += h[static_cast<std::size_t>(j)] * at(qw(), (d * hidden + j) * inner + t);
        for (std::int64_t j = 0; j < depth; ++j)
          z += at(m, (s * memory + k) * depth + j) * at(mw(), (d * depth + j) * inner + t);
        score += at(v(), d * inner + t) * std::tanh(z);
      }
      shares.push_back(std::exp(score));
      sum += shares.back();
    }
    Row context(depth, 0);
    for (std::int64_t k = 0; k < seen; ++k)
      for (std::int64_t j = 0; j < depth; ++j)
        context[static_cast<std::size_t>(j)] +=
            shares[static_cast<std::size_t>(k)] / sum * at(m, (s * memory + k) * depth + j);
    if (mixed == 0) return context;
    Row both = h, y(static_cast<std::size_t>(mixed), 0);
    both.insert(both.end(), context.begin(), context.end());
    for (std::size_t j = 0; j < both.size(); ++j)
      for (std::int64_t o = 0; o < mixed; ++o)
        y[static_cast<std::size_t>(o)] +=
            both[j] * at(aw(), (d * (hidden + depth) + static_cast<std::int64_t>(j)) * mixed + o);
    return y;
  }

  double clipped(double z) const { return clip > 0 ? std::clamp(z, -clip, clip) : z; }
  static double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

  // One step of sequence s at its input `at_step`.
  void advance(std::int64_t d, std::int64_t s, std::int64_t at_step, Row& h, Row& c,
               const Row& a) const {
    const auto gate = [&](std::int64_t g, std::int64_t j) {
      const std::int64_t row = g * hidden + j;
      double z = 0;
      for (std::int64_t i = 0; i < width; ++i)
        z += at(x, (at_step * batch + s) * width + i) *
             at(w(), (d * 4 * hidden + row) * (width + state()) + i);
      for (std::int64_t i = 0; i < state(); ++i)
        z += a[static_cast<std::size_t>(i)] *
             at(w(), (d * 4 * hidden + row) * (width + state()) + width + i);
      for (std::int64_t i = 0; i < hidden; ++i)
        z += h[static_cast<std::size_t>(i)] * at(r(), (d * 4 * hidden + row) * hidden + i);
      if (has_more) z += at(b(), d * 8 * hidden + row) + at(b(), d * 8 * hidden + 4 * hidden + row);
      return z;
    };
    const auto peep = [&](std::int64_t g, std::int64_t j, double cell) {
      return has_more ? at(p(), (d * 3 + g) * hidden + j) * cell : 0;
    };
    Row next_h, next_c;
    for (std::int64_t j = 0; j < hidden; ++j) {
      const double cell = c[static_cast<std::size_t>(j)];
      const double i = sigmoid(clipped(gate(0, j) + peep(0, j, cell)));
      const double f = couples ? 1 - i : sigmoid(clipped(gate(2, j) + peep(2, j, cell)));
      next_c.push_back(f * cell + i * std::tanh(clipped(gate(3, j))));
      const double o = sigmoid(clipped(gate(1, j) + peep(1, j, next_c.back())));
      next_h.push_back(o * std::tanh(next_c.back()));
    }
    h = next_h;
    c = next_c;
  }

  std::vector<std::vector<float>> results() const {
    std::vector<std::vector<float>> y(3);
    y[0].resize(static_cast<std::size_t>(steps * directions * batch * hidden), 0);
    for (std::int64_t d = 0; d < directions; ++d)
      for (std::int64_t s = 0; s < batch; ++s) {
        const std::int64_t own = lengths.empty() ? steps : lengths[static_cast<std::size_t>(s)];
        Row h, c, a(static_cast<std::size_t>(state()), 0);
        for (std::int64_t j = 0; j < hidden; ++j) {
          h.push_back(has_more ? at(h0(), (d * batch + s) * hidden + j) : 0);
          c.push_back(has_more ? at(c0(), (d * batch + s) * hidden + j) : 0);
        }
        for (std::int64_t t = 0; t < own; ++t) {
          const std::int64_t at_step = reverse || d == 1 ? own - 1 - t : t;
          advance(d, s, at_step, h, c, a);
          a = attended(d, s, h);
          for (std::int64_t j = 0; j < hidden; ++j)
            y[0][static_cast<std::size_t>(((at_step * directions + d) * batch + s) * hidden + j)] =
                static_cast<float>(h[static_cast<std::size_t>(j)]);
        }
        y[1].insert(y[1].end(), h.begin(), h.end());
        y[2].insert(y[2].end(), c.begin(), c.end());
      }
    return y;
  }

  OneOperator model() const {
    const auto list = [](const std::vector<std::int32_t>& v) {
      if (v.empty()) return Fed{};
      const Shape shape{static_cast<std::int64_t>(v.size())};
      return Fed{Tensor::from_values<std::int32_t>(DType::i32, shape, v), i32};
    };
    OneOperator op{.op = "AttnLSTM",
                   .attributes = {integer("hidden_size", hidden),
                                  word("direction", directions == 2 ? "bidirectional"
                                                    : reverse       ? "reverse"
                                                                    : "forward")},
                   .outputs = 3};
    if (clip > 0) op.attributes.push_back(number("clip", static_cast<float>(clip)));
    if (couples) op.attributes.push_back(integer("input_forget", 1));
    op.fed = {{x},    {w()},  {r()}, {},  list(lengths),       {}, {}, {},
              {qw()}, {mw()}, {v()}, {m}, list(memory_lengths)};
    if (has_more) {
      op.fed[3] = {b()};
      op.fed[5] = {h0()};
      op.fed[6] = {c0()};
      op.fed[7] = {p()};
    }
    if (mixed > 0) op.fed.push_back({aw()});
    return op;
  }

  void check() const { expect_values(model(), results()); }
};

TEST(AttnLstm, AttendsToAMemory) {
  AttentiveLstm{}.check();
  AttentiveLstm{.memory_lengths = {2, 3}}.check();
  AttentiveLstm{.mixed = 4}.check();
  AttentiveLstm{.lengths = {3, 1}}.check();
}

TEST(AttnLstm, GoesBackAndBothWays) {
  AttentiveLstm{.reverse = true}.check();
  AttentiveLstm{.reverse = true, .lengths = {2, 4}}.check();
  AttentiveLstm{.directions = 2, .mixed = 3, .lengths = {4, 2}, .memory_lengths = {1, 3}}.check();
}

TEST(AttnLstm, HasABiasPeepholesAndStates) {
  AttentiveLstm{.has_more = true}.check();
  AttentiveLstm{.directions = 2, .has_more = true, .clip = 0.2}.check();
  AttentiveLstm{.mixed = 2, .has_more = true, .couples = true}.check();
}

TEST(AttnLstm, WhatDoesNotFitIsAnErrorInWords) {
  const auto error = [](const OneOperator& op) { return answer(model_of(op), inputs_of(op), {}); };
  OneOperator op = AttentiveLstm{}.model();
  op.fed[9] = {};
  EXPECT_THAT(error(op), HasSubstr("input 9 is left out"));
  op = AttentiveLstm{.memory_lengths = {0, 3}}.model();
  EXPECT_THAT(error(op), HasSubstr("memory_seq_lens is 0, wants 1 to 3"));
  op = AttentiveLstm{.directions = 2}.model();
  op.attributes[1] = word("direction", "forward");
  EXPECT_THAT(error(op), HasSubstr("weights of 2 directions, wants 1"));
  op = AttentiveLstm{}.model();
  op.attributes.push_back(attribute("activations", 8).text(9, "Softmax"));
  EXPECT_THAT(error(op), HasSubstr("activation 'Softmax' is not supported"));
  op = AttentiveLstm{}.model();
  op.attributes[0] = integer("hidden_size", 1LL << 40);
  EXPECT_THAT(error(op), HasSubstr("'hidden_size' is 1099511627776"));
  op = AttentiveLstm{}.model();
  op.attributes[0] = integer("hidden_size", 3);
  EXPECT_THAT(error(op), HasSubstr("error: "));
  op = AttentiveLstm{}.model();
  op.fed[10] = {pattern({3}, 1)};
  EXPECT_THAT(error(op), HasSubstr("input 10 wants rank 2"));
}

}  // namespace
}  // namespace quern::onnx_test
