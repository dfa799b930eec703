// SPDX-License-Identifier: Apache-2.0
// A model of each kind of value and of control flow, all of which end soon.
#pragma once

#include <string>
#include <vector>

#include "tests/onnx-parser/onnx_writer.h"

namespace quern::fuzz {

// y = x + x + ..., `n` times but at most 20.
inline onnx_test::GraphParts sum_in_a_loop() {
  using namespace onnx_test;  // NOLINT
  const Message body =
      make_graph({.nodes = {node("Identity", {"c"}, {"c2"}), node("Add", {"v", "x"}, {"v2"})},
                  .inputs = {value("i", i64, {}), value("c", boolean, {}), value("v", f32, {""})},
                  .outputs = {value("c2", boolean, {}), value("v2", f32, {""})}});
  return {.nodes = {node("Sub", {"x", "x"}, {"zero"}), node("Min", {"n", "most"}, {"times"}),
                    node("Loop", {"times", "", "zero"}, {"y"}, {graph("body", body)})},
          .inputs = {value("x", f32, {""}), value("n", i64, {})},
          .outputs = {value("y", f32, {""})},
          .initializers = {ints("most", {}, {20})}};
}

inline onnx_test::GraphParts choice() {
  using namespace onnx_test;  // NOLINT
  const auto branch = [](const char* op) {
    return make_graph({.nodes = {node(op, {"x"}, {"b"})}, .outputs = {value("b", f32, {""})}});
  };
  return {
      .nodes = {node("Equal", {"n", "one"}, {"c"}),
                node("If", {"c"}, {"y"},
                     {graph("then_branch", branch("Exp")), graph("else_branch", branch("Neg"))})},
      .inputs = {value("x", f32, {""}), value("n", i64, {})},
      .outputs = {value("y", f32, {""})},
      .initializers = {ints("one", {}, {1})}};
}

inline const std::vector<std::string>& small_models() {
  using namespace onnx_test;  // NOLINT
  static const std::vector<std::string> models = [] {
    const Message sequence = sequence_of(tensor_type(f32, {""}));
    return std::vector<std::string>{
        make_model(
            {.nodes = {node("Neg", {"x"}, {"y"}), node("Exp", {"y"}, {"z"})},
             .inputs = {value("x", f32, {"N"})},
             .outputs = {value("y", f32, {"N"}), value("z", f32, {"N"}), value("x", f32, {"N"})}}),
        make_model(
            {.nodes = {node("Reshape", {"x", "two"}, {"m"}), node("MatMul", {"m", "w"}, {"y"})},
             .inputs = {value("x", f32, {"N"})},
             .outputs = {value("y", f32, {"", 2})},
             .initializers = {ints("two", {2}, {-1, 2}), floats("w", {2, 2}, {1, 2, 3, 4})}}),
        make_model(sum_in_a_loop()),
        make_model(choice()),
        make_model({.nodes = {node("NonZero", {"x"}, {"y"}), node("Transpose", {"y"}, {"t"}),
                              node("GatherND", {"x", "t"}, {"z"})},
                    .inputs = {value("x", f32, {""})},
                    .outputs = {value("y", i64, {1, ""}), value("z", f32, {""})}}),
        make_model({.nodes = {node("SequenceInsert", {"s", "x"}, {"y"})},
                    .inputs = {value("s", sequence), value("x", f32, {""})},
                    .outputs = {value("y", sequence)}}),
        make_model({.nodes = {node("OptionalHasElement", {"x"}, {"y"})},
                    .inputs = {value("x", optional_of(tensor_type(f32, {""})))},
                    .outputs = {value("y", boolean, {})}}),
        make_model({.nodes = {node("StringNormalizer", {"x"}, {"y"},
                                   {word("case_change_action", "UPPER")})},
                    .inputs = {value("x", text, {""})},
                    .outputs = {value("y", text, {""})}}),
    };
  }();
  return models;
}

}  // namespace quern::fuzz
