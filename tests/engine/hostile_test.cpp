// SPDX-License-Identifier: Apache-2.0
// Models that import and then ask for what no machine has, or never end: a code and a sentence,
// from compile() or from run(), on every device.
#include <chrono>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <quern/device.h>
#include <quern/executable.h>
#include <quern/onnx.h>
#include <quern/session.h>

#include "tests/expect.h"
#include "tests/onnx-parser/onnx_writer.h"

namespace quern::onnx_test {
namespace {

const Message hostile_y = Message().text(1, "y");

class HostileRun : public ::testing::TestWithParam<const char*> {
 protected:
  // Compiles the model within 1 MiB and runs it on zeros for 200 ms; the first error.
  static Status run(const std::string& bytes) {
    const std::span<const std::byte> view(reinterpret_cast<const std::byte*>(bytes.data()),
                                          bytes.size());
    QUERN_ASSIGN(Model model, parse_onnx(view, nullptr));
    QUERN_ASSIGN(const auto device, open_device(GetParam()));
    CompileOptions options;
    options.memory_limit = 1 << 20;
    QUERN_ASSIGN(const auto executable, Executable::compile(std::move(model), device, options));
    QUERN_ASSIGN(const auto session, Session::create(executable));
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < executable->inputs().size(); ++i) {
      const ValueSpec& spec = executable->inputs()[i];
      QUERN_ASSIGN(inputs.emplace_back(),
                   Tensor::zeros({spec.dtype, Shape(std::span<const std::int64_t>(spec.dims))}));
      QUERN_TRY(session->set_input(i, inputs.back().view()));
    }
    return session->run_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(200));
  }
  static std::string one(std::string_view op, const Names& inputs, const Messages& constants,
                         const Messages& attributes = {}) {
    return make_model(GraphParts{.nodes = {node(op, inputs, {"y"}, attributes)},
                                 .inputs = {value("x", f32, {2, 3})},
                                 .outputs = {hostile_y},
                                 .initializers = constants});
  }
  static void expect(const std::string& model, Code code, std::string_view text) {
    const Status s = run(model);
    EXPECT_EQ(s.code(), code) << s.message();
    EXPECT_CONTAINS(std::string(s.message()), std::string(text));
  }

  static constexpr std::int64_t huge = std::int64_t{1} << 40;
  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

TEST_P(HostileRun, SizesThatNoMachineHas) {
  const auto sized = [](std::int64_t a, std::int64_t b) { return ints("s", {2}, {a, b}); };
  expect(one("Expand", {"x", "s"}, {ints("s", {3}, {huge, 2, 3})}), Code::out_of_memory, "bytes");
  expect(one("Tile", {"x", "s"}, {sized(most, most)}), Code::invalid_model,
         "node 'y' (Tile): output of f32[9223372036854775807,9223372036854775807] is too large");
  expect(one("ConstantOfShape", {"s"}, {sized(huge, huge)}), Code::invalid_model, "is too large");
  expect(make_model(GraphParts{.nodes = {node("ReduceMax", {"x"}, {"y"})},
                               .inputs = {value("x", f32, {3, 2, most})},
                               .outputs = {hostile_y}}),
         Code::invalid_model, "input 'x' of f32[3,2,9223372036854775807] is too large");
}

TEST_P(HostileRun, SizesBeyondTheMemoryLimit) {
  expect(one("ConstantOfShape", {"s"}, {ints("s", {2}, {1 << 10, 1 << 10})}), Code::out_of_memory,
         "bytes");
  const Message body = make_graph(
      {.nodes = {node("Identity", {"c"}, {"d"}),
                 node("Concat", {"s", "s"}, {"t"}, {integer("axis", 0)})},
       .inputs = {value("i", i64, {}), value("c", boolean, {}), value("s", f32, {"n", 3})},
       .outputs = {Message().text(1, "d"), Message().text(1, "t")}});
  expect(one("Loop", {"n", "", "x"}, {ints("n", {}, {40})}, {graph("body", body)}),
         Code::out_of_memory, "bytes");
}

// Strings that double with each node; no shape says so.
TEST_P(HostileRun, StringsWithoutAnEnd) {
  const Message word = tensor_header("a0", text, {1}).text(6, std::string(100, 'a'));
  Messages nodes;
  for (int i = 0; i < 60; ++i) {
    const std::string from = "a" + std::to_string(i), to = "a" + std::to_string(i + 1);
    nodes.push_back(node("StringConcat", {from, from}, {to}));
  }
  nodes.push_back(node("Identity", {"a60"}, {"y"}));
  expect(make_model(GraphParts{.nodes = nodes, .outputs = {hostile_y}, .initializers = {word}}, 20),
         Code::out_of_memory, "the strings of this run");
}

TEST_P(HostileRun, LoopsThatMakeStringsMeetTheLimit) {
  const Message body = make_graph(
      {.nodes = {node("Identity", {"c"}, {"d"}), node("Cast", {"i"}, {"t"}, {integer("to", 8)})},
       .inputs = {value("i", i64, {}), value("c", boolean, {}), value("s", text, {})},
       .outputs = {Message().text(1, "d"), Message().text(1, "t")}});
  const Message word = tensor_header("w", text, {}).text(6, "a");
  expect(one("Loop", {"n", "", "w"}, {ints("n", {}, {1 << 30}), word}, {graph("body", body)}),
         Code::out_of_memory, "the strings of this run");
}

TEST_P(HostileRun, IndicesOutOfRange) {
  expect(one("Gather", {"x", "s"}, {ints("s", {1}, {most})}), Code::invalid_argument, "(Gather)");
  expect(one("ScatterND", {"x", "i", "u"}, {ints("i", {1, 2}, {0, -9}), floats("u", {1}, {1})}),
         Code::invalid_argument, "(Scatter)");
}

// A loop of 2^63 - 1 trips whose body is `nodes` over the state "s".
std::string loop(const Messages& nodes, const Dimensions& state) {
  Messages all = {node("Identity", {"c"}, {"d"})};
  all.insert(all.end(), nodes.begin(), nodes.end());
  const Message body =
      make_graph({.nodes = all,
                  .inputs = {value("i", i64, {}), value("c", boolean, {}), value("s", f32, state)},
                  .outputs = {Message().text(1, "d"), Message().text(1, "t")}});
  return make_model(
      GraphParts{.nodes = {node("Loop", {"n", "", "x"}, {"y"}, {graph("body", body)})},
                 .inputs = {value("x", f32, {2})},
                 .outputs = {hostile_y},
                 .initializers = {ints("n", {}, {std::numeric_limits<std::int64_t>::max()})}});
}

TEST_P(HostileRun, LoopsWithoutAnEndMeetTheDeadline) {
  expect(loop({node("Add", {"s", "s"}, {"t"})}, {2}), Code::timed_out, "deadline");
}

INSTANTIATE_TEST_SUITE_P(Devices, HostileRun, ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace quern::onnx_test
