// SPDX-License-Identifier: Apache-2.0
#include "tools/fitting.h"

#include <set>

#include <gtest/gtest.h>

#include "graph/ops/attention.h"
#include "graph/ops/control_flow.h"
#include "graph/ops/features.h"
#include "graph/ops/gather.h"
#include "graph/ops/slice.h"
#include "graph/ops/split.h"
#include "graph/reference.h"
#include "tests/graph/named_op.h"
#include "tools/inputs.h"

namespace quern::tools {
namespace {

Fit within(std::int64_t low, std::int64_t high) {
  return {.form = Fit::Form::range, .low = low, .high = high};
}

std::vector<std::int64_t> elements_of(const Tensor& t) {
  const auto elements = t.span<std::int64_t>();
  return {elements.begin(), elements.end()};
}

class Fitting : public ::testing::Test {
 protected:
  ValueId integers(Dims dims) { return graph_.add_input("", {DType::i64, std::move(dims)}); }
  ValueId table(std::int64_t rows) {
    return graph_.add_constant(*Tensor::zeros({DType::f32, {rows, 4}}));
  }
  ValueId number(std::int64_t v) {
    return graph_.add_constant(Tensor::from_values<std::int64_t>(DType::i64, {}, std::span(&v, 1)));
  }
  ValueId add(Op op, std::vector<ValueId> inputs) {
    auto added = graph_.add(std::move(op), std::move(inputs));
    EXPECT_TRUE(added);
    return added ? *added : no_value;
  }
  std::optional<Fit> first_fit(std::size_t most_uses = 1000) const {
    return fits_of(graph_, most_uses).of(0);
  }

  Graph graph_{builtin_ops()};
};

TEST_F(Fitting, IndicesLieWithinTheTable) {
  const ValueId ids = integers({2, 3});
  add(Gather{}, {table(7), ids});
  EXPECT_EQ(first_fit(), within(0, 6));
}

TEST_F(Fitting, TheSmallestOfSeveralTablesCounts) {
  const ValueId ids = integers({2, 3});
  add(Gather{}, {table(7), ids});
  add(Gather{}, {table(5), add(testing::named("Unsqueeze", ""), {ids, number(0)})});
  EXPECT_EQ(first_fit(), within(0, 4));
}

TEST_F(Fitting, WhatIsAddedOnTheWayCounts) {
  const ValueId ids = integers({3});
  add(Gather{}, {table(7), add(testing::binary_op("add"), {ids, number(2)})});
  EXPECT_EQ(first_fit(), within(-2, 4));
}

TEST_F(Fitting, OfATableOfOpenSizeTheFirstRowIsSure) {
  const ValueId ids = integers({3});
  const ValueId rows = graph_.add_input("", {DType::f32, Dims{graph_.symbol("rows"), 4}});
  add(Gather{}, {rows, ids});
  EXPECT_EQ(first_fit(), within(0, 0));
}

TEST_F(Fitting, BodiesReadToo) {
  const ValueId ids = integers({3});
  Graph then_body(builtin_ops()), else_body(builtin_ops());
  for (Graph* body : {&then_body, &else_body}) {
    const ValueId inner = body->add_input("", {DType::i64, Dims{3}});
    const ValueId rows = body->add_constant(*Tensor::zeros({DType::f32, {6, 2}}));
    body->add_output(*body->add(Gather{}, {rows, inner}), "");
  }
  const ValueId condition = graph_.add_input("", {DType::boolean, Dims{}});
  std::vector<Graph> bodies;
  bodies.push_back(std::move(then_body));
  bodies.push_back(std::move(else_body));
  ASSERT_TRUE(graph_.add_node(If{}, {condition, ids}, "", 1, std::move(bodies)));
  EXPECT_EQ(first_fit(), within(0, 5));
}

TEST_F(Fitting, ShapesOfReshapeHaveOneFreeSize) {
  const ValueId shape = integers({3});
  const ValueId x = graph_.add_input("", {DType::f32, Dims{2, 3}});
  add(testing::named("Reshape", ""), {x, shape});
  const auto fit = first_fit();
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->form, Fit::Form::reshape);
  const auto made = generate_tensor({DType::i64, {3}}, "", 7, fit);
  ASSERT_TRUE(made);
  EXPECT_EQ(elements_of(*made), (std::vector<std::int64_t>{-1, 1, 1}));
}

TEST_F(Fitting, AxesDiffer) {
  const ValueId axes = integers({2});
  const ValueId x = graph_.add_input("", {DType::f32, Dims{2, 3}});
  const ValueId starts = graph_.add_constant(*Tensor::zeros({DType::i64, {2}}));
  add(Slice{}, {x, starts, starts, axes});
  const auto fit = first_fit();
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->form, Fit::Form::counting);
  const auto made = generate_tensor({DType::i64, {2}}, "", 7, fit);
  ASSERT_TRUE(made);
  EXPECT_EQ(elements_of(*made), (std::vector<std::int64_t>{0, 1}));
}

TEST_F(Fitting, PartsOfADimensionAreAllOfIt) {
  const ValueId sizes = integers({3});
  const ValueId x = graph_.add_input("", {DType::f32, Dims{2, 8}});
  ASSERT_TRUE(graph_.add_node(Split{.axis = 1}, {x, sizes}, "", 3));
  const auto fit = first_fit();
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->form, Fit::Form::parts);
  const auto made = generate_tensor({DType::i64, {3}}, "", 7, fit);
  ASSERT_TRUE(made);
  EXPECT_EQ(elements_of(*made), (std::vector<std::int64_t>{4, 2, 2}));
}

TEST_F(Fitting, SequencesAreNoLongerThanTheirRows) {
  const ValueId lengths = integers({2});
  const auto given = [&](Dims dims) { return graph_.add_input("", {DType::f32, std::move(dims)}); };
  const ValueId x = given({5, 2, 3}), w = given({1, 16, 3}), r = given({1, 16, 4});
  add(testing::named("Rnn", "hidden_size=4"), {x, w, r, no_value, lengths});
  EXPECT_EQ(first_fit(), within(1, 5));
}

// The rows of a past end a slice of it as well, which may be anywhere.
TEST_F(Fitting, ACacheHasRoomForWhatComesBehindItsPast) {
  const ValueId before = integers({1});
  const ValueId past = graph_.add_input("", {DType::f32, Dims{1, 2, 8, 4}});
  const ValueId rows = graph_.add_input("", {DType::f32, Dims{1, 2, 3, 4}});
  const ValueId zero = graph_.add_constant(*Tensor::zeros({DType::i64, {1}}));
  add(Slice{}, {past, zero, before, zero});
  add(CacheAppend{}, {past, rows, before, zero});
  EXPECT_EQ(first_fit(), within(1, 5));
}

TEST_F(Fitting, NobodySaysWhatArithmeticWants) {
  const ValueId x = integers({3});
  add(testing::binary_op("mul"), {x, number(2)});
  EXPECT_FALSE(first_fit());
}

TEST_F(Fitting, TablesWantTheirKeys) {
  const ValueId x = integers({5});
  const std::vector<std::int64_t> numbers = {30, 10, 20};
  const Tensor keys = Tensor::from_values<std::int64_t>(DType::i64, {3}, numbers);
  add(KeyIndex{}, {x, graph_.add_constant(keys)});
  const auto fit = first_fit();
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->form, Fit::Form::listed);
  const auto made = generate_tensor({DType::i64, {5}}, "", 0, fit);
  ASSERT_TRUE(made);
  EXPECT_EQ(elements_of(*made), (std::vector<std::int64_t>{30, 10, 20, 30, 10}));
}

// A model for two rates of samples asks which one it is; tokens that are padding are another thing.
TEST_F(Fitting, OneNumberIsWhatItIsComparedWith) {
  const ValueId rate = integers({});
  add(testing::named("Binary", "kind=equal"), {rate, number(16000)});
  const auto fit = first_fit();
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->form, Fit::Form::listed);
  EXPECT_EQ(fit->keys.span<std::int64_t>()[0], 16000);
}

TEST_F(Fitting, ManyNumbersAreNotWhatTheyAreComparedWith) {
  const ValueId ids = integers({2, 3});
  add(testing::named("Binary", "kind=equal"), {ids, number(0)});
  EXPECT_EQ(first_fit(), std::nullopt);
}

TEST_F(Fitting, EndsWhereItsWorkDoes) {
  const ValueId ids = integers({3});
  ValueId x = ids;
  for (int i = 0; i < 100; ++i) x = add(testing::binary_op("add"), {x, number(0)});
  add(Gather{}, {table(7), x});
  EXPECT_EQ(first_fit(1000), within(0, 6));
  EXPECT_FALSE(first_fit(50));
}

TEST_F(Fitting, ConstantIndicesWantADimensionOfTheirSize) {
  const ValueId x = graph_.add_input("", {DType::f32, Dims{graph_.symbol("batch"), 4}});
  add(Gather{}, {x, number(3)});
  add(Gather{}, {x, number(-6)});
  EXPECT_EQ(fits_of(graph_).least_dims.at("batch"), 6);
}

// Where a model refuses the first guess, one input may be a signal and all other sizes 1.
TEST(OtherGuesses, AnInputMayBeASignal) {
  const std::vector<ValueSpec> specs = {
      {.name = "input", .dtype = DType::f32, .dims = {-1, -1}, .symbols = {"", ""}},
      {.name = "state", .dtype = DType::f32, .dims = {2, -1, 128}, .symbols = {"", "", ""}}};
  const auto inputs = make_inputs(specs, {}, {});
  ASSERT_TRUE(inputs) << inputs.error().message();
  std::set<std::vector<std::string>> shapes;
  for (const InputArgs& other : other_guesses({}, specs, *inputs)) shapes.insert(other.shapes);
  EXPECT_TRUE(shapes.contains({"input=1x1", "state=2x1x128"}));
  EXPECT_TRUE(shapes.contains({"input=1x512", "state=2x1x128"}));
}

TEST(GeneratedTensors, KeepToTheirRange) {
  const auto made = generate_tensor({DType::i32, {1000}}, "", 3, within(-2, 4));
  ASSERT_TRUE(made);
  std::set<std::int32_t> seen;
  for (int i = 0; i < 1000; ++i)
    seen.insert(reinterpret_cast<const std::int32_t*>(made->data())[i]);
  EXPECT_EQ(seen, (std::set<std::int32_t>{-2, -1, 0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace quern::tools
