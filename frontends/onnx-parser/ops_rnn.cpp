// SPDX-License-Identifier: Apache-2.0
// Recurrent layers.
#include <algorithm>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "frontends/onnx-parser/recurrent_activations.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/unary.h"

namespace quern::onnx {
namespace {

// An activation with its parameters and their defaults.
struct ActivationRow {
  std::string_view name;  // in lower case
  Unary op;
  bool takes_alpha = false;
  bool takes_beta = false;
};

const ActivationRow activations[] = {
    {"relu", {.kind = UnaryKind::relu}},
    {"tanh", {.kind = UnaryKind::tanh}},
    {"sigmoid", {.kind = UnaryKind::sigmoid}},
    {"softsign", {.kind = UnaryKind::softsign}},
    {"softplus", {.kind = UnaryKind::softplus}},
    {"affine", {.kind = UnaryKind::affine, .alpha = 1, .beta = 0}, true, true},
    {"scaledtanh", {.kind = UnaryKind::scaled_tanh, .alpha = 1, .beta = 1}, true, true},
    {"leakyrelu", {.kind = UnaryKind::leaky_relu, .alpha = 0.01f}, true},
    {"thresholdedrelu", {.kind = UnaryKind::thresholded_relu, .alpha = 1}, true},
    {"elu", {.kind = UnaryKind::elu, .alpha = 1}, true},
    {"hardsigmoid", {.kind = UnaryKind::hard_sigmoid, .alpha = 0.2f, .beta = 0.5f}, true, true},
};

// Takes the next parameter of a list; only activations with parameters consume it.
void take(const std::vector<float>& list, std::size_t& at, double& parameter) {
  if (at < list.size()) parameter = list[at++];
}

std::vector<std::string> default_activations(RnnKind kind, Direction direction) {
  std::vector<std::string> one = {"Tanh"};
  if (kind == RnnKind::gru) one = {"Sigmoid", "Tanh"};
  if (kind == RnnKind::lstm) one = {"Sigmoid", "Tanh", "Tanh"};
  if (direction == Direction::bidirectional) {
    const std::vector<std::string> again = one;
    one.insert(one.end(), again.begin(), again.end());
  }
  return one;
}

// In the recurrence weights [directions, gates * hidden, hidden].
std::int64_t hidden_size(NodeImport& n) {
  const Dim hidden = n.dim(n.in(2), 2);
  return n.integer("hidden_size", hidden.known() ? hidden.value() : 0);
}

// Adds the layer with the attributes of the node over these inputs.
void emit_rnn(NodeImport& n, RnnKind kind, std::int64_t hidden, std::vector<ValueId> inputs) {
  Rnn op{.kind = kind};
  op.direction = n.choice<Direction>("direction", "forward",
                                     {{"forward", Direction::forward},
                                      {"reverse", Direction::reverse},
                                      {"bidirectional", Direction::bidirectional}});
  op.hidden_size = hidden;
  std::vector<std::string> names = n.texts("activations");
  // RNN has a default of two activations, also for one direction.
  const auto defaults = default_activations(kind, op.direction);
  if (names.empty()) names = defaults;
  if (names.size() > defaults.size()) names.resize(defaults.size());
  op.activations = recurrent_activations(n, names);
  op.clip = n.number("clip", 0);
  if (kind == RnnKind::lstm) op.input_forget = n.flag("input_forget", Flag::off);
  if (kind == RnnKind::gru) op.linear_before_reset = n.flag("linear_before_reset", Flag::off);
  op.batch_first = n.flag("layout", Flag::off);
  n.ignore("output_sequence");  // of opsets 1 to 6: the listed outputs determine it
  n.emit(op, std::move(inputs));
}

template <RnnKind Kind>
void import_rnn(NodeImport& n) {
  emit_rnn(n, Kind, hidden_size(n), {n.inputs().begin(), n.inputs().end()});
}

constexpr OpRow rnn_rows[] = {
    {"GRU", 1, import_rnn<RnnKind::gru>, {3, 6}, {0, 2}},
    {"LSTM", 1, import_rnn<RnnKind::lstm>, {3, 8}, {0, 3}},
    {"RNN", 1, import_rnn<RnnKind::rnn>, {3, 6}, {0, 2}},
};

// Weights [directions, in, gates * hidden] in bytes, as floats in the order of LSTM. `scale`: the
// input that holds one number a direction, or one a column; zero points follow it.
ValueId float_weights(NodeImport& n, std::size_t weights, std::size_t scale) {
  const auto a_column = [&](ValueId x) { return unsqueeze(n, reshape(n, x, Ints{0, -1}), {1}); };
  const ValueId scales = a_column(n.in(scale));
  const DType dtype = n.dtype(scales);
  const ValueId zeros = cast(n, a_column(n.in(scale + 1)), dtype);
  const ValueId shifted = sub(n, cast(n, n.in(weights), dtype), zeros);
  return transpose(n, mul(n, shifted, scales), {0, 2, 1});
}

// com.microsoft DynamicQuantizeLSTM: (x, w, r, bias?, lengths?, h?, c?, peepholes?, w scale, w
// zero, r scale, r zero). Computed in floats, where ONNX Runtime rounds x and h to bytes first.
void import_dynamic_quantize_lstm(NodeImport& n) {
  const Dim hidden = n.dim(n.in(2), 1);
  const std::int64_t size = n.integer("hidden_size", hidden.known() ? hidden.value() : 0);
  for (const std::size_t i : {1, 2, 8, 9, 10, 11})
    if (!n.has(i)) return n.fail(cat("input ", i, " is left out, but it is not optional"));
  std::vector<ValueId> inputs = {n.in(0), float_weights(n, 1, 8), float_weights(n, 2, 10)};
  for (std::size_t i = 3; i < 8; ++i) inputs.push_back(n.in(i));
  while (inputs.back() == no_value) inputs.pop_back();
  emit_rnn(n, RnnKind::lstm, size, std::move(inputs));
}

constexpr OpRow microsoft_rnn_rows[] = {
    {"DynamicQuantizeLSTM", 1, import_dynamic_quantize_lstm, {1, 12}, {0, 3}},
};

}  // namespace

std::vector<Unary> recurrent_activations(NodeImport& n, const std::vector<std::string>& names) {
  const std::vector<float> alphas = n.numbers("activation_alpha");
  const std::vector<float> betas = n.numbers("activation_beta");
  std::size_t alpha_at = 0;
  std::size_t beta_at = 0;
  std::vector<Unary> ops;
  for (const std::string& name : names) {
    const auto* row = std::find_if(std::begin(activations), std::end(activations),
                                   [&](auto& r) { return r.name == small_letters(name); });
    if (row == std::end(activations)) {
      n.unsupported(cat("activation '", printable(name), "' is not supported"));
      return {};
    }
    Unary& op = ops.emplace_back(row->op);
    if (row->takes_alpha) take(alphas, alpha_at, op.alpha);
    if (row->takes_beta) take(betas, beta_at, op.beta);
  }
  return ops;
}

OpRows rnn_ops() {
  return rnn_rows;
}
OpRows microsoft_rnn_ops() {
  return microsoft_rnn_rows;
}

}  // namespace quern::onnx
