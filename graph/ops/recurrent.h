// SPDX-License-Identifier: Apache-2.0
// Recurrent layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/op.h"
#include "graph/ops/unary.h"

namespace quern {

enum class RnnKind : std::uint8_t { rnn, gru, lstm };
std::span<const std::string_view> enum_names(RnnKind);
enum class Direction : std::uint8_t { forward, reverse, bidirectional };
std::span<const std::string_view> enum_names(Direction);
// ONNX RNN, GRU, LSTM with their inputs (x, w, r, b?, sequence_lens?, initial_h?, initial_c?, p?)
// and outputs (y?, y_h?, y_c?). `activations` are per direction in ONNX's order.
struct Rnn {
  enum Input : std::size_t { in_x, in_w, in_r, in_b, in_lengths, in_h, in_c, in_p };

  RnnKind kind = RnnKind::lstm;
  Direction direction = Direction::forward;
  std::int64_t hidden_size = 0;
  std::vector<Unary> activations;
  float clip = 0;  // 0: none
  bool input_forget = false;
  bool linear_before_reset = false;
  bool batch_first = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("direction", s.direction), f("hidden_size", s.hidden_size);
    f("activations", s.activations), f("clip", s.clip), f("input_forget", s.input_forget);
    f("linear_before_reset", s.linear_before_reset), f("batch_first", s.batch_first);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Rnn&) const = default;
};

// Gates of one cell.
inline std::int64_t gates(RnnKind kind) {
  return kind == RnnKind::rnn ? 1 : kind == RnnKind::gru ? 3 : 4;
}

inline std::int64_t directions(const Rnn& op) {
  return op.direction == Direction::bidirectional ? 2 : 1;
}

inline std::size_t activations(RnnKind kind) {
  return kind == RnnKind::rnn ? 1 : kind == RnnKind::gru ? 2 : 3;
}

using RecurrentOps = OpList<Rnn>;

}  // namespace quern
