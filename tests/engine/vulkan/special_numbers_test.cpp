// SPDX-License-Identifier: Apache-2.0
// Zeros, infinities, NaN and large numbers through every function of one and two floats: shaders
// give what the references give, where Vulkan promises less of exp, log and pow too.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "tests/engine/vulkan/vulkan_test.h"
#include "tests/graph/named_op.h"

namespace quern {
namespace {

using quern::testing::compile;
using quern::testing::device_name;
using quern::testing::must;
using quern::testing::run;
using quern::testing::session_of;
using quern::testing::values_of;
using quern::testing::VulkanTest;

constexpr float inf = std::numeric_limits<float>::infinity();
const std::vector<float> specials = {0,    -0.0f, 1,  -1,  0.5f,  -0.5f,  2,   -2,   3,
                                     1.5f, -2.5f, 90, -90, 3e38f, -3e38f, inf, -inf, std::nanf("")};
constexpr auto special_count = static_cast<std::int64_t>(18);

std::string attributes_of(std::string_view kind) {
  const std::string text = cat("kind=", kind);
  if (kind == "clip") return text + " alpha=-1 beta=2";
  if (kind == "hard_sigmoid") return text + " alpha=0.2 beta=0.5";
  if (kind == "selu") return text + " alpha=1.67 beta=1.05";
  if (kind == "affine" || kind == "scaled_tanh") return text + " alpha=2 beta=0.5";
  if (kind == "shrink") return text + " alpha=1.5 beta=0.5";
  return text + " alpha=1";
}

// Vulkan promises nothing of angles beyond pi.
bool is_of_angles(std::string_view kind) {
  return kind == "sin" || kind == "cos" || kind == "tan";
}

bool is_as_wanted(float wanted, float got) {
  if (std::isnan(wanted) || std::isnan(got)) return std::isnan(wanted) && std::isnan(got);
  if (std::isinf(wanted) || std::isinf(got)) return wanted == got;
  return std::fabs(wanted - got) <= 2e-4f * std::max(1.0f, std::fabs(wanted));
}

std::vector<std::vector<float>> numbers_on(const Model& model, const std::string& device,
                                           const std::vector<Tensor>& inputs) {
  std::vector<std::vector<float>> all;
  for (const auto& bytes : run(*session_of(compile(model.clone(), device)), inputs)) {
    auto& numbers = all.emplace_back(bytes.size() / sizeof(float));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
  }
  return all;
}

class SpecialNumbers : public VulkanTest {
 protected:
  // Every device gives what the reference gives. `what` names element i of output k; "" where
  // nothing is promised of it.
  template <class What>
  static void expect_like_reference(GraphBuilder& g, const std::vector<Tensor>& inputs,
                                    const What& what) {
    const Model model = must(g.build());
    const auto wanted = numbers_on(model, "reference", inputs);
    for (const std::string& device :
         {std::string("cpu"), device_name(), device_name() + ",as-hardware"}) {
      const auto got = numbers_on(model, device, inputs);
      for (std::size_t k = 0; k < wanted.size(); ++k)
        for (std::size_t i = 0; i < wanted[k].size(); ++i) {
          const std::string name = what(k, i);
          EXPECT_TRUE(name.empty() || is_as_wanted(wanted[k][i], got[k][i]))
              << name << " is " << got[k][i] << ", wanted " << wanted[k][i] << " on " << device;
        }
    }
  }
};

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::from_values<float>(DType::f32, shape, values);
}

TEST_F(SpecialNumbers, OfOneOperand) {
  GraphBuilder g("special");
  const Operand x = g.input("x", DType::f32, {special_count});
  const auto all = values_of("Unary", "kind");
  const auto names =
      all.first(static_cast<std::size_t>(std::ranges::find(all, "is_nan") - all.begin()));
  for (const std::string_view name : names)
    g.output(std::string(name), g.op("Unary", {x}, attributes_of(name)));
  expect_like_reference(g, {floats({special_count}, specials)}, [&](std::size_t k, std::size_t i) {
    const bool is_promised = !is_of_angles(names[k]) || std::fabs(specials[i]) <= 3;
    return is_promised ? cat(names[k], '(', specials[i], ')') : std::string();
  });
}

TEST_F(SpecialNumbers, OfTwoOperands) {
  GraphBuilder g("special");
  const Operand x = g.input("x", DType::f32, {special_count, 1});
  const Operand y = g.input("y", DType::f32, {special_count});
  const std::vector<std::string> kinds = {"add", "sub", "mul",  "div",  "pow",
                                          "min", "max", "fmod", "prelu"};
  for (const std::string& kind : kinds) g.output(kind, g.op("Binary", {x, y}, "kind=" + kind));
  expect_like_reference(g,
                        {floats({special_count, 1}, specials), floats({special_count}, specials)},
                        [&](std::size_t k, std::size_t i) {
                          return cat(kinds[k], '(', specials[i / specials.size()], ", ",
                                     specials[i % specials.size()], ')');
                        });
}

// Powers that are no repeated product keep the sign of odd ones.
TEST_F(SpecialNumbers, LargePowers) {
  const std::vector<float> bases = {-1.01f, -1.001f, -0.99f, 1.01f};
  const std::vector<float> exponents = {64, 65, 66, 67, 100, 101, -65, -66, -100, -101};
  GraphBuilder g("powers");
  g.output("y", g.op("Binary", {g.input("x", DType::f32, {4, 1}), g.input("e", DType::f32, {10})},
                     "kind=pow"));
  expect_like_reference(g, {floats({4, 1}, bases), floats({10}, exponents)},
                        [&](std::size_t, std::size_t i) {
                          return cat("pow(", bases[i / 10], ", ", exponents[i % 10], ')');
                        });
}

// Rows of ordinary numbers with one that is not; squares of the largest would be beyond f32.
std::vector<float> rows_with_specials() {
  std::vector<float> all;
  for (std::size_t r = 0; r < specials.size(); ++r)
    for (std::size_t c = 0; c < 8; ++c)
      all.push_back(c == r % 8 ? std::isfinite(specials[r]) ? std::clamp(specials[r], -1e6f, 1e6f)
                                                            : specials[r]
                               : 0.25f * static_cast<float>((r * 5 + c * 3) % 7) - 0.5f);
  return all;
}

TEST_F(SpecialNumbers, AmongOthers) {
  GraphBuilder g("special");
  const Operand x = g.input("x", DType::f32, {special_count, 8});
  const Operand image = g.reshape(x, {special_count, 1, 2, 4});
  std::vector<std::string> kinds;
  const auto add = [&](const std::string& name, const Operand& y) {
    kinds.push_back(name);
    g.output(name, y);
  };
  for (const char* kind :
       {"sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum_exp", "sum_square"})
    for (const std::int64_t axis : {0, 1})
      add(cat(kind, axis), g.op("Reduce", {x, g.integers({axis})}, cat("kind=", kind)));
  add("softmax", g.op("Softmax", {x}, "axis=1"));
  add("log_softmax", g.log_softmax(x, 1));
  add("hardmax", g.hardmax(x, 1));
  add("l2 norm", g.lp_norm(x, 1));
  add("lrn", g.lrn(g.reshape(x, {special_count, 8, 1, 1}), 3));
  add("cumsum", g.cumsum(x, 1));
  add("largest", g.top_k(x, g.integers({3}), 1)[0]);
  for (const char* kind : {"max", "average"}) {
    add(cat(kind, " pool"),
        g.op("Pool", {image}, cat("kind=", kind, " kernel=[2,2] strides=[1,1] pads=[1,1,1,1]")));
    add(cat(kind, " of all"), g.op("Pool", {image}, cat("kind=", kind, " global=true")));
  }
  add("norm pool", g.op("Pool", {image}, "kind=lp p=3 kernel=[2,2] strides=[1,1]"));
  add("layer norm", g.layer_norm(x, g.fill({8}, 1)));
  add("product", g.matmul(x, g.constant(Tensor::from_values<float>(DType::f32, {8, 2},
                                                                   std::vector<float>(16, 0.5f)))));
  add("relu of product",
      g.relu(g.matmul(x, g.constant(Tensor::from_values<float>(DType::f32, {8, 2},
                                                               std::vector<float>(16, 0.5f))))));
  add("conv", g.conv(image,
                     g.constant(Tensor::from_values<float>(DType::f32, {2, 1, 2, 2},
                                                           std::vector<float>(8, 0.5f))),
                     {}, {.pads = {1, 1, 1, 1}}));
  expect_like_reference(
      g, {floats({special_count, 8}, rows_with_specials())},
      [&](std::size_t k, std::size_t i) { return cat(kinds[k], ", element ", i); });
}

TEST_F(SpecialNumbers, ScatteredOverEachOther) {
  constexpr std::int64_t count = special_count * special_count;
  const std::vector<std::string> reductions = {"add", "mul", "max", "min"};
  std::vector<float> old, update;
  std::vector<std::int64_t> places;
  for (const float x : specials)
    for (const float y : specials) {
      places.push_back(static_cast<std::int64_t>(places.size()));
      old.push_back(x), update.push_back(y);
    }
  GraphBuilder g("special");
  const Operand x = g.input("x", DType::f32, {count});
  const Operand y = g.input("y", DType::f32, {count});
  const Operand all = g.constant(Tensor::from_values<std::int64_t>(DType::i64, {count}, places));
  for (const std::string& reduction : reductions)
    g.output(reduction, g.scatter_elements(x, all, y, 0, reduction));
  expect_like_reference(g, {floats({count}, old), floats({count}, update)},
                        [&](std::size_t k, std::size_t i) {
                          return cat(reductions[k], '(', old[i], ", ", update[i], ')');
                        });
}

// Quotients by 0 are 0, and the least integer has no positive.
TEST_F(SpecialNumbers, OfIntegers) {
  const std::vector<std::int64_t> numbers = {0, 1, -1, 7, -7, INT64_MAX, INT64_MIN};
  const std::vector<std::string> kinds = {"add", "sub", "mul", "div", "mod", "fmod", "min", "max"};
  for (const DType dtype : {DType::i64, DType::i32}) {
    GraphBuilder g("integers");
    const Operand x = g.cast(g.input("x", DType::i64, {7, 1}), dtype);
    const Operand y = g.cast(g.input("y", DType::i64, {7}), dtype);
    for (const std::string& kind : kinds) g.output(kind, g.op("Binary", {x, y}, "kind=" + kind));
    const Model model = must(g.build());
    const std::vector<Tensor> inputs = {
        Tensor::from_values<std::int64_t>(DType::i64, {7, 1}, numbers),
        Tensor::from_values<std::int64_t>(DType::i64, {7}, numbers)};
    const auto on = [&](const std::string& device) {
      return run(*session_of(compile(model.clone(), device)), inputs);
    };
    const auto wanted = on("reference");
    for (const std::string& device :
         {std::string("cpu"), device_name(), device_name() + ",as-hardware"}) {
      const auto got = on(device);
      for (std::size_t k = 0; k < kinds.size(); ++k)
        EXPECT_EQ(got[k], wanted[k]) << kinds[k] << " of " << name_of(dtype) << " on " << device;
    }
  }
}

// The last digits that a running sum has lost are back when the large ones are gone.
TEST_F(SpecialNumbers, DigitsOfARunningSum) {
  GraphBuilder g("sums");
  g.output("y", g.cumsum(g.input("x", DType::f32, {5}), 0));
  expect_like_reference(g, {floats({5}, {1e8f, 1, 1, -1e8f, 0.5f})},
                        [](std::size_t, std::size_t i) { return cat("sum ", i); });
}

// What has no weight is not read: no infinity times 0.
TEST_F(SpecialNumbers, BesideAGrid) {
  const std::vector<std::string> modes = {"nearest", "linear", "cubic"};
  GraphBuilder g("special");
  const Operand x = g.input("x", DType::f32, {1, 1, 3, 3});
  const Operand grid = g.input("grid", DType::f32, {1, 4, 4, 2});
  for (const std::string& mode : modes)
    g.output(mode,
             g.grid_sample(x, grid, {.mode = mode, .padding = "zeros", .align_corners = true}));
  std::vector<float> places;
  for (const float v : {-1.0f, 0.0f, 1.0f, -3.0f})
    for (const float u : {-1.0f, 0.0f, 1.0f, 3.0f}) places.insert(places.end(), {u, v});
  const std::vector<float> image = {inf, 1, 2, 3, 4, std::nanf(""), 5, 6, -inf};
  expect_like_reference(
      g, {floats({1, 1, 3, 3}, image), floats({1, 4, 4, 2}, places)},
      [&](std::size_t k, std::size_t i) { return cat(modes[k], ", element ", i); });
}

// Places of a grid that are no numbers, or beyond all of them.
TEST_F(SpecialNumbers, AsPlacesOfAGrid) {
  GraphBuilder g("special");
  const Operand x = g.input("x", DType::f32, {1, 1, 3, 3});
  const Operand grid = g.input("grid", DType::f32, {1, special_count, special_count, 2});
  std::vector<std::string> kinds;
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"}) {
      kinds.push_back(cat(mode, " with ", padding));
      g.output(kinds.back(), g.grid_sample(x, grid, {.mode = mode, .padding = padding}));
    }
  std::vector<float> places;
  for (const float v : specials)
    for (const float u : specials) places.insert(places.end(), {u, v});
  expect_like_reference(g,
                        {floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
                         floats({1, special_count, special_count, 2}, places)},
                        [&](std::size_t k, std::size_t i) {
                          return cat(kinds[k], " at (", places[2 * i], ", ", places[2 * i + 1],
                                     ')');
                        });
}

// What a singular matrix has for an inverse is not finite, in the same places.
TEST_F(SpecialNumbers, InInversesOfSingularMatrices) {
  const std::vector<float> matrices = {0, 0, 0, 0, 0, 0, 0, 0, 0,   // of rank 0
                                       1, 2, 3, 2, 4, 6, 1, 0, 1,   // of rank 2
                                       0, 0, 1, 0, 2, 0, 0, 3, 4};  // with a column of zeros
  GraphBuilder g("singular");
  g.output("y", g.op("Inverse", {g.input("x", DType::f32, {3, 3, 3})}));
  expect_like_reference(g, {floats({3, 3, 3}, matrices)},
                        [](std::size_t, std::size_t i) { return cat("element ", i); });
}

}  // namespace
}  // namespace quern
