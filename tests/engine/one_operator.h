// SPDX-License-Identifier: Apache-2.0
// A model of one operator of com.microsoft, and what it must give in every way to run it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/engine/engine_test.h"
#include "tests/engine/onnx_run.h"

namespace quern::testing {

// An input of the operator; a tensor that is not valid() is left out.
struct Fed {
  Tensor tensor;
  std::int64_t dtype = onnx_test::f32;
  bool is_constant = false;
};

// A model declares numbers for all dimensions of its inputs, or only for the last one.
enum class Declared : std::uint8_t { all, last };
// True if it says that it uses operators of com.microsoft; it need not.
enum class Imports : std::uint8_t { named, unnamed };

struct OneOperator {
  std::string_view op;
  std::vector<Fed> fed;  // x0, x1, ...
  onnx_test::Messages attributes;
  std::size_t outputs = 1;  // y0, y1, ...
  Declared dims = Declared::all;
  Imports imports = Imports::named;
  std::set<std::size_t> skipped = {};  // outputs that are left out
};

inline std::string model_of(const OneOperator& one) {
  using namespace onnx_test;  // NOLINT: the words of the writer
  static const Names in = {"x0", "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",
                           "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17"};
  static const Names out = {"y0", "y1", "y2", "y3", "y4"};
  GraphParts g;
  Names names;
  for (std::size_t i = 0; i < one.fed.size(); ++i) {
    const Tensor& t = one.fed[i].tensor;
    names.push_back(t.valid() ? in[i] : "");
    if (!t.valid()) continue;
    if (one.fed[i].is_constant) {
      Message m;
      for (const std::int64_t d : t.shape().dims()) m.number(1, d);
      const std::string_view bytes(reinterpret_cast<const char*>(t.data()), t.bytes());
      g.initializers.push_back(m.number(2, one.fed[i].dtype).text(8, in[i]).text(9, bytes));
      continue;
    }
    onnx_test::Dimensions dims(t.shape().begin(), t.shape().end());
    if (one.dims == Declared::last)
      for (std::size_t d = 0; d + 1 < dims.size(); ++d)
        dims[d] = std::string(in[i]) + "_" + std::to_string(d);
    g.inputs.push_back(value(in[i], one.fed[i].dtype, dims));
  }
  Names made(out.begin(), out.begin() + static_cast<long>(one.outputs));
  for (const std::size_t i : one.skipped) made[i] = "";
  g.nodes = {node(one.op, names, made, one.attributes, {.name = "n", .domain = "com.microsoft"})};
  for (const std::string_view name : made)
    if (!name.empty()) g.outputs.push_back(Message().text(1, name));
  Messages opsets = {opset("", 21)};
  if (one.imports == Imports::named) opsets.push_back(opset("com.microsoft", 1));
  return make_model(make_graph(g), {.opsets = opsets});
}

// The tensors that are inputs of the model.
inline Tensors inputs_of(const OneOperator& one) {
  Tensors inputs;
  for (const Fed& f : one.fed)
    if (f.tensor.valid() && !f.is_constant) inputs.push_back(f.tensor);
  return inputs;
}

// Why the parser refuses the graph; "none": it does not.
inline std::string refusal_of(const onnx_test::GraphParts& g) {
  using namespace onnx_test;  // NOLINT: the words of the writer
  const std::string model = make_model(make_graph(g), {.opsets = {opset("", 21)}});
  const auto parsed = parse_onnx(std::as_bytes(std::span(model)), nullptr);
  return parsed ? std::string("none") : std::string(parsed.error().message());
}

// Every output in every way, element by element within `rounding`.
inline void expect_values(const OneOperator& one, const std::vector<std::vector<float>>& wanted,
                          float rounding = 2e-5F) {
  const std::string model = model_of(one);
  for (const Way& way : ways()) {
    const Tensors found = must(run_onnx(model, inputs_of(one), way));
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t o = 0; o < wanted.size(); ++o)
      EXPECT_THAT(found[o].span<float>(),
                  ::testing::Pointwise(::testing::FloatNear(rounding), wanted[o]))
          << ::testing::PrintToString(way) << ", output " << o;
  }
}

}  // namespace quern::testing
