// SPDX-License-Identifier: Apache-2.0
// The judge finds what is wrong, and lets be what nobody can know.
#include <chrono>
#include <cmath>
#include <limits>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/ops/softmax.h"
#include "tests/graph/named_op.h"
#include "tests/tools/oracle/families.h"
#include "tools/oracle/values.h"

namespace quern::testing {
namespace {

using tools::compare;
constexpr double infinity = std::numeric_limits<double>::infinity();

// A run that got everything right: the oracle's numbers, rounded to the type of the graph.
Tensor perfect(const BoundedTensor& wanted) {
  if (wanted.value.dtype() != DType::f64 || wanted.type == DType::f64) return wanted.value;
  auto t = tools::narrowed(wanted.value, wanted.type);
  return t ? std::move(*t) : Tensor();
}

Tensor moved_by(const BoundedTensor& wanted, std::size_t element, double distance) {
  auto numbers = tools::as_numbers(wanted.value);
  numbers[element] += distance;
  auto t = tools::number_tensor(wanted.value.shape(), numbers);
  return wanted.type == DType::f64 ? *t : *tools::narrowed(*t, wanted.type);
}

BoundedTensor result_of(std::string_view statements, const std::vector<Tensor>& inputs,
                        std::size_t output = 0) {
  return bounds_of(graph_of(statements), inputs).at(output).tensors.at(0);
}

Tensor floats(std::initializer_list<float> values) {
  return Tensor::from_values<float>(DType::f32, {static_cast<std::int64_t>(values.size())},
                                    std::span(values.begin(), values.size()));
}

// ---- planted errors ----------------------------------------------------------------------------

TEST(OracleJudge, FindsOneElementThatIsTenBoundsOff) {
  for (const Family& family : families()) {
    const Graph g = graph_of(family.graph);
    const auto wanted = bounds_of(g, random_inputs(g, 3, family.draw)).at(0).tensors.at(0);
    if (!is_number_float(wanted.type)) continue;
    EXPECT_FALSE(compare(wanted, perfect(wanted).view())) << family.name;
    const std::size_t at = wanted.bound.size() / 2;
    if (wanted.bound[at] == infinity) continue;
    const double least = 1e-6 * std::fabs(tools::as_numbers(wanted.value)[at]) + 1e-37;
    const double distance = std::max(10 * wanted.bound[at], least);
    const auto difference = compare(wanted, moved_by(wanted, at, distance).view());
    ASSERT_TRUE(difference) << family.name;
    EXPECT_EQ(difference->element, static_cast<std::int64_t>(at)) << family.name;
    EXPECT_EQ(difference->outside, 1) << family.name;
  }
}

// The judge must not accept the results of `wrong` as those of `right`.
void expect_found(std::string_view right, std::string_view wrong) {
  const Graph g = graph_of(right);
  const auto inputs = random_inputs(g, 5);
  EXPECT_TRUE(compare(result_of(right, inputs), perfect(result_of(wrong, inputs)).view()));
}

TEST(OracleJudge, FindsAWrongAxis) {
  expect_found("input %0 \"x\": f32[5,5]\n%1: f32[5,5] = Softmax(%0) axis=0\noutput %1 \"y\"",
               "input %0 \"x\": f32[5,5]\n%1: f32[5,5] = Softmax(%0) axis=1\noutput %1 \"y\"");
  expect_found("input %0 \"x\": f32[5,5]\n%1: f32[5,5] = Transpose(%0)\noutput %1 \"y\"",
               "input %0 \"x\": f32[5,5]\n%1: f32[5,5] = Identity(%0)\noutput %1 \"y\"");
}

TEST(OracleJudge, FindsAWrongBiasAndALostTerm) {
  expect_found(
      "input %0 \"x\": f32[1,8,6,6]\ninput %1 \"w\": f32[8,8,3,3]\ninput %2 \"b\": f32[8]\n"
      "%3: f32[1,8,4,4] = Conv(%0, %1, %2) kernel=[3,3]\noutput %3 \"y\"",
      "input %0 \"x\": f32[1,8,6,6]\ninput %1 \"w\": f32[8,8,3,3]\ninput %2 \"b\": f32[8]\n"
      "%3: f32[1,8,4,4] = Conv(%0, %1) kernel=[3,3]\noutput %3 \"y\"");
  expect_found(
      "input %0 \"x\": f32[4,64]\n%1: f32[4] = Reduce(%0) kind=sum keepdims=false\noutput %1 \"y\"",
      "input %0 \"x\": f32[4,64]\nconst %1: i64[1] = {0}\nconst %2: i64[1] = {63}\nconst %3: "
      "i64[1] = {1}\n"
      "%4: f32[4,63] = Slice(%0, %1, %2, %3)\n%5: f32[4] = Reduce(%4) kind=sum "
      "keepdims=false\noutput %5 \"y\"");
}

// ---- discontinuities ---------------------------------------------------------------------------

// x * c is 1.5 but for an error, so that a run may find either side of it.
constexpr std::string_view near_a_tie = R"(
    input %0 "x": f32[3]
    const %1: f32[] = {0.1}
    %2: f32[3] = Binary(%0, %1) kind=mul
)";

std::vector<double> bounds_behind(const std::string& statement) {
  const Tensor x = floats({15.0F, 7.0F, -31.0F});
  return result_of(std::string(near_a_tie) + statement + "\noutput %3 \"y\"", {x}).bound;
}

TEST(OracleJudge, LetsBothSidesOfAStepBeRight) {
  EXPECT_THAT(bounds_behind("%3: f32[3] = Unary(%2) kind=round"), ::testing::ElementsAre(1, 0, 0));
  EXPECT_THAT(bounds_behind("const %4: f32[] = {1.5}\n%3: bool[3] = Binary(%2, %4) kind=less"),
              ::testing::ElementsAre(infinity, 0, 0));
  EXPECT_THAT(bounds_behind("const %4: f32[] = {1.5}\n%5: f32[3] = Binary(%2, %4) kind=sub\n%3: "
                            "f32[3] = Unary(%5) kind=sign")[0],
              2);
  EXPECT_THAT(bounds_behind("const %4: f32[] = {0.5}\n%5: f32[3] = Binary(%2, %4) kind=add\n%3: "
                            "i32[3] = Cast(%5) to=i32"),
              ::testing::ElementsAre(1, 0, 0));
  EXPECT_THAT(bounds_behind("const %4: f32[] = {1.5}\n%5: f32[3] = Binary(%2, %4) kind=sub\n%3: "
                            "f32[3] = Unary(%5) kind=reciprocal")[0],
              infinity);
  EXPECT_THAT(bounds_behind("const %4: f32[] = {1.5}\n%5: f32[3] = Binary(%2, %4) kind=sub\n%3: "
                            "f32[3] = Unary(%5) kind=sqrt")[0],
              infinity);
}

TEST(OracleJudge, DoesNotKnowWhichOfTwoNeighboursIsGreater) {
  constexpr std::string_view graph = R"(
    input %0 "x": f32[2,3]
    %1: f32[2,3] = Unary(%0) kind=exp
    %2: i64[2] = ArgReduce(%1) axis=1 keepdims=false
    const %3: i64[1] = {2}
    %4: f32[2,2], %5: i64[2,2] = TopK(%1, %3) axis=1
    output %2 "best"
    output %4 "values"
    output %5 "indices")";
  const std::vector<float> x = {1, 1, 0, 2, 1, 0};
  const auto input = Tensor::from_values<float>(DType::f32, {2, 3}, x);
  EXPECT_THAT(result_of(graph, {input}, 0).bound, ::testing::ElementsAre(infinity, 0));
  EXPECT_THAT(result_of(graph, {input}, 1).bound, ::testing::Each(::testing::Lt(1e-4)));
  EXPECT_THAT(result_of(graph, {input}, 2).bound, ::testing::ElementsAre(infinity, infinity, 0, 0));
}

TEST(OracleJudge, KnowsNoShapeThatHangsOnAnError) {
  const std::string graph = std::string(near_a_tie) + R"(
    const %3: f32[] = {1.5}
    %4: f32[3] = Binary(%2, %3) kind=sub
    %5: i64[1,?] = NonZero(%4)
    output %5 "y")";
  const auto open = bounds_of(graph_of(graph), {floats({15.0F, 7.0F, -31.0F})});
  EXPECT_EQ(open[0].kind, BoundedValue::Kind::undetermined);
  const auto known = bounds_of(graph_of(graph), {floats({16.0F, 7.0F, -31.0F})});
  EXPECT_EQ(known[0].kind, BoundedValue::Kind::tensor);
}

TEST(OracleJudge, TakesTheBranchThatIsSureAndNoOther) {
  constexpr std::string_view graph = R"(
    input %0 "x": f32[]
    const %1: f32[] = {0.1}
    const %2: f32[] = {1.5}
    %3: f32[] = Binary(%0, %1) kind=mul
    %4: bool[] = Binary(%3, %2) kind=less
    %5: f32[] = If(%4, %3) {
      graph "then" {
        input %0 "x": f32[]
        %1: f32[] = Unary(%0) kind=neg
        output %1 "r"
      }
      graph "else" {
        input %0 "x": f32[]
        output %0 "r"
      }
    }
    output %5 "y")";
  const auto at = [&](float x) {
    return bounds_of(graph_of(graph), {Tensor::scalar(DType::f32, x)}).at(0);
  };
  EXPECT_EQ(at(15).kind, BoundedValue::Kind::undetermined);
  EXPECT_LT(tools::as_numbers(at(7).tensors.at(0).value)[0], 0);
  EXPECT_GT(tools::as_numbers(at(70).tensors.at(0).value)[0], 0);
}

TEST(OracleJudge, JudgesNoOverflow) {
  const auto y =
      result_of("input %0 \"x\": f32[2]\n%1: f32[2] = Unary(%0) kind=exp\noutput %1 \"y\"",
                {floats({89.0F, 80.0F})});
  EXPECT_EQ(y.bound[0], infinity);
  EXPECT_LT(y.bound[1], infinity);
}

// ---- compare -----------------------------------------------------------------------------------

TEST(OracleJudge, NamesWrongShapesAndTypes) {
  const BoundedTensor wanted = result_of(
      "input %0 \"x\": f32[2]\n%1: f32[2] = Unary(%0) kind=neg\noutput %1 \"y\"", {floats({1, 2})});
  const auto shape = compare(wanted, floats({-1, -2, -3}).view());
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->text, "got f32[3], wanted f32[2]");
  const std::vector<double> wide = {-1, -2};
  const auto type = compare(wanted, Tensor::from_values<double>(DType::f64, {2}, wide).view());
  ASSERT_TRUE(type);
  EXPECT_EQ(type->text, "got f64[2], wanted f32[2]");
  EXPECT_FALSE(compare(wanted, floats({-1, -2}).view()));
}

TEST(OracleJudge, WantsNaNAndInfinityWhereTheyAreRight) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const BoundedTensor wanted =
      result_of("input %0 \"x\": f32[3]\n%1: f32[3] = Unary(%0) kind=log\noutput %1 \"y\"",
                {floats({-1, 0, 1})});
  EXPECT_FALSE(compare(wanted, floats({nan, -inf, 0}).view()));
  EXPECT_TRUE(compare(wanted, floats({0, -inf, 0}).view()));
  EXPECT_TRUE(compare(wanted, floats({nan, inf, 0}).view()));
  EXPECT_TRUE(compare(wanted, floats({nan, -inf, nan}).view()));
}

TEST(OracleJudge, LetsSwishBeZeroWhereItsSigmoidIsFlushed) {
  const BoundedTensor wanted = result_of(
      "input %0 \"x\": f32[2]\n%1: f32[2] = Unary(%0) kind=swish alpha=1\noutput %1 \"y\"",
      {floats({-87.5F, -80})});
  EXPECT_FALSE(compare(wanted, floats({0, -1.4438757e-33F}).view()));
  EXPECT_TRUE(compare(wanted, floats({0, 0}).view()));
}

TEST(OracleJudge, LeavesOpenWhetherPaddingIsMultiplied) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Tensor> inputs = {floats({1, 2, 3}).reshaped({1, 1, 3}),
                                      floats({nan, 1, 1, 1, 1, 1}).reshaped({2, 1, 3})};
  const auto conv = [&](std::string_view statement) {
    return result_of(cat(R"(
      input %0 "x": f32[1,1,3]
      input %1 "w": f32[2,1,3]
      )",
                         statement, R"(
      output %2 "y")"),
                     inputs)
        .bound;
  };
  const auto padded = conv("%2: f32[1,2,3] = Conv(%0, %1) kernel=[3] pads=[1,1]");
  ASSERT_EQ(padded.size(), 6U);
  for (const std::size_t i : {0, 1, 2}) EXPECT_EQ(padded[i], infinity);
  for (const std::size_t i : {3, 4, 5}) EXPECT_LT(padded[i], 1e-5);
  EXPECT_EQ(conv("%2: f32[1,2,1] = Conv(%0, %1) kernel=[3]")[0], 0);
}

TEST(OracleJudge, DoesNotKnowTheLogarithmOfASumThatMayBe0) {
  const auto bound = [](const Tensor& x, std::string_view kind = "softsign") {
    return result_of(cat(R"(
      input %0 "x": f32[3]
      %1: f32[3] = Unary(%0) kind=)",
                         kind, R"(
      %2: f32[1] = Reduce(%1) kind=log_sum
      output %2 "y")"),
                     {x})
        .bound[0];
  };
  EXPECT_EQ(bound(floats({1, -2, 0.2F})), infinity);  // 1/2 - 2/3 + 1/6
  EXPECT_EQ(bound(floats({0, 0, 0}), "relu"), 0);
  EXPECT_LT(bound(floats({1, 2, 3})), 1e-5);
}

TEST(OracleJudge, ComparesIntegersOf64BitsExactly) {
  const std::vector<std::int64_t> x = {(std::int64_t{1} << 60) + 1, 5};
  const auto input = Tensor::from_values<std::int64_t>(DType::i64, {2}, x);
  const BoundedTensor wanted =
      result_of("input %0 \"x\": i64[2]\n%1: i64[2] = Identity(%0)\noutput %1 \"y\"", {input});
  EXPECT_FALSE(compare(wanted, input.view()));
  const std::vector<std::int64_t> off = {std::int64_t{1} << 60, 5};
  EXPECT_TRUE(compare(wanted, Tensor::from_values<std::int64_t>(DType::i64, {2}, off).view()));
}

// ---- cost --------------------------------------------------------------------------------------

TEST(OracleJudge, TakesMillisecondsForSixtyNodes) {
  Graph g = graph_of("input %0 \"x\": f32[1,16,25,25]\noutput %0 \"x\"");
  ValueId v = g.inputs()[0];
  for (int i = 0; i < 15; ++i) {
    v = *g.add(named("Unary", "kind=tanh"), {v});
    v = *g.add(named("Binary", "kind=add"), {v, g.inputs()[0]});
    v = *g.add(Softmax{.axis = -1}, {v});
    v = *g.add(named("Binary", "kind=mul"), {v, g.inputs()[0]});
  }
  g.add_output(v, "y");
  const auto inputs = random_inputs(g, 1);
  const auto begin = std::chrono::steady_clock::now();
  const auto y = bounds_of(g, inputs);
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  std::cout << ms << " ms\n";
  EXPECT_LT(ms, 2000) << "60 nodes of 10,000 elements; some 50 ms in a release build";
  EXPECT_EQ(y.size(), 2U);
}

}  // namespace
}  // namespace quern::testing
