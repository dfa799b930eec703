// SPDX-License-Identifier: Apache-2.0
// LSTM and GRU in f32 with the usual activations: the inputs' contribution to the gates is one
// product over the whole sequence; then each step adds the product with the state and runs the
// cell.
//
// Gates are contiguous, `gate_` floats each (the hidden size, rounded up); the weights are packed
// in panels of their transposed matrices, with zeros after the last gate. The padding of rows of
// gates and states holds the results for these zeros, which are finite and never read.
#include "kernels/cpu/rnn_rows.h"

#include <algorithm>
#include <cstring>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/unary.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/movement.h"
#include "kernels/cpu/product_pieces.h"
#include "kernels/simd/simd.h"
#include "kernels/simd/simd_lines.h"

namespace quern {
namespace {

enum Input : std::size_t { in_x, in_w, in_r, in_b, in_lengths, in_h, in_c, in_p };

constexpr std::int64_t lanes = 16;

// Constants may be unaligned.
float float_at(const std::byte* p, std::int64_t i) {
  float v = 0;
  std::memcpy(&v, p + i * static_cast<std::int64_t>(sizeof v), sizeof v);
  return v;
}

// Packs gates [first, first + count) of weights [direction][gate][hidden][depth] as panels of
// columns.
struct PackedGates {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t hidden = 0;
  std::int64_t depth = 0;

  std::int64_t columns() const { return round_up(count * round_up(hidden, lanes), simd_panel); }
  std::int64_t floats() const { return columns() * depth; }

  // Packs the weights of one direction into zeroed memory.
  void pack(const std::byte* w, float* to) const {
    for (std::int64_t g = 0; g < count; ++g)
      for (std::int64_t j = 0; j < hidden; ++j) {
        const std::int64_t n = g * round_up(hidden, lanes) + j;
        float* column = to + n / simd_panel * simd_panel * depth + n % simd_panel;
        const std::int64_t row = ((first + g) * hidden + j) * depth;
        for (std::int64_t k = 0; k < depth; ++k) column[k * simd_panel] = float_at(w, row + k);
      }
  }
};

struct RnnSizes {
  bool is_lstm = true;
  bool batch_first = false;
  bool is_reverse = false;
  bool resets_after = false;  // linear_before_reset
  std::int64_t directions = 1;
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t input = 0;
  std::int64_t hidden = 0;

  std::int64_t gates() const { return is_lstm ? 4 : 3; }
  std::int64_t gate() const { return round_up(hidden, lanes); }
  PackedGates from_input() const { return {0, gates(), hidden, input}; }
  // The last gate of a GRU needs the product with the state separately.
  PackedGates from_state() const { return {0, is_lstm ? 4 : 2, hidden, hidden}; }
  PackedGates last_from_state() const { return {2, is_lstm ? 0 : 1, hidden, hidden}; }
  // Floats in a row of gates.
  std::int64_t row() const { return from_input().columns(); }
  // Packed in this order: the matrix of the input, both matrices of the state, the bias of a row,
  // and the bias of the state's part of the last gate.
  std::int64_t packed_floats() const {
    return from_input().floats() + from_state().floats() + last_from_state().floats() + row() +
           gate();
  }
};

// Offsets of the parts of one direction, in floats.
struct RnnParts {
  explicit RnnParts(const RnnSizes& s)
      : r(s.from_input().floats()),
        last(r + s.from_state().floats()),
        bias(last + s.last_from_state().floats()),
        last_bias(bias + s.row()) {}
  std::int64_t r, last, bias, last_bias;
};

void pack_direction(const RnnSizes& s, const std::byte* w, const std::byte* r, const std::byte* b,
                    float* to) {
  const RnnParts at(s);
  s.from_input().pack(w, to);
  s.from_state().pack(r, to + at.r);
  s.last_from_state().pack(r, to + at.last);
  if (!b) return;
  for (std::int64_t g = 0; g < s.gates(); ++g)
    for (std::int64_t j = 0; j < s.hidden; ++j) {
      const std::int64_t k = g * s.hidden + j;
      const bool apart = s.resets_after && g == 2;
      const float of_state = float_at(b, s.gates() * s.hidden + k);
      to[at.bias + g * s.gate() + j] = float_at(b, k) + (apart ? 0 : of_state);
      if (apart) to[at.last_bias + j] = of_state;
    }
}

// The same as pointers.
struct Weights {
  Weights(const RnnSizes& s, const float* packed, std::int64_t direction)
      : w(packed + direction * s.packed_floats()) {
    const RnnParts at(s);
    r = w + at.r;
    last = w + at.last;
    bias = w + at.bias;
    last_bias = w + at.last_bias;
  }
  const float *w, *r, *last, *bias, *last_bias;
};

class RnnRows final : public CpuKernel {
 public:
  RnnRows(const KernelRequest& r, const RnnSizes& s, std::shared_ptr<const std::byte> packed)
      : s_(s), has_h_(r.has(in_h)), has_c_(r.has(in_c)), packed_(std::move(packed)) {}

  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(s_.directions * direction_floats()) * sizeof(float);
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* packed = reinterpret_cast<const float*>(packed_.get());
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    const auto project_rows = [&](std::int64_t direction, std::int64_t begin, std::int64_t end) {
      project(args, Weights(s_, packed, direction), scratch + direction * direction_floats(), begin,
              end);
    };
    const std::int64_t rows = s_.steps * s_.batch;
    const std::int64_t grain =
        std::max<std::int64_t>(6, cut_size(400000) / (s_.row() * s_.input + 1));
    for (std::int64_t d = 0; d < s_.directions; ++d)
      parallel(rows, grain, [&](std::int64_t b, std::int64_t e) { project_rows(d, b, e); });
    // A direction of few products is done before another thread has begun.
    const std::int64_t products = rows * s_.row() * s_.hidden;
    const bool is_short = products < cut_size(400000);
    parallel(s_.directions, is_short ? s_.directions : 1,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t d = begin; d < end; ++d)
                 run_direction(args, Weights(s_, packed, d), d, scratch + d * direction_floats());
             });
    return {};
  }

 private:
  // Gates of all rows; then, for a batch, h, c and, for a GRU, the reset state or its product.
  std::int64_t direction_floats() const {
    const std::int64_t states = 2 * s_.gate() + (s_.is_lstm ? 0 : s_.last_from_state().columns());
    return round_up(s_.steps * s_.batch * s_.row() + s_.batch * states, lanes);
  }
  std::int64_t x_row(std::int64_t t, std::int64_t b) const {
    return s_.batch_first ? b * s_.steps + t : t * s_.batch + b;
  }
  std::int64_t y_row(std::int64_t t, std::int64_t d, std::int64_t b) const {
    return s_.batch_first ? (b * s_.steps + t) * s_.directions + d
                          : (t * s_.directions + d) * s_.batch + b;
  }
  std::int64_t state_row(std::int64_t d, std::int64_t b) const {
    return s_.batch_first ? b * s_.directions + d : d * s_.batch + b;
  }

  // gates = x w + bias
  void project(const KernelArgs& args, const Weights& w, float* gates, std::int64_t begin,
               std::int64_t end) const {
    for (std::int64_t r = begin; r < end; ++r) std::copy_n(w.bias, s_.row(), gates + r * s_.row());
    const auto* x = reinterpret_cast<const float*>(args.inputs[in_x]) + begin * s_.input;
    StopCheck check(args.stop);
    multiply_until({x, s_.input, w.w, simd_panel, simd_panel * s_.input, gates + begin * s_.row(),
                    s_.row(), end - begin, s_.input, s_.from_input().columns(), true},
                   check);
  }

  struct States {
    float *h, *c, *apart;  // [batch][gate()]; apart [batch][columns of the last gate]
  };

  void run_direction(const KernelArgs& args, const Weights& w, std::int64_t d, float* gates) const {
    const std::int64_t state = s_.batch * s_.gate();
    States states{gates + s_.steps * s_.batch * s_.row(), nullptr, nullptr};
    states.c = states.h + state;
    states.apart = states.c + state;
    if (args.is_over()) return;
    StopCheck check(args.stop);
    load(has_h_ ? args.inputs[in_h] : nullptr, d, states.h, check);
    if (s_.is_lstm) load(has_c_ ? args.inputs[in_c] : nullptr, d, states.c, check);
    const bool backwards = s_.is_reverse || d == 1;
    for (std::int64_t i = 0; i < s_.steps && !check.spend(16 * s_.batch * s_.gate()); ++i) {
      const std::int64_t t = backwards ? s_.steps - 1 - i : i;
      float* rows = gates + x_row(t, 0) * s_.row();
      const std::int64_t stride = (s_.batch_first ? s_.steps : 1) * s_.row();
      s_.is_lstm ? step_lstm(w, rows, stride, states, check)
                 : step_gru(w, rows, stride, states, check);
      for (std::int64_t b = 0; b < s_.batch && !check.spend(4 * s_.gate()); ++b)
        store(args, 0, y_row(t, d, b), states.h + b * s_.gate());
    }
    for (std::int64_t b = 0; b < s_.batch && !check.is_over(); ++b) {
      store(args, 1, state_row(d, b), states.h + b * s_.gate());
      if (s_.is_lstm) store(args, 2, state_row(d, b), states.c + b * s_.gate());
    }
  }

  // c += h b for the whole batch.
  void add_product(const float* h, const float* b, std::int64_t columns, float* c,
                   std::int64_t stride, StopCheck& check) const {
    multiply_until({h, s_.gate(), b, simd_panel, simd_panel * s_.hidden, c, stride, s_.batch,
                    s_.hidden, columns, true},
                   check);
  }

  void step_lstm(const Weights& w, float* rows, std::int64_t stride, const States& s,
                 StopCheck& check) const {
    add_product(s.h, w.r, s_.from_state().columns(), rows, stride, check);
    for (std::int64_t b = 0; b < s_.batch && !check.spend(4 * s_.gate()); ++b)
      simd().lstm_cell(rows + b * stride, s_.gate(), s.c + b * s_.gate(), s.h + b * s_.gate(),
                       s_.gate());
  }

  void step_gru(const Weights& w, float* rows, std::int64_t stride, const States& s,
                StopCheck& check) const {
    const std::int64_t gate = s_.gate();
    const std::int64_t last = s_.last_from_state().columns();
    add_product(s.h, w.r, round_up(2 * gate, lanes), rows, stride, check);
    for (std::int64_t b = 0; b < s_.batch; ++b)
      lines::logistic(rows + b * stride, rows + b * stride, 2 * gate);
    if (s_.resets_after) {
      for (std::int64_t b = 0; b < s_.batch; ++b)
        std::copy_n(w.last_bias, gate, s.apart + b * last);
      add_product(s.h, w.last, gate, s.apart, last, check);
    } else {
      for (std::int64_t b = 0; b < s_.batch; ++b)
        lines::multiply({rows + b * stride + gate, false}, {s.h + b * gate, false}, s.c + b * gate,
                        gate);
      add_product(s.c, w.last, gate, rows + 2 * gate, stride, check);
    }
    for (std::int64_t b = 0; b < s_.batch && !check.spend(4 * s_.gate()); ++b) {
      const float* z = rows + b * stride;
      simd().gru_cell(z, z + gate, z + 2 * gate, s_.resets_after ? s.apart + b * last : nullptr,
                      s.h + b * gate, gate);
    }
  }

  // A null input stands for zeros.
  void load(const std::byte* input, std::int64_t d, float* to, StopCheck& check) const {
    const auto bytes = static_cast<std::size_t>(s_.batch * s_.gate()) * sizeof(float);
    zero_bytes(bytes, reinterpret_cast<std::byte*>(to), check);
    if (!input) return;
    const auto* from = reinterpret_cast<const float*>(input);
    for (std::int64_t b = 0; b < s_.batch && !check.is_over(); ++b)
      std::copy_n(from + state_row(d, b) * s_.hidden, s_.hidden, to + b * s_.gate());
  }
  void store(const KernelArgs& args, std::size_t i, std::int64_t row, const float* from) const {
    if (i >= args.outputs.size() || !args.outputs[i]) return;
    std::copy_n(from, s_.hidden, reinterpret_cast<float*>(args.outputs[i]) + row * s_.hidden);
  }

  RnnSizes s_;
  bool has_h_, has_c_;
  std::shared_ptr<const std::byte> packed_;
};

// ---- choosing

bool has_usual_activations(const Rnn& op) {
  const std::size_t each = op.kind == RnnKind::lstm ? 3 : 2;
  for (std::size_t i = 0; i < op.activations.size(); ++i) {
    const UnaryKind usual = i % each == 0 ? UnaryKind::sigmoid : UnaryKind::tanh;
    if (op.activations[i] != Unary{.kind = usual}) return false;
  }
  return true;
}

bool suits_rnn(const KernelRequest& r) {
  const auto& op = r.as<Rnn>();
  if (op.kind == RnnKind::rnn || op.clip != 0 || op.input_forget || !has_usual_activations(op))
    return false;
  if (r.dtype(in_x) != DType::f32 || r.has(in_lengths) || r.has(in_p)) return false;
  if (!r.inputs[in_w].constant || !r.inputs[in_r].constant) return false;
  if (r.has(in_b) && !r.inputs[in_b].constant) return false;
  return r.shape(in_x).elements() > 0 && r.shape(in_r).elements() > 0;
}

RnnSizes rnn_sizes_of(const KernelRequest& r) {
  const auto& op = r.as<Rnn>();
  const Shape& x = r.shape(in_x);
  RnnSizes s;
  s.is_lstm = op.kind == RnnKind::lstm;
  s.batch_first = op.batch_first;
  s.is_reverse = op.direction == Direction::reverse;
  s.resets_after = !s.is_lstm && op.linear_before_reset;
  s.directions = op.direction == Direction::bidirectional ? 2 : 1;
  s.steps = x[op.batch_first ? 1 : 0];
  s.batch = x[op.batch_first ? 0 : 1];
  s.input = x[2];
  s.hidden = r.shape(in_r)[2];
  return s;
}

Status pack(const KernelRequest& r, const RnnSizes& s, float* to) {
  QUERN_ASSIGN(const Tensor w, r.inputs[in_w].constant->get());
  QUERN_ASSIGN(const Tensor h, r.inputs[in_r].constant->get());
  Tensor b;
  if (r.has(in_b)) {
    QUERN_ASSIGN(b, r.inputs[in_b].constant->get());
  }
  const auto part = [&](const Tensor& t, std::int64_t d) {
    return t.valid() ? t.data() + d * t.shape().elements(1) * 4 : nullptr;
  };
  for (std::int64_t d = 0; d < s.directions; ++d)
    pack_direction(s, part(w, d), part(h, d), part(b, d), to + d * s.packed_floats());
  return {};
}

}  // namespace

Selection select_rnn_rows(const KernelRequest& r) {
  if (!suits_rnn(r)) return unsupported();
  const RnnSizes s = rnn_sizes_of(r);
  const std::string key =
      cat("rnn|", s.resets_after, "|", r.inputs[in_w].constant->key(), "|",
          r.inputs[in_r].constant->key(), "|", r.has(in_b) ? r.inputs[in_b].constant->key() : "");
  const auto fill = [&](std::byte* to) { return pack(r, s, reinterpret_cast<float*>(to)); };
  const auto bytes = static_cast<std::size_t>(s.directions * s.packed_floats()) * sizeof(float);
  QUERN_ASSIGN(auto packed, r.target.weights->find_or_make(key, bytes, fill));
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.packed_inputs.resize(r.inputs.size());
  for (std::size_t i : {in_w, in_r, in_b})
    if (r.has(i)) choice.packed_inputs[i] = true;
  auto kernel = std::make_unique<RnnRows>(r, s, std::move(packed));
  choice.scratch_bytes = kernel->scratch_bytes();
  choice.work = std::move(kernel);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
