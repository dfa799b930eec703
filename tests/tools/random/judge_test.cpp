// SPDX-License-Identifier: Apache-2.0
#include "tools/random/judge.h"

#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/onnx-parser/tensor.h"
#include "tests/expect.h"
#include "tools/random/check.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

onnx::TypeProto type_of(DType dtype, const Shape& shape) {
  onnx::TypeProto type;
  type.kind = onnx::TypeProto::Kind::tensor;
  type.elem_type = onnx::onnx_type_of(dtype);
  type.has_shape = true;
  for (const std::int64_t n : shape) {
    onnx::Dimension& d = type.dims.emplace_back();
    d.has_value = true;
    d.value = n;
  }
  return type;
}

// y = op(a * a), or a * a: what is squared is rounded.
RandomModel squares(DType dtype, const Shape& shape, std::string_view op = "") {
  RandomModel m;
  m.model.ir_version = 10;
  m.model.opsets.push_back({"", 20});
  onnx::GraphProto& g = m.model.graph.emplace_back();
  g.name = "squares";
  g.inputs.push_back({"a", type_of(dtype, shape)});
  const auto value = [](std::int64_t i) { return 0.3 + std::sin(static_cast<double>(i * i)); };
  m.runs.push_back({{"a", tensor_of(dtype, shape, value)}});
  const auto node = [&](std::string_view kind, std::vector<std::string_view> in,
                        std::string_view out) {
    onnx::NodeProto& n = g.nodes.emplace_back();
    n.op_type = kind;
    n.inputs = std::move(in);
    n.outputs = {out};
    m.rounded[out] = dtype;
  };
  node("Mul", {"a", "a"}, op.empty() ? "y" : "s");
  if (!op.empty()) node(op, {"s"}, "y");
  onnx::TypeProto any = type_of(dtype, {});
  any.has_shape = false;
  g.outputs.push_back({"y", any});
  return m;
}

template <class T>
Tensor with_first(const Tensor& t, T first) {
  Tensor copy = Tensor::copy_of(t.type(), {t.data(), t.bytes()}).value();
  std::memcpy(copy.mutable_data(), &first, sizeof first);
  return copy;
}

TEST(Judge, TakesTheBoundOfTheOracle) {
  const RandomModel m = squares(DType::f32, {4});
  const auto judge = Judge::make(m);
  ASSERT_TRUE(judge) << judge.error().message();
  const Tensor& right = judge->wanted()[0][0][0];
  const float y = right.span<float>()[0];
  EXPECT_EQ(judge->verdict(0, 0, {right}), "");
  // Moved inputs would allow hundreds of units in the last place; the bound of a product is one.
  EXPECT_CONTAINS(judge->verdict(0, 0, {with_first(right, y * 1.000001F)}), "within");
  EXPECT_EQ(judge->share().elements, 4);
  EXPECT_EQ(judge->share().undetermined, 0);
}

// A double that went through a float is off by 1e-8: eight digits are missing.
TEST(Judge, CountsTheDigitsOfDoubles) {
  const RandomModel m = squares(DType::f64, {4});
  const auto judge = Judge::make(m);
  ASSERT_TRUE(judge) << judge.error().message();
  const Tensor& right = judge->wanted()[0][0][0];
  const auto narrowed = static_cast<double>(static_cast<float>(right.span<double>()[0]));
  EXPECT_EQ(judge->verdict(0, 0, {right}), "");
  EXPECT_NE(judge->verdict(0, 0, {with_first(right, narrowed)}), "");
}

// There is no bound on a determinant of that size (docs/error-bounds.md).
TEST(Judge, ASecondJudgesWhatTheOracleLeavesUndetermined) {
  const RandomModel m = squares(DType::f32, {7, 7}, "Det");
  const auto judge = Judge::make(m);
  ASSERT_TRUE(judge) << judge.error().message();
  EXPECT_EQ(judge->share().elements, 1);
  EXPECT_EQ(judge->share().undetermined, 1);
  const Tensor& right = judge->wanted()[0][0][0];
  const float y = right.span<float>()[0];
  EXPECT_EQ(judge->verdict(0, 0, {right}), "");
  EXPECT_EQ(judge->verdict(0, 0, {with_first(right, std::nextafterf(y, 0))}), "");
  EXPECT_CONTAINS(judge->verdict(0, 0, {with_first(right, y + 1000)}), "rounding explains");
  EXPECT_CONTAINS(judge->verdict(0, 0, {with_first(right, NAN)}), "rounding explains");
}

TEST(Judge, AReferenceOutsideOfTheBoundIsAClassOfItsOwn) {
  const RandomModel m = squares(DType::f32, {4});
  std::vector<RunOutputs> wanted = reference_outputs(m).value();
  const Tensor right = wanted[0][0][0];
  wanted[0][0][0] = with_first(right, right.span<float>()[0] * 1.00001F);
  const auto judge = Judge::make(m, wanted, Arithmetic::cpu);
  ASSERT_TRUE(judge) << judge.error().message();
  ASSERT_EQ(judge->faults().size(), 1u);
  EXPECT_EQ(judge->faults()[0].output, "y");

  using Kind = Verdict::Kind;
  EXPECT_EQ(blamed({}, *judge).kind, Kind::reference_outside);
  EXPECT_CONTAINS(blamed({}, *judge).text(), "reference outside of the bound");
  EXPECT_EQ(blamed({.kind = Kind::wrong, .output = "y"}, *judge).kind, Kind::reference_outside);
  EXPECT_EQ(blamed({.kind = Kind::wrong, .output = "z"}, *judge).kind, Kind::wrong);
  EXPECT_EQ(blamed({.kind = Kind::crashed}, *judge).kind, Kind::crashed);
  EXPECT_EQ(blamed({}, *Judge::make(m)).kind, Kind::right);
}

TEST(Verdict, ComesBackFromAnotherProcess) {
  const Verdict v{.kind = Verdict::Kind::reference_outside,
                  .levers = "threads=2",
                  .output = "y",
                  .reason = "run 0: off",
                  .share = {7, 3}};
  const Verdict back = Verdict::parse(v.serialise());
  EXPECT_EQ(back.text(), v.text());
  EXPECT_EQ(back.share.elements, 7);
  EXPECT_EQ(back.share.undetermined, 3);
  EXPECT_EQ(Verdict::parse("0\n\n\n\n").kind, Verdict::Kind::crashed);
}

}  // namespace
}  // namespace quern::tools
