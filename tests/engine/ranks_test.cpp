// SPDX-License-Identifier: Apache-2.0
// Tensors of up to sixteen dimensions: what operators make of them is what they make of the same
// elements with fewer, on the CPU's kernels and on the references.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <quern/executable.h>
#include <quern/onnx.h>
#include <quern/session.h>

#include "tests/expect.h"
#include "tests/onnx-parser/onnx_writer.h"

namespace quern::onnx_test {
namespace {

using Ints = std::vector<std::int64_t>;

// Sixteen dimensions, of which `wide` are more than one.
const Ints sixteen = {2, 1, 1, 3, 1, 2, 1, 1, 4, 1, 1, 2, 1, 1, 3, 5};
const Ints wide = {0, 3, 5, 8, 11, 14, 15};

Ints without_ones(const Ints& dims) {
  Ints kept;
  std::ranges::copy_if(dims, std::back_inserter(kept), [](std::int64_t d) { return d != 1; });
  return kept;
}

Message list(std::string_view name, const Ints& values) {
  Message m = attribute(name, 7);
  for (const std::int64_t v : values) m.number(8, v);
  return m;
}

Message i64_list(std::string_view name, const Ints& values) {
  Message m = Message().number(1, static_cast<std::int64_t>(values.size())).number(2, i64);
  std::string bytes(values.size() * sizeof(std::int64_t), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return m.text(8, name).text(9, bytes);
}

Message type_with(const Ints& dims) {
  return tensor_type(f32, Dimensions(dims.begin(), dims.end()));
}

struct Answer {
  Ints dims;
  std::vector<float> elements;
  std::string error;
};

// Of a model with input x, and perhaps w, which gives y.
Answer answer_of(const GraphParts& parts, const std::vector<Ints>& shapes,
                 std::string_view device) {
  const std::string bytes = make_model(parts);
  auto model =
      parse_onnx({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, nullptr);
  if (!model) return {.error = std::string(model.error().message())};
  auto opened = open_device(device);
  if (!opened) return {.error = std::string(opened.error().message())};
  auto executable = Executable::compile(std::move(*model), *opened, {.threads = 1});
  if (!executable) return {.error = std::string(executable.error().message())};
  auto session = Session::create(*executable);
  if (!session) return {.error = std::string(session.error().message())};
  std::vector<std::vector<float>> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Shape shape{std::span<const std::int64_t>(shapes[i])};
    std::vector<float>& x = inputs.emplace_back(static_cast<std::size_t>(shape.elements()));
    for (std::size_t k = 0; k < x.size(); ++k)
      x[k] = static_cast<float>((k * 37 + i) % 101) / 50 - 1;
    const auto* data = reinterpret_cast<const std::byte*>(x.data());
    if (Status s = (*session)->set_input(i, {{DType::f32, shape}, data}); !s.ok())
      return {.error = std::string(s.message())};
  }
  if (Status s = (*session)->run(); !s.ok()) return {.error = std::string(s.message())};
  const auto y = (*session)->output(0);
  if (!y) return {.error = std::string(y.error().message())};
  const auto elements = y->span<float>();
  return {Ints(y->type.shape.begin(), y->type.shape.end()), {elements.begin(), elements.end()}, ""};
}

// The same operator on sixteen dimensions and on those that are more than one.
struct Pair {
  std::string_view what;
  GraphParts many, few;
  std::vector<Ints> many_shapes, few_shapes;
};

GraphParts one_node(std::string_view op, const std::vector<Ints>& shapes,
                    const Messages& attributes, const Messages& initializers = {},
                    const Names& more = {}) {
  static const Names names = {"x", "w"};
  GraphParts g;
  Names inputs(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shapes.size()));
  for (std::size_t i = 0; i < shapes.size(); ++i)
    g.inputs.push_back(value(names[i], type_with(shapes[i])));
  inputs.insert(inputs.end(), more.begin(), more.end());
  g.nodes = {node(op, inputs, {"y"}, attributes)};
  g.outputs = {Message().text(1, "y")};
  g.initializers = initializers;
  return g;
}

// With an attribute that names the `at`-th of the wide axes.
Pair along(std::string_view op, std::size_t at, std::size_t operands = 1) {
  const std::vector<Ints> many(operands, sixteen), few(operands, without_ones(sixteen));
  return {op, one_node(op, many, {integer("axis", wide[at])}),
          one_node(op, few, {integer("axis", static_cast<std::int64_t>(at))}), many, few};
}

// All dimensions in reverse.
Pair transposed() {
  const Ints few = without_ones(sixteen);
  Ints all(sixteen.size()), some(few.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<std::int64_t>(all.size() - 1 - i);
  for (std::size_t i = 0; i < some.size(); ++i)
    some[i] = static_cast<std::int64_t>(some.size() - 1 - i);
  return {"Transpose",
          one_node("Transpose", {sixteen}, {list("perm", all)}),
          one_node("Transpose", {few}, {list("perm", some)}),
          {sixteen},
          {few}};
}

// An operand that is one along every second wide axis.
Pair broadcast(std::string_view op) {
  const Ints few = without_ones(sixteen);
  Ints w = sixteen, small = few;
  for (std::size_t i = 0; i < wide.size(); i += 2) {
    w[static_cast<std::size_t>(wide[i])] = 1;
    small[i] = 1;
  }
  const std::vector<Ints> many_shapes = {sixteen, w}, few_shapes = {few, small};
  return {op, one_node(op, many_shapes, {}), one_node(op, few_shapes, {}), many_shapes, few_shapes};
}

Pair reduced(std::string_view op) {
  const Ints few = without_ones(sixteen);
  return {op,
          one_node(op, {sixteen}, {list("axes", {wide[1], wide[3], wide[6]})}),
          one_node(op, {few}, {list("axes", {1, 3, 6})}),
          {sixteen},
          {few}};
}

Pair sliced() {
  const Ints few = without_ones(sixteen);
  const auto parts = [](const Ints& dims, const Ints& axes) {
    return one_node("Slice", {dims}, {},
                    {i64_list("starts", {1, 3}), i64_list("ends", {9, -9}), i64_list("axes", axes),
                     i64_list("steps", {1, -2})},
                    {"starts", "ends", "axes", "steps"});
  };
  return {"Slice", parts(sixteen, {wide[1], wide[3]}), parts(few, {1, 3}), {sixteen}, {few}};
}

Pair gathered() {
  const Ints few = without_ones(sixteen);
  const auto parts = [](const Ints& dims, std::int64_t axis) {
    return one_node("Gather", {dims}, {integer("axis", axis)}, {i64_list("places", {3, 0, 3, 1})},
                    {"places"});
  };
  return {"Gather", parts(sixteen, wide[3]), parts(few, 3), {sixteen}, {few}};
}

// By a matrix [5, 2]: the leading dimensions are a batch.
Pair multiplied() {
  const Ints few = without_ones(sixteen), w = {5, 2};
  return {"MatMul",
          one_node("MatMul", {sixteen, w}, {}),
          one_node("MatMul", {few, w}, {}),
          {sixteen, w},
          {few, w}};
}

TEST(Ranks, OfSixteenAreAsTheirDimensionsAboveOne) {
  const Pair pairs[] = {broadcast("Add"),
                        broadcast("Mul"),
                        transposed(),
                        along("Softmax", 3),
                        along("Softmax", 6),
                        along("Concat", 2, 2),
                        reduced("ReduceMean"),
                        reduced("ReduceMax"),
                        sliced(),
                        gathered(),
                        multiplied(),
                        along("LogSoftmax", 0)};
  for (const Pair& p : pairs)
    for (const std::string_view device : {"cpu", "reference"}) {
      const std::string trace = std::string(p.what) + " on " + std::string(device);
      SCOPED_TRACE(trace);
      const Answer many = answer_of(p.many, p.many_shapes, device);
      const Answer few = answer_of(p.few, p.few_shapes, "reference");
      ASSERT_EQ(many.error, "");
      ASSERT_EQ(few.error, "");
      EXPECT_EQ(without_ones(many.dims), without_ones(few.dims));
      EXPECT_GE(many.dims.size(), 16U);
      ASSERT_EQ(many.elements.size(), few.elements.size());
      for (std::size_t i = 0; i < few.elements.size(); ++i)
        ASSERT_NEAR(many.elements[i], few.elements[i], 1e-6) << i;
    }
}

// None of the dimensions can be dropped or merged: the transposition exchanges all of them.
TEST(Ranks, OfTenWithoutOnesAreTransposed) {
  const Ints dims(10, 2);
  Ints reverse;
  for (std::int64_t i = 9; i >= 0; --i) reverse.push_back(i);
  for (const std::string_view device : {"cpu", "reference"}) {
    const Answer y =
        answer_of(one_node("Transpose", {dims}, {list("perm", reverse)}), {dims}, device);
    ASSERT_EQ(y.error, "");
    ASSERT_EQ(y.elements.size(), 1024U);
    for (std::size_t i = 0; i < 1024; ++i) {
      std::size_t mirrored = 0;  // the bits of an index are its place along each dimension
      for (std::size_t b = 0; b < 10; ++b) mirrored |= (i >> b & 1) << (9 - b);
      ASSERT_EQ(y.elements[i], static_cast<float>(mirrored * 37 % 101) / 50 - 1) << i;
    }
  }
}

TEST(Ranks, AboveSixteenAreRefused) {
  const Answer y = answer_of(one_node("Neg", {Ints(17, 1)}, {}), {Ints(16, 1)}, "cpu");
  EXPECT_CONTAINS(y.error, "rank 17, the most is 16");
}

}  // namespace
}  // namespace quern::onnx_test
