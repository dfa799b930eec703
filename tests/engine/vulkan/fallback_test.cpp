// SPDX-License-Identifier: Apache-2.0
// What shaders do not take, the host computes: the numbers are those of the reference.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "tests/engine/vulkan/vulkan_test.h"

namespace quern {
namespace {

using quern::testing::compile;
using quern::testing::device_name;
using quern::testing::must;
using quern::testing::pattern;
using quern::testing::run;
using quern::testing::session_of;

class Fallback : public quern::testing::VulkanTest {};

// ---- slices by as many coordinates as a tensor has dimensions: a shader takes six

const Shape many_dimensions = {2, 1, 2, 1, 2, 1, 2, 3};

Model slices_by(std::int64_t coordinates) {
  const auto of = static_cast<std::size_t>(coordinates);
  std::vector<std::int64_t> tuples;
  for (const std::int64_t row : {0, 1})
    for (std::size_t d = 0; d < of; ++d) tuples.push_back(d == of - 1 ? 1 - row : row);
  for (std::size_t i = 0; i < tuples.size(); ++i)
    tuples[i] = std::min(tuples[i], many_dimensions[i % of] - 1);
  Shape slices = {2};
  for (std::size_t d = of; d < many_dimensions.rank(); ++d) slices.push_back(many_dimensions[d]);
  GraphBuilder g(cat(coordinates, " coordinates"));
  const Operand x = g.input("x", DType::f32, {2, 1, 2, 1, 2, 1, 2, 3});
  const Operand places =
      g.constant(Tensor::from_values<std::int64_t>(DType::i64, {2, coordinates}, tuples));
  g.output("gathered", g.gather_nd(x, places));
  g.output("scattered", g.scatter_nd(x, places, g.constant(pattern(slices))));
  return must(g.build());
}

TEST_F(Fallback, TakesSlicesByManyCoordinates) {
  for (std::int64_t count = 1; count <= 8; ++count) {
    const auto on = [&](const std::string& device) {
      return run(*session_of(compile(slices_by(count), device)), {pattern(many_dimensions)});
    };
    EXPECT_EQ(on(device_name()), on("reference")) << count << " coordinates";
  }
}

// ---- tensors without elements

Model movements() {
  GraphBuilder g("movements");
  const Operand x = g.input("x", DType::f32, {"N", 8, 2, "W"});
  g.output("space", g.depth_to_space(x, 2));
  g.output("depth", g.space_to_depth(x, 2));
  g.output("transposed", g.transpose(x, {1, 0, 3, 2}));
  g.output("slice", g.slice(x, {1}, {3}, {.axes = {2}}));
  g.output("pad", g.pad(x, {0, 0, 1, 1, 0, 0, 1, 1}));
  g.output("tile", g.tile(x, {1, 2, 1, 1}));
  g.output("joined", g.concat({x, x}, 1));
  g.output("sum", g.add(x, g.scalar(1)));
  g.output("softmax", g.softmax(x));
  g.output("largest", g.op("Reduce", {x, g.integers({1})}, "kind=max"));
  g.output("product", g.matmul(x, g.transpose(x, {0, 1, 3, 2})));
  return must(g.build());
}

std::vector<std::string> types_on(const std::string& device, const Shape& shape) {
  const auto session = session_of(compile(movements(), device));
  const Tensor x = must(Tensor::zeros({DType::f32, shape}));
  must(session->set_input(0, x.view()));
  must(session->run());
  std::vector<std::string> types;
  for (std::size_t i = 0; i < session->executable().outputs().size(); ++i)
    types.push_back(must(session->output(i)).type.text());
  return types;
}

TEST_F(Fallback, TakesTensorsWithoutElements) {
  for (const Shape& shape : {Shape{0, 8, 2, 4}, {1, 8, 2, 0}, {1, 8, 2, 4}}) {
    const auto wanted = types_on("reference", shape);
    EXPECT_EQ(types_on(device_name(), shape), wanted);
    EXPECT_EQ(types_on(device_name() + ",as-hardware", shape), wanted);
  }
}

// ---- integers whose rows have scales of their own

TEST_F(Fallback, TakesProductsOfScaledRows) {
  GraphBuilder g("rows");
  const auto bytes = [&](const Shape& shape, int factor) {
    std::vector<std::uint8_t> all(static_cast<std::size_t>(shape.elements()));
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<std::uint8_t>(i * factor % 19);
    return g.constant(Tensor::from_values<std::uint8_t>(DType::u8, shape, all));
  };
  const auto scales = [&](const std::vector<float>& values) {
    return g.constant(
        Tensor::from_values<float>(DType::f32, {static_cast<std::int64_t>(values.size())}, values));
  };
  const Operand x = g.cast(g.input("x", DType::f32, {3, 8}), DType::u8);
  const Operand zero = g.scalar(2, DType::u8);
  const Operand one = g.scalar(0.5);
  g.output("scales of rows", g.op("QLinearMatMul", {x, scales({0.5, 0.25, 1}), bytes({3}, 1),
                                                    bytes({8, 4}, 7), one, zero, one, zero}));
  g.output("zeros of rows",
           g.op("MatMulInteger", {x, bytes({8, 4}, 5), bytes({3}, 2), bytes({4}, 3)}));
  g.output("columns", g.op("QLinearMatMul", {x, one, zero, bytes({8, 4}, 7), scales({1, 2, 3, 4}),
                                             bytes({4}, 1), one, zero}));
  const Model model = must(g.build());
  const Tensor rows = Tensor::from_values<float>(
      DType::f32, {3, 8},
      std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6});
  const auto on = [&](const std::string& device) {
    return run(*session_of(compile(model.clone(), device)), {rows});
  };
  EXPECT_EQ(on(device_name()), on("reference"));
}

// ---- sums over more labels than a tensor has dimensions

TEST_F(Fallback, TakesSumsOverManyLabels) {
  GraphBuilder g("labels");
  const Operand x = g.input("x", DType::f32, {2, 1, 2, 1, 2, 1, 2, 3});
  const Operand z = g.input("z", DType::f32, {1, 2, 1, 3, 2, 1, 1, 1, 1, 1});
  g.output("y", g.einsum("abcdefgh,ijklmnopqr->", Operands{x, z}));
  g.output("z", g.einsum("abcdefgh,ijklmnopqr->m", Operands{x, z}));
  const Model model = must(g.build());
  const auto on = [&](const std::string& device) {
    return run(*session_of(compile(model.clone(), device)),
               {pattern(many_dimensions), pattern({1, 2, 1, 3, 2, 1, 1, 1, 1, 1})});
  };
  EXPECT_EQ(on(device_name()), on("reference"));
}

}  // namespace
}  // namespace quern
