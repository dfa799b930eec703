// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM over balls: the states carry their bounds from step to step. The formulas are
// those on top of kernels/reference/rnn.cpp.
#include <cmath>

#include "graph/ops/recurrent.h"
#include "graph/ops/unary_kind.h"
#include "tools/oracle/rules.h"

namespace quern::tools::rules {
namespace {

enum Input : std::size_t { in_x, in_w, in_r, in_b, in_lengths, in_h, in_c, in_p };
using Balls = std::vector<Ball>;

class Cell {
 public:
  Cell(const Rnn& op, const Evaluated& e, std::size_t direction)
      : op_(op),
        e_(e),
        r_(e.rounding()),
        input_(static_cast<std::size_t>(e.in[in_x]->value.shape()[2])),
        hidden_(static_cast<std::size_t>(e.in[in_r]->value.shape()[2])),
        gates_(op.kind == RnnKind::rnn   ? 1
               : op.kind == RnnKind::gru ? 3
                                         : 4),
        direction_(direction) {}

  Balls h, c;

  void step(std::size_t x) {
    Balls next(hidden_);
    switch (op_.kind) {
      case RnnKind::rnn:
        for (std::size_t j = 0; j < hidden_; ++j) next[j] = clipped(0, gate(x, h, 0, j));
        break;
      case RnnKind::gru: step_gru(x, next); break;
      case RnnKind::lstm: step_lstm(x, next); break;
    }
    h = std::move(next);
  }

 private:
  Ball part(Input i, std::size_t size, std::size_t at) const {
    return e_.has(i) ? e_.in[i]->at(direction_ * size + at) : Ball{};
  }
  void from_input(Sum& sum, std::size_t x, std::size_t g, std::size_t j) const {
    const std::size_t row = g * hidden_ + j;
    sum.add(part(in_b, 2 * gates_ * hidden_, row));
    for (std::size_t i = 0; i < input_; ++i)
      sum.add_product(part(in_w, gates_ * hidden_ * input_, row * input_ + i),
                      e_.in[in_x]->at(x + i));
  }
  void from_state(Sum& sum, const Balls& state, std::size_t g, std::size_t j) const {
    const std::size_t row = g * hidden_ + j;
    sum.add(part(in_b, 2 * gates_ * hidden_, gates_ * hidden_ + row));
    for (std::size_t i = 0; i < hidden_; ++i)
      sum.add_product(part(in_r, gates_ * hidden_ * hidden_, row * hidden_ + i), state[i]);
  }
  Ball total(const Sum& sum) const { return sum.total(r_, folded_roundings); }
  Ball gate(std::size_t x, const Balls& state, std::size_t g, std::size_t j) const {
    Sum sum;
    from_input(sum, x, g, j);
    from_state(sum, state, g, j);
    return total(sum);
  }
  Ball peephole(std::size_t g, std::size_t j, Ball cell, Ball sum) const {
    return e_.has(in_p) ? r_.add(sum, r_.mul(part(in_p, 3 * hidden_, g * hidden_ + j), cell)) : sum;
  }
  Ball apply(std::size_t k, Ball v) const {
    const std::size_t each = op_.kind == RnnKind::rnn ? 1 : op_.kind == RnnKind::gru ? 2 : 3;
    if (!op_.activations.empty()) return r_.unary(op_.activations[direction_ * each + k], v);
    const bool is_sigmoid = op_.kind != RnnKind::rnn && k == 0;
    return r_.unary({.kind = is_sigmoid ? UnaryKind::sigmoid : UnaryKind::tanh}, v);
  }
  Ball clipped(std::size_t k, Ball v) const {
    const double limit = static_cast<double>(op_.clip);
    if (limit > 0) v = r_.unary({.kind = UnaryKind::clip, .alpha = -limit, .beta = limit}, v);
    return apply(k, v);
  }
  Ball one_minus(Ball v) const { return r_.sub({1, 0}, v); }

  void step_gru(std::size_t x, Balls& next) const {
    Balls reset(hidden_);
    for (std::size_t j = 0; j < hidden_; ++j) {
      reset[j] = clipped(0, gate(x, h, 1, j));
      if (!op_.linear_before_reset) reset[j] = r_.mul(reset[j], h[j]);
    }
    for (std::size_t j = 0; j < hidden_; ++j) {
      Sum input;
      Sum state;
      from_input(input, x, 2, j);
      from_state(state, op_.linear_before_reset ? h : reset, 2, j);
      Ball recurrent = total(state);
      if (op_.linear_before_reset) recurrent = r_.mul(reset[j], recurrent);
      const Ball n = clipped(1, r_.add(total(input), recurrent));
      const Ball z = clipped(0, gate(x, h, 0, j));
      next[j] = r_.add(r_.mul(one_minus(z), n), r_.mul(z, h[j]));
    }
  }
  void step_lstm(std::size_t x, Balls& next) {
    for (std::size_t j = 0; j < hidden_; ++j) {
      const Ball i = clipped(0, peephole(0, j, c[j], gate(x, h, 0, j)));
      const Ball f =
          op_.input_forget ? one_minus(i) : clipped(0, peephole(2, j, c[j], gate(x, h, 2, j)));
      c[j] = r_.add(r_.mul(f, c[j]), r_.mul(i, clipped(1, gate(x, h, 3, j))));
      const Ball o = clipped(0, peephole(1, j, c[j], gate(x, h, 1, j)));
      next[j] = r_.mul(o, apply(2, c[j]));
    }
  }

  const Rnn& op_;
  const Evaluated& e_;
  Rounding r_;
  std::size_t input_, hidden_, gates_, direction_;
};

Balls initial(const Evaluated& e, Input i, std::size_t at, std::size_t hidden) {
  Balls state(hidden);
  for (std::size_t j = 0; j < hidden && e.has(i); ++j) state[j] = e.in[i]->at(at * hidden + j);
  return state;
}

void store(Evaluated& e, std::size_t output, std::size_t at, const Balls& state) {
  if (output >= e.out.size()) return;
  for (std::size_t j = 0; j < state.size(); ++j)
    e.bound(output)[at * state.size() + j] = state[j].e;
}

}  // namespace

Status bound(const Rnn& op, Evaluated& e) {
  const Shape& x = e.in[in_x]->value.shape();
  const auto hidden = static_cast<std::size_t>(e.in[in_r]->value.shape()[2]);
  const auto steps = static_cast<std::size_t>(x[op.batch_first ? 1 : 0]);
  const auto batch = static_cast<std::size_t>(x[op.batch_first ? 0 : 1]);
  const std::size_t directions = op.direction == Direction::bidirectional ? 2 : 1;
  if (e.has(in_lengths) && !e.in[in_lengths]->exact()) return exact_or_undetermined(e);
  if (hidden == 0) return {};
  for (std::size_t i = 0; i < e.out.size(); ++i) e.bound(i);
  Numbers lengths;
  if (e.has(in_lengths)) lengths = as_numbers(e.in[in_lengths]->value);
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t d = 0; d < directions; ++d) {
      const std::size_t length = lengths.empty() ? steps : static_cast<std::size_t>(lengths[b]);
      const bool backwards = op.direction == Direction::reverse || d == 1;
      const std::size_t state = op.batch_first ? b * directions + d : d * batch + b;
      Cell cell(op, e, d);
      cell.h = initial(e, in_h, state, hidden);
      cell.c = initial(e, in_c, state, hidden);
      for (std::size_t i = 0; i < length; ++i) {
        const std::size_t t = backwards ? length - 1 - i : i;
        cell.step((op.batch_first ? b * steps + t : t * batch + b) *
                  static_cast<std::size_t>(x[2]));
        store(e, 0,
              op.batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b,
              cell.h);
      }
      store(e, 1, state, cell.h);
      store(e, 2, state, cell.c);
    }
  return {};
}

}  // namespace quern::tools::rules
