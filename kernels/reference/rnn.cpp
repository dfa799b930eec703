// SPDX-License-Identifier: Apache-2.0
// Rnn: a recurrent layer over sequences, forwards, backwards or both. With a(k) the k-th
// activation, G(g, h) = W[g] x + Wb[g] + R[g] h + Rb[g], clipped before it is activated if `clip`
// is given:
//   rnn   h' = a0(G(0, h))
//   gru   z = a0(G(0, h)), r = a0(G(1, h)), n = a1(W[2] x + Wb[2] + R[2] (r * h) + Rb[2]) or, with
//         linear_before_reset, a1(W[2] x + Wb[2] + r * (R[2] h + Rb[2])); h' = (1 - z) n + z h
//   lstm  i = a0(G(0, h) + P[0] c), f = a0(G(2, h) + P[2] c) or 1 - i with input_forget,
//         c' = f c + i a1(G(3, h)), o = a0(G(1, h) + P[1] c'), h' = o a2(c')
//
// ONNX RNN, GRU, LSTM, opsets 7 to 22. Steps past a sequence's length give 0 in y and leave the
// state alone; backwards, a sequence starts at its own end. As in ONNX Runtime, clipping spares
// what a2 is applied to, the cell. States and sums in double.
#include <algorithm>
#include <cmath>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/operands.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/unary.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/unary_math.h"
#include "kernels/cpu/rnn_rows.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

const Unary& default_activation(RnnKind kind, std::size_t k) {
  static constexpr Unary sigmoid{.kind = UnaryKind::sigmoid};
  static constexpr Unary tanh{.kind = UnaryKind::tanh};
  return kind != RnnKind::rnn && k == 0 ? sigmoid : tanh;
}

// The weights of one direction and the state of one sequence.
template <class T>
struct Cell {
  Cell(const ReferenceCall& call, std::int64_t direction, double* state, StopCheck& stop_check)
      : check(stop_check),
        op(call.as<Rnn>()),
        input(call.inputs[Rnn::in_x].type.shape[2]),
        hidden(call.inputs[Rnn::in_r].type.shape[2]),
        dir(direction),
        w(part(call, Rnn::in_w, gates(op.kind) * hidden * input)),
        r(part(call, Rnn::in_r, gates(op.kind) * hidden * hidden)),
        b(part(call, Rnn::in_b, 2 * gates(op.kind) * hidden)),
        p(part(call, Rnn::in_p, 3 * hidden)),
        h(state),
        c(state + hidden),
        next(state + 2 * hidden),
        reset(state + 3 * hidden) {}

  const T* part(const ReferenceCall& call, std::size_t i, std::int64_t size) const {
    return call.has(i) ? call.inputs[i].as<T>() + dir * size : nullptr;
  }

  double from_input(const T* x, std::int64_t gate, std::int64_t j) const {
    const std::int64_t row = gate * hidden + j;
    double sum = b ? static_cast<double>(b[row]) : 0;
    for_each_until(input, 1, check, [&](std::int64_t i) {
      sum += static_cast<double>(w[row * input + i]) * static_cast<double>(x[i]);
    });
    return sum;
  }
  double from_state(const double* state, std::int64_t gate, std::int64_t j) const {
    const std::int64_t row = gate * hidden + j;
    double sum = b ? static_cast<double>(b[gates(op.kind) * hidden + row]) : 0;
    for_each_until(hidden, 1, check, [&](std::int64_t i) {
      sum += static_cast<double>(r[row * hidden + i]) * state[i];
    });
    return sum;
  }
  double gate(const T* x, std::int64_t g, std::int64_t j) const {
    return from_input(x, g, j) + from_state(h, g, j);
  }
  double peephole(std::int64_t g, std::int64_t j, double cell) const {
    return p ? static_cast<double>(p[g * hidden + j]) * cell : 0;
  }
  double apply(std::size_t k, double v) const {
    const std::size_t at = static_cast<std::size_t>(dir) * activations(op.kind) + k;
    return apply_float(op.activations.empty() ? default_activation(op.kind, k) : op.activations[at],
                       v);
  }
  double clip_apply(std::size_t k, double v) const {
    const double bound = op.clip;
    if (bound > 0) v = v < -bound ? -bound : v > bound ? bound : v;
    return apply(k, v);
  }

  void step(const T* x) {
    switch (op.kind) {
      case RnnKind::rnn: step_rnn(x); break;
      case RnnKind::gru: step_gru(x); break;
      case RnnKind::lstm: step_lstm(x); break;
    }
    std::swap(h, next);
  }
  void step_rnn(const T* x) {
    for (std::int64_t j = 0; j < hidden && !check.is_over(); ++j)
      next[j] = clip_apply(0, gate(x, 0, j));
  }
  void step_gru(const T* x) {
    for (std::int64_t j = 0; j < hidden && !check.is_over(); ++j) {
      reset[j] = clip_apply(0, gate(x, 1, j));
      if (!op.linear_before_reset) reset[j] *= h[j];
    }
    for (std::int64_t j = 0; j < hidden && !check.is_over(); ++j) {
      const double recurrent =
          op.linear_before_reset ? reset[j] * from_state(h, 2, j) : from_state(reset, 2, j);
      const double n = clip_apply(1, from_input(x, 2, j) + recurrent);
      const double z = clip_apply(0, gate(x, 0, j));
      next[j] = (1 - z) * n + z * h[j];
    }
  }
  void step_lstm(const T* x) {
    for (std::int64_t j = 0; j < hidden && !check.is_over(); ++j) {
      const double i = clip_apply(0, gate(x, 0, j) + peephole(0, j, c[j]));
      const double f =
          op.input_forget ? 1 - i : clip_apply(0, gate(x, 2, j) + peephole(2, j, c[j]));
      c[j] = f * c[j] + i * clip_apply(1, gate(x, 3, j));
      const double o = clip_apply(0, gate(x, 1, j) + peephole(1, j, c[j]));
      next[j] = o * apply(2, c[j]);
    }
  }

  StopCheck& check;
  const Rnn& op;
  std::int64_t input, hidden, dir;
  const T *w, *r, *b, *p;
  double *h, *c, *next, *reset;
};

// Positions of a sequence's parts in x, y and the states.
struct Places {
  Places(const ReferenceCall& call, std::int64_t b, std::int64_t dir)
      : batch_first(call.as<Rnn>().batch_first),
        dirs(directions(call.as<Rnn>())),
        steps(call.inputs[Rnn::in_x].type.shape[batch_first ? 1 : 0]),
        batch(call.inputs[Rnn::in_x].type.shape[batch_first ? 0 : 1]),
        b(b),
        dir(dir) {}

  std::int64_t x(std::int64_t t) const { return batch_first ? b * steps + t : t * batch + b; }
  std::int64_t y(std::int64_t t) const {
    return batch_first ? (b * steps + t) * dirs + dir : (t * dirs + dir) * batch + b;
  }
  std::int64_t state() const { return batch_first ? b * dirs + dir : dir * batch + b; }

  bool batch_first;
  std::int64_t dirs, steps, batch, b, dir;
};

template <class T>
void load_state(const ReferenceCall& call, std::size_t i, std::int64_t at, double* to,
                std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j)
    to[j] = call.has(i) ? static_cast<double>(call.inputs[i].as<T>()[at * n + j]) : 0;
}
template <class T>
void store(const ReferenceCall& call, std::size_t output, std::int64_t at, const double* from,
           std::int64_t n) {
  if (!call.wants(output)) return;
  T* to = call.outputs[output].as<T>() + at * n;
  for (std::int64_t j = 0; j < n; ++j) to[j] = T(from[j]);
}

template <class T>
void run_sequence(const ReferenceCall& call, Cell<T>& cell, const Places& at, std::int64_t length) {
  const bool backwards = cell.op.direction == Direction::reverse || at.dir == 1;
  load_state<T>(call, Rnn::in_h, at.state(), cell.h, cell.hidden);
  load_state<T>(call, Rnn::in_c, at.state(), cell.c, cell.hidden);
  for (std::int64_t i = 0; i < length; ++i) {
    if (cell.check.spend(8)) return;
    const std::int64_t t = backwards ? length - 1 - i : i;
    cell.step(call.inputs[Rnn::in_x].as<T>() + at.x(t) * cell.input);
    store<T>(call, 0, at.y(t), cell.h, cell.hidden);
  }
  store<T>(call, 1, at.state(), cell.h, cell.hidden);
  store<T>(call, 2, at.state(), cell.c, cell.hidden);
  std::fill_n(cell.next, cell.hidden, 0.0);
  for (std::int64_t t = length; t < at.steps && !cell.check.spend(8 + cell.hidden); ++t)
    store<T>(call, 0, at.y(t), cell.next, cell.hidden);
}

template <class T>
Status run_all(const ReferenceCall& call) {
  const auto& op = call.as<Rnn>();
  const auto hidden = static_cast<std::size_t>(call.inputs[Rnn::in_r].type.shape[2]);
  auto* state = call.scratch.take<double>(4 * hidden);
  const Places all(call, 0, 0);
  StopCheck check(call.stop);
  for (std::int64_t b = 0; b < all.batch; ++b) {
    const std::int64_t length =
        call.has(Rnn::in_lengths) ? int_element(call.inputs[Rnn::in_lengths], b) : all.steps;
    if (length < 0 || length > all.steps)
      return {Code::invalid_argument,
              cat("sequence ", b, " has the length ", length, " of ", all.steps)};
    for (std::int64_t dir = 0; dir < directions(op); ++dir) {
      Cell<T> cell(call, dir, state, check);
      run_sequence(call, cell, Places(call, b, dir), length);
      if (check.is_over()) return {};
    }
  }
  return {};
}

Status rnn_reference(const ReferenceCall& call) {
  if (call.inputs[Rnn::in_r].type.shape[2] == 0) return {};
  Status status;
  visit_float(call.inputs[Rnn::in_x].type.dtype,
              [&]<class T>(TypeTag<T>) { status = run_all<T>(call); });
  return status;
}

std::size_t rnn_scratch(const Op&, std::span<const TensorType> inputs,
                        std::span<const TensorType>) {
  return Scratch::bytes_for<double>(4 * static_cast<std::size_t>(inputs[Rnn::in_r].shape[2]));
}

Cost rnn_flops(const Op&, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  const auto elements = [&](Rnn::Input i) {
    return static_cast<double>(inputs[i].shape.elements());
  };
  const double sequence = static_cast<double>(inputs[Rnn::in_x].shape.elements(0, 2));
  cost.flops = 2 * sequence * (elements(Rnn::in_w) + elements(Rnn::in_r));
  return cost;
}

constexpr CpuImplementation rnn_implementations[] = {{"rows", select_rnn_rows}};

}  // namespace

const OpKernels& Rnn::kernels() {
  static constexpr OpKernels table{.reference = {rnn_reference, rnn_scratch},
                                   .cpu = rnn_implementations,
                                   .flops = rnn_flops,
                                   .gpu = gpu::select_rnn};
  return table;
}

}  // namespace quern
