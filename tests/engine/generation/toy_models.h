// SPDX-License-Identifier: Apache-2.0
// Language models so small that a line says what they compute: as the bodies of operators that
// generate text, and as a function of a sequence.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/onnx-parser/onnx_writer.h"

namespace quern::testing {

inline constexpr std::int64_t vocabulary = 11, positions = 32;
using Tokens = std::vector<std::int64_t>;

// Numbers from -1 to 1 without a pattern.
inline std::vector<float> weights(std::int64_t count, double seed) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = std::sin(seed + 12.9898 * static_cast<double>(i)) * 43758.5453;
    all.push_back(static_cast<float>(2 * (x - std::floor(x)) - 1));
  }
  return all;
}

struct Toy {
  std::vector<float> next = weights(vocabulary * vocabulary, 1);  // by the last token
  std::vector<float> place = weights(positions * vocabulary, 2);  // by its position
  std::vector<float> mark = weights(vocabulary, 3);               // of each token
  std::vector<float> by_marks = weights(vocabulary, 4);           // times the marks of all of them
  std::vector<float> by_prompt = weights(vocabulary, 5);          // times those of the prompt

  float sum_of_marks(const Tokens& tokens, std::size_t from) const {
    float sum = 0;
    for (std::size_t i = from; i < tokens.size(); ++i)
      sum += mark[static_cast<std::size_t>(tokens[i])];
    return sum;
  }
};

// ---- as ONNX

inline onnx_test::Message weight(std::string_view name, const std::vector<float>& values,
                                 std::int64_t rows = 0) {
  onnx_test::Message m;
  const auto n = static_cast<std::int64_t>(values.size());
  if (rows > 0) m.number(1, rows).number(1, n / rows);
  if (rows == 0) m.number(1, n);
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()), 4 * values.size());
  return m.number(2, onnx_test::f32).text(8, name).text(9, bytes);
}

inline onnx_test::Messages weights_of(const Toy& toy) {
  using onnx_test::ints;
  return {weight("next", toy.next, vocabulary),
          weight("place", toy.place, positions),
          weight("mark", toy.mark),
          weight("by_marks", toy.by_marks),
          weight("by_prompt", toy.by_prompt),
          ints("axis0", {}, {0}),
          ints("axes1", {1}, {1}),
          ints("axes2", {1}, {2}),
          ints("axes13", {2}, {1, 3}),
          ints("axes024", {3}, {0, 2, 4})};
}

// Its logits: what the last token and its position say, and the marks of all tokens that the mask
// shows.
inline onnx_test::Message gpt_body(const Toy& toy) {
  using namespace onnx_test;  // NOLINT: the words of the writer
  return make_graph(
      {.name = "decoder",
       .nodes = {node("Gather", {"mark", "input_ids"}, {"marks"}),
                 node("Unsqueeze", {"marks", "axes024"}, {"wide"}),
                 node("Concat", {"wide", "wide"}, {"both"}, {integer("axis", 0)}),
                 node("Concat", {"past_0", "both"}, {"present_0"}, {integer("axis", 3)}),
                 node("Gather", {"present_0", "axis0"}, {"keys"}),
                 node("Squeeze", {"keys", "axes13"}, {"all_marks"}),
                 node("Cast", {"attention_mask"}, {"mask"}, {integer("to", f32)}),
                 node("Mul", {"all_marks", "mask"}, {"shown"}),
                 node("ReduceSum", {"shown", "axes1"}, {"sum"}),
                 node("Unsqueeze", {"sum", "axes2"}, {"sum3"}),
                 node("Mul", {"sum3", "by_marks"}, {"far"}),
                 node("Gather", {"next", "input_ids"}, {"near"}),
                 node("Gather", {"place", "position_ids"}, {"placed"}),
                 node("Add", {"near", "placed"}, {"both_near"}),
                 node("Add", {"both_near", "far"}, {"logits"})},
       .inputs = {value("input_ids", i32, {"b", "s"}), value("position_ids", i32, {"b", "s"}),
                  value("attention_mask", i32, {"b", "t"}),
                  value("past_0", f32, {2, "b", 1, "p", 1})},
       .outputs = {value("logits", f32, {"b", "s", vocabulary}),
                   value("present_0", f32, {2, "b", 1, "t", 1})},
       .initializers = weights_of(toy)});
}

// The parts of T5's encoder and decoder: their logits say what the last token says, the marks of
// the decoder's tokens and those of the prompt. Reads `tokens`, `self` and `cross`.
inline onnx_test::Messages text_logits() {
  using namespace onnx_test;  // NOLINT: the words of the writer
  return {node("Cast", {"encoder_attention_mask"}, {"mask"}, {integer("to", f32)}),
          node("Squeeze", {"cross", "axes13"}, {"prompt_marks"}),
          node("Mul", {"prompt_marks", "mask"}, {"shown"}),
          node("ReduceSum", {"shown", "axes1"}, {"prompt_sum"}),
          node("Mul", {"prompt_sum", "by_prompt"}, {"prompt_part"}),
          node("Squeeze", {"self", "axes13"}, {"own_marks"}),
          node("ReduceSum", {"own_marks", "axes1"}, {"own_sum"}),
          node("Mul", {"own_sum", "by_marks"}, {"own_part"}),
          node("Add", {"prompt_part", "own_part"}, {"parts"}),
          node("Unsqueeze", {"parts", "axes1"}, {"far"}),
          node("Gather", {"next", "tokens"}, {"near"}),
          node("Add", {"near", "far"}, {"logits"})};
}

inline onnx_test::Messages joined(onnx_test::Messages a, const onnx_test::Messages& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// With the first step of the decoder, or without it.
inline onnx_test::Message encoder_body(const Toy& toy, bool steps) {
  using namespace onnx_test;  // NOLINT: the words of the writer
  const Messages cross = {node("Gather", {"mark", "encoder_input_ids"}, {"marks"}),
                          node("Unsqueeze", {"marks", "axes13"}, {"cross"}),
                          node("Identity", {"cross"}, {"cross_value"})};
  const Messages step = joined({node("Identity", {"decoder_input_ids"}, {"tokens"}),
                                node("Gather", {"mark", "tokens"}, {"new_marks"}),
                                node("Unsqueeze", {"new_marks", "axes13"}, {"self"}),
                                node("Identity", {"self"}, {"self_value"}),
                                node("Unsqueeze", {"marks", "axes2"}, {"hidden"})},
                               text_logits());
  GraphParts g{.name = "encoder",
               .nodes = steps ? joined(cross, step) : cross,
               .inputs = {value("encoder_input_ids", i32, {"b", "e"}),
                          value("encoder_attention_mask", i32, {"b", "e"})},
               .initializers = weights_of(toy)};
  const Messages crossed = {value("cross", f32, {"b", 1, "e", 1}),
                            value("cross_value", f32, {"b", 1, "e", 1})};
  if (!steps) {
    g.outputs = crossed;
    return make_graph(g);
  }
  g.inputs.push_back(value("decoder_input_ids", i32, {"b", 1}));
  g.outputs =
      joined({value("logits", f32, {"b", 1, vocabulary}), value("hidden", f32, {"b", "e", 1}),
              value("self", f32, {"b", 1, 1, 1}), value("self_value", f32, {"b", 1, 1, 1})},
             crossed);
  return make_graph(g);
}

// The mark of a decoder's new token, behind those that it has.
inline onnx_test::Messages grown_past() {
  using namespace onnx_test;  // NOLINT: the words of the writer
  return {node("Identity", {"input_ids"}, {"tokens"}),
          node("Gather", {"mark", "tokens"}, {"new_marks"}),
          node("Unsqueeze", {"new_marks", "axes13"}, {"fresh"}),
          node("Concat", {"past_key", "fresh"}, {"self"}, {integer("axis", 2)}),
          node("Concat", {"past_value", "fresh"}, {"self_value"}, {integer("axis", 2)})};
}

inline onnx_test::Message text_decoder_body(const Toy& toy) {
  using namespace onnx_test;  // NOLINT: the words of the writer
  return make_graph(
      {.name = "decoder",
       .nodes = joined(grown_past(), text_logits()),
       .inputs = {value("input_ids", i32, {"b", 1}),
                  value("encoder_attention_mask", i32, {"b", "e"}),
                  value("past_key", f32, {"b", 1, "p", 1}),
                  value("past_value", f32, {"b", 1, "p", 1}), value("cross", f32, {"b", 1, "e", 1}),
                  value("cross_value", f32, {"b", 1, "e", 1})},
       .outputs = {value("logits", f32, {"b", 1, vocabulary}), value("self", f32, {"b", 1, "q", 1}),
                   value("self_value", f32, {"b", 1, "q", 1})},
       .initializers = weights_of(toy)});
}

}  // namespace quern::testing
