// SPDX-License-Identifier: Apache-2.0
// Every function of broadcast.comp on elements of every type that it takes, at the ends of the
// types and around zero: the device alone gives the bits of the reference, and of f64 where no
// function is approximated.
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "tests/engine/vulkan/vulkan_test.h"
#include "tests/graph/named_op.h"

namespace quern {
namespace {

using quern::testing::compile;
using quern::testing::device_name;
using quern::testing::must;
using quern::testing::run;
using quern::testing::session_of;
using quern::testing::VulkanTest;

constexpr DType integers[] = {DType::i8, DType::i16, DType::i32, DType::i64,
                              DType::u8, DType::u16, DType::u32, DType::u64};
constexpr DType numbers[] = {DType::f32, DType::f64, DType::f16,    DType::bf16, DType::i8,
                             DType::i16, DType::i32, DType::i64,    DType::u8,   DType::u16,
                             DType::u32, DType::u64, DType::boolean};

// Integers whose low bits are the ends of each type, and those next to them; some that floats of
// any width have to round.
std::vector<std::int64_t> whole_numbers() {
  std::vector<std::int64_t> all = {0,
                                   1,
                                   2,
                                   3,
                                   5,
                                   7,
                                   8,
                                   9,
                                   31,
                                   63,
                                   64,
                                   100,
                                   257,
                                   0x1000081,
                                   0x1008001,
                                   0x7f0000010001,
                                   0x123456789abcdef};
  for (const int bits : {7, 8, 15, 16, 23, 24, 31, 32, 53, 62}) {
    const std::int64_t power = std::int64_t{1} << bits;
    all.insert(all.end(), {power - 1, power, power + 1});
  }
  all.push_back(std::numeric_limits<std::int64_t>::max());
  const std::size_t count = all.size();
  for (std::size_t i = 0; i < count; ++i) all.push_back(-all[i]);
  all.push_back(std::numeric_limits<std::int64_t>::min());
  return all;
}

std::vector<double> real_numbers() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<double> all = {0,
                             0.25,
                             0.5,
                             0.75,
                             1,
                             1.5,
                             2.5,
                             3,
                             7.75,
                             126.5,
                             127.5,
                             128,
                             255.5,
                             256,
                             1e5,
                             65519.99,
                             65520,
                             3e9,
                             5e9,
                             1.7e19,
                             2e19,
                             1e30,
                             3.5e38,
                             1e300,
                             inf,
                             0.1,
                             1.0009765625,
                             1.00048828125,
                             1.000488281251,
                             1.00390625000001};
  const std::size_t count = all.size();
  for (std::size_t i = 0; i < count; ++i) all.push_back(-all[i]);
  all.push_back(std::nan(""));
  return all;
}

Tensor elements_of(DType t) {
  const auto fill = [&](const auto& values) {
    const auto n = static_cast<std::int64_t>(values.size());
    Tensor made = must(Tensor::zeros({t, {n}}));
    visit_dtype(t, [&]<class T>(TypeTag<T>) {
      if constexpr (is_number_type<T> || std::is_same_v<T, bool>)
        for (std::int64_t i = 0; i < n; ++i) {
          const auto v = static_cast<T>(convert<std::conditional_t<is_float_type<T>, double, T>>(
              values[static_cast<std::size_t>(i)]));
          std::memcpy(made.mutable_data() + i * static_cast<std::int64_t>(sizeof v), &v, sizeof v);
        }
    });
    return made;
  };
  return is_number_float(t) ? fill(real_numbers()) : fill(whole_numbers());
}

std::vector<double> as_doubles(DType t, const std::vector<std::byte>& bytes) {
  std::vector<double> all;
  visit_dtype(t, [&]<class T>(TypeTag<T>) {
    if constexpr (is_float_type<T>)
      for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
        T v;
        std::memcpy(&v, bytes.data() + i * sizeof(T), sizeof v);
        all.push_back(static_cast<double>(ComputeType<T>(v)));
      }
  });
  return all;
}

std::vector<std::int64_t> range(std::int64_t n) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// NaNs are equal. `digits`: the share of a number that it may be wrong by; denormal ones may then
// be zero.
void expect_same(DType t, const std::vector<std::byte>& got, const std::vector<std::byte>& wanted,
                 double digits) {
  ASSERT_EQ(got.size(), wanted.size());
  if (!is_number_float(t)) {
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], wanted[i]) << "byte " << i;
    return;
  }
  const auto x = as_doubles(t, got);
  const auto y = as_doubles(t, wanted);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])) ||
                      std::fabs(x[i] - y[i]) <= digits * std::fmax(std::fabs(y[i]), 1e-295);
    EXPECT_TRUE(same) << "element " << i << " is " << x[i] << ", wanted " << y[i];
  }
}

class TypesTest : public VulkanTest {
 protected:
  // An input of all elements of the type.
  static Operand row(GraphBuilder& g, std::vector<Tensor>& inputs, DType t) {
    inputs.push_back(elements_of(t));
    return g.input(cat("x", inputs.size()), t, {inputs.back().type().shape[0]});
  }
  static void expect_like_reference(GraphBuilder& g, const std::vector<Tensor>& inputs,
                                    double digits = 0) {
    const Model model = must(g.build());
    const auto reference = compile(model.clone(), "reference");
    const auto wanted = run(*session_of(reference), inputs);
    const auto got = run(*session_of(compile(model.clone(), device_name() + ",strict")), inputs);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      SCOPED_TRACE(reference->outputs()[k].name);
      expect_same(reference->outputs()[k].dtype, got[k], wanted[k], digits);
    }
  }
};

TEST_F(TypesTest, FunctionsOfTwoIntegers) {
  for (const DType t : integers) {
    GraphBuilder g("integers");
    std::vector<Tensor> inputs;
    const Operand y = row(g, inputs, t);
    const Operand x = g.unsqueeze(row(g, inputs, t), {1});
    for (const std::string_view kind : testing::values_of("Binary", "kind"))
      if (!kind.starts_with("logical"))
        g.output(cat(kind, " of ", name_of(t)), g.op("Binary", {x, y}, cat("kind=", kind)));
    expect_like_reference(g, inputs);
  }
}

TEST_F(TypesTest, FunctionsOfOneInteger) {
  for (const DType t : integers) {
    GraphBuilder g("integers");
    std::vector<Tensor> inputs;
    const Operand x = row(g, inputs, t);
    for (const char* kind : {"relu", "abs", "neg", "sign", "bitwise_not", "reciprocal",
                             "clip alpha=-3 beta=100", "clip alpha=1e30 beta=-1e30"})
      g.output(cat(kind, " of ", name_of(t)), g.op("Unary", {x}, cat("kind=", kind)));
    expect_like_reference(g, inputs);
  }
}

TEST_F(TypesTest, PowersOfIntegersByOthers) {
  for (const DType t : integers) {
    GraphBuilder g("powers");
    std::vector<Tensor> inputs;
    const Operand x = g.unsqueeze(row(g, inputs, t), {1});
    for (const DType e : integers)
      g.output(cat(name_of(t), " by ", name_of(e)), g.pow(x, row(g, inputs, e)));
    expect_like_reference(g, inputs);
  }
}

TEST_F(TypesTest, Casts) {
  for (const DType from : numbers) {
    GraphBuilder g("casts");
    std::vector<Tensor> inputs;
    const Operand x = row(g, inputs, from);
    for (const DType to : numbers)
      if (to != from) g.output(cat(name_of(from), " to ", name_of(to)), g.cast(x, to));
    expect_like_reference(g, inputs);
  }
}

// All elements of a byte, and numbers around those that floats of a byte have.
TEST_F(TypesTest, CastsOfTypesOfAByteOrLess) {
  constexpr DType small[] = {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz,
                             DType::f4e2m1,   DType::f8e8m0,     DType::i4,     DType::u4,
                             DType::i2,       DType::u2};
  GraphBuilder g("small");
  std::vector<Tensor> inputs;
  const auto add = [&](DType t, const auto& values) {
    const auto n = static_cast<std::int64_t>(values.size());
    inputs.push_back(must(Tensor::zeros({t, {n}})));
    std::memcpy(inputs.back().mutable_data(), values.data(), inputs.back().bytes());
    return g.input(cat("x", inputs.size()), t, {n});
  };
  std::vector<float> around;
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 256; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i));
    for (const int exponent : {i - 128, (i & 31) - 18})
      for (const float digits : {1.0F, 1.0625F, 1.125F, 1.25F, 1.4375F, 1.5F, 1.75F, 1.9999F})
        around.push_back(std::ldexp(i & 1 ? -digits : digits, exponent));
  }
  around.insert(around.end(), {0, -0.0F, INFINITY, -INFINITY, NAN, 0x1p-127F, 0x1.8p-127F, 3e38F});
  const Operand x = add(DType::f32, around);
  for (const DType t : small)
    for (const char* saturate : {"true", "false"})
      for (const char* rounding : {"up", "nearest", "down"})
        if (t == DType::f8e8m0 || rounding[0] == 'u')
          g.output(cat("to ", name_of(t), saturate, rounding),
                   g.op("Cast", {x},
                        cat("to=", name_of(t), " saturate=", saturate, " rounding=", rounding)));
  for (const DType t : small) {
    std::vector<std::uint8_t> elements = bytes;
    if (bits_of(t) < 8) elements = {0, 1, 2, 3};
    if (t == DType::i2 || t == DType::i4) elements = {0, 1, 254, 255};
    if (t == DType::f4e2m1) elements.assign(bytes.begin(), bytes.begin() + 16);
    const Operand of = add(t, elements);
    for (const DType to : {DType::f32, DType::f16, DType::bf16, DType::boolean})
      g.output(cat(name_of(t), " to ", name_of(to)), g.cast(of, to));
    if (!is_integer(t)) continue;
    for (const DType to : {DType::i8, DType::u64, DType::f64, DType::u2, DType::i4})
      if (to != t) g.output(cat(name_of(t), " to ", name_of(to)), g.cast(of, to));
  }
  const Operand whole = row(g, inputs, DType::i64);
  const Operand doubles = row(g, inputs, DType::f64);
  for (const DType t : {DType::i4, DType::u4, DType::i2, DType::u2}) {
    g.output(cat("of integers ", name_of(t)), g.cast(whole, t));
    g.output(cat("of doubles ", name_of(t)), g.cast(doubles, t));
  }
  expect_like_reference(g, inputs);
}

// By one scale, by scales along an axis, and by blocks; with NaN, infinities and numbers out of
// range.
TEST_F(TypesTest, QuantisedElements) {
  GraphBuilder g("quantised");
  std::vector<float> values;
  for (int i = 0; i < 96; ++i)
    values.push_back(i % 19 == 7   ? NAN
                     : i % 23 == 5 ? -INFINITY
                                   : std::sin(i * 1.7F) * std::exp2(i % 17));
  const Operand x = g.constant(Tensor::from_values<float>(DType::f32, {2, 12, 4}, values));
  const auto scales = [&](const Shape& shape) {
    std::vector<float> some;
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      some.push_back(0.25F + 0.3F * static_cast<float>(i % 5));
    return g.constant(Tensor::from_values<float>(DType::f32, shape, some));
  };
  const Operand given = g.mul(x, g.input("one", DType::f32, {}));
  for (const DType t : {DType::u8, DType::i8, DType::u16, DType::i16, DType::u4, DType::i4,
                        DType::u2, DType::i2, DType::f8e4m3fn, DType::f8e5m2, DType::f4e2m1})
    for (const auto& [name, shape] : {std::pair("one", Shape{}), std::pair("axis", Shape{12}),
                                      std::pair("blocks", Shape{2, 4, 4})}) {
      const std::string to = cat("to=", name_of(t), " ");
      const std::string where = shape.rank() == 3 ? "block_size=3 axis=1" : "axis=1";
      Operands by = {scales(shape)};
      if (is_integer(t))
        by.push_back(g.cast(g.add(g.mul(scales(shape), g.scalar(0)), g.scalar(1)), t));
      const auto with = [&](const Operand& v) {
        Operands all = {v};
        all.insert(all.end(), by.begin(), by.end());
        return all;
      };
      const Operand q = g.op("Quantize", with(given), to + where);
      g.output(cat(name_of(t), name), q);
      g.output(cat("back ", name_of(t), name), g.op("Dequantize", with(q), where));
    }
  expect_like_reference(g, {Tensor::scalar<float>(DType::f32, 1)});
}

TEST_F(TypesTest, ChoicesOfEveryType) {
  GraphBuilder g("choices");
  std::vector<Tensor> inputs;
  const Operand which = row(g, inputs, DType::boolean);
  for (const DType t : numbers) {
    const Operand x = row(g, inputs, t);
    const Operand two = g.slice(x, {0}, {1});
    g.output(cat(name_of(t)), g.where(g.unsqueeze(which, {1}), x, two));
  }
  expect_like_reference(g, inputs);
}

TEST_F(TypesTest, FunctionsOfDoubles) {
  GraphBuilder g("doubles");
  std::vector<Tensor> inputs;
  const Operand y = row(g, inputs, DType::f64);
  const Operand x = g.unsqueeze(row(g, inputs, DType::f64), {1});
  for (const char* kind : {"add", "sub", "mul", "div", "mod", "fmod", "min", "max", "prelu",
                           "equal", "less", "less_equal", "greater", "greater_equal"})
    g.output(kind, g.op("Binary", {x, y}, cat("kind=", kind)));
  for (const char* kind : {"abs", "neg", "sign", "ceil", "floor", "round", "sqrt", "reciprocal",
                           "relu", "leaky_relu alpha=0.1", "thresholded_relu alpha=1",
                           "clip alpha=-1.1 beta=2.5", "is_nan", "is_inf alpha=1"})
    g.output(kind, g.op("Unary", {y}, cat("kind=", kind)));
  expect_like_reference(g, inputs);
}

// Rows of many elements, and columns, whose results share words.
TEST_F(TypesTest, Reductions) {
  for (const DType t : numbers) {
    const bool is_float = is_number_float(t);
    if (is_float && t != DType::f64) continue;
    GraphBuilder g("reductions");
    std::vector<Tensor> inputs;
    const Operand x = row(g, inputs, t);
    const std::int64_t n = inputs[0].type().shape[0];
    const Operand square =
        g.where(g.less(g.unsqueeze(g.integers(range(n)), {1}), g.scalar(9, DType::i64)), x,
                g.slice(x, {1}, {2}));
    for (const std::string_view kind : testing::values_of("Reduce", "kind"))
      for (const std::int64_t axis : {0, 1})
        if (is_float || (!kind.starts_with("l2") && !kind.starts_with("log")))
          if (t != DType::boolean || kind == "max" || kind == "min")
            g.output(cat(kind, axis),
                     g.op("Reduce", {square, g.integers({axis})}, cat("kind=", kind)));
    if (t != DType::boolean)
      for (const char* last : {"true", "false"})
        for (const char* most : {"true", "false"})
          g.output(cat("place ", last, most),
                   g.op("ArgReduce", {square},
                        cat("axis=1 is_max=", most, " select_last_index=", last)));
    expect_like_reference(g, inputs, is_float ? 1e-12 : 0);
  }
}

// Of these Vulkan has no functions.
TEST_F(TypesTest, ApproximatedFunctionsOfDoubles) {
  GraphBuilder g("doubles");
  std::vector<Tensor> inputs;
  const Operand y = row(g, inputs, DType::f64);
  const Operand x = g.unsqueeze(row(g, inputs, DType::f64), {1});
  g.output("exp", g.exp(y));
  g.output("log", g.log(y));
  const Operand angle = g.clip(y, -1e5, 1e5);
  g.output("sin", g.op("Unary", {angle}, "kind=sin"));
  g.output("cos", g.op("Unary", {angle}, "kind=cos"));
  g.output("pow", g.pow(x, y));
  g.output("by integers", g.pow(x, row(g, inputs, DType::i16)));
  expect_like_reference(g, inputs, 1e-12);
}

}  // namespace
}  // namespace quern
