// SPDX-License-Identifier: Apache-2.0
#include "tools/dress/dress.h"

#include <array>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "graph/verify.h"
#include "tests/expect.h"
#include "tools/dress/rearrange.h"
#include "tools/dressed_case.h"
#include "tools/opened.h"

namespace quern::tools {
namespace {

constexpr std::string_view chain_text = R"(graph "chain_text" {
  input %0 "x": f32[2,3]
  input %1 "w": f32[3,2]
  %2 "product": f32[2,2] = MatMul(%0, %1)
  %3 "positive": f32[2,2] = Unary(%2) kind=relu
  %4 "sum": f32[] = Reduce(%3) kind=sum keepdims=false
  output %3 "y"
  output %4 "z"
})";

Tensor rising_floats(const Shape& shape, float first) {
  std::vector<float> v(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = first + static_cast<float>(i);
  return Tensor::from_values<float>(DType::f32, shape, v);
}

InputValue given(Tensor t) {
  return {.tensors = {std::move(t)}};
}

// A graph, its inputs, and its outputs by `reference`.
struct Worn {
  Model model;
  DataSet set;

  Plain plain() {
    types.clear();
    for (const auto& o : set.outputs) types.emplace_back(o->tensors[0].type());
    return {model.graph(), set.inputs, types};
  }
  std::vector<std::optional<TensorType>> types;
};

Worn worn(std::string_view text, std::vector<InputValue> inputs) {
  Worn w{Model(std::make_unique<Graph>(*parse_text(text, builtin_ops())), {}),
         {"set", inputs, {}},
         {}};
  const auto executable =
      Executable::compile(w.model.clone(), *device_named("reference"), {.optimize = false});
  const auto session = Session::create(*executable);
  EXPECT_TRUE(bind_inputs(**session, inputs).ok());
  EXPECT_TRUE((*session)->run().ok());
  for (std::size_t i = 0; i < w.model.graph().outputs().size(); ++i) {
    const TensorView view = *(*session)->output(i);
    w.set.outputs.emplace_back(given(*Tensor::copy_of(view.type, {view.data, view.type.bytes()})));
  }
  return w;
}

Worn worn_chain() {
  return worn(chain_text, {given(rising_floats({2, 3}, -2)), given(rising_floats({3, 2}, 1))});
}

DressedCase case_of(const Worn& w) {
  return {w.model, w.set, *device_named("cpu"), 1, std::vector<Criterion>(w.set.outputs.size())};
}

const Dress& named(std::string_view name) {
  return *dresses_named(name)->front();
}

Dressed put_on(Worn& w, std::string_view name) {
  auto d = named(name).put_on(w.plain());
  EXPECT_TRUE(d && *d) << name;
  return **std::move(d);
}

TEST(Dresses, AreNamed) {
  EXPECT_EQ(dresses_named("all")->size(), dresses().size());
  EXPECT_TRUE(dresses_named("none")->empty());
  EXPECT_TRUE(dresses_named("")->empty());
  EXPECT_EQ(dresses_named("concat,concat,symbols")->size(), 2U);
  const auto wrong = dresses_named("concat,tuxedo");
  ASSERT_FALSE(wrong);
  EXPECT_CONTAINS(std::string(wrong.error().message()), "handed-out");
}

TEST(Dresses, KeepWhatTheGraphComputes) {
  Worn w = worn_chain();
  for (const Dress& dress : dresses()) {
    auto dressed = dress.put_on(w.plain());
    ASSERT_TRUE(dressed) << dress.name << ": " << dressed.error().message();
    ASSERT_TRUE(*dressed) << dress.name;
    const Status sound = verify((*dressed)->graph);
    EXPECT_TRUE(sound.ok()) << dress.name << ": " << sound.message();
    EXPECT_EQ((*dressed)->outputs.size(), (*dressed)->graph.outputs().size()) << dress.name;
    EXPECT_EQ((*dressed)->inputs.size(), (*dressed)->graph.inputs().size()) << dress.name;
  }
}

TEST(Dresses, KnowNothingToDoWithoutInputs) {
  Worn w = worn(R"(graph "g" {
  const %0: f32[2] = {1, 2}
  %1 "y": f32[2] = Unary(%0) kind=neg
  output %1 "y"
})",
                {});
  for (std::string_view name : {"constants", "weights", "symbols", "sliced-in", "transposed-out"}) {
    const auto dressed = named(name).put_on(w.plain());
    ASSERT_TRUE(dressed) << name;
    EXPECT_FALSE(*dressed) << name;
  }
}

TEST(Dresses, MakeConstants) {
  Worn w = worn_chain();
  EXPECT_TRUE(put_on(w, "constants").graph.inputs().empty());
  const Dressed weights = put_on(w, "weights");
  ASSERT_EQ(weights.graph.inputs().size(), 1U);
  EXPECT_EQ(weights.graph.value(weights.graph.inputs()[0]).name, "x");
}

TEST(Dresses, EraseShapesInBodiesToo) {
  const Worn plain = worn_chain();
  Worn w =
      worn(R"(graph "g" {
  input %0 "c": bool[]
  input %1 "x": f32[2,3]
  %2 "y": f32[2,3] = If(%0, %1, %1) {
    graph "then" {
      input %0 "x": f32[2,3]
      input %1 "x2": f32[2,3]
      %2 "a": f32[2,3] = Unary(%0) kind=neg
      output %2 "a"
    }
    graph "else" {
      input %0 "x": f32[2,3]
      input %1 "x2": f32[2,3]
      %2 "a": f32[2,3] = Unary(%1) kind=abs
      output %2 "a"
    }
  }
  output %2 "y"
})",
           {given(Tensor::scalar<bool>(DType::boolean, true)), given(rising_floats({2, 3}, -1))});
  const Dressed dims = put_on(w, "unknown-dims");
  const Graph& body = dims.graph.node(dims.graph.order()[0]).bodies[0];
  EXPECT_EQ(type_text(body.type(body.inputs()[0])), "f32[?,?]");
  EXPECT_EQ(type_text(dims.graph.type(dims.graph.outputs()[0])), "f32[?,?]");
  const Dressed ranks = put_on(w, "unknown-ranks");
  EXPECT_EQ(type_text(ranks.graph.type(ranks.graph.inputs()[1])), "f32[*]");
}

TEST(Dresses, GiveValuesMoreReaders) {
  Worn w = worn_chain();
  const Dressed out = put_on(w, "handed-out");
  ASSERT_EQ(out.outputs.size(), 3U) << "the product is the only value between";
  EXPECT_FALSE(out.outputs[2].plain);
  const Dressed joined = put_on(w, "concat");
  EXPECT_EQ(joined.outputs.size(), 2U + 3U);
  EXPECT_EQ(put_on(w, "concat-handed-out").outputs.size(), 2U + 1U + 3U);
  EXPECT_EQ(put_on(w, "named-twice").outputs.size(), 2U + 2U + 2U);
}

TEST(Dresses, PutViewsAround) {
  Worn w = worn_chain();
  const Dressed sliced = put_on(w, "sliced-in");
  EXPECT_EQ(type_text(sliced.graph.type(sliced.graph.inputs()[0])), "f32[5,6]");
  EXPECT_EQ(sliced.inputs[0].tensors[0].type().text(), "f32[5,6]");
  const Dressed stepped = put_on(w, "stepped-out");
  const Tensor y = *stepped.outputs[0].rearranged(w.set.outputs[0]->tensors[0].view());
  EXPECT_EQ(y.type().text(), "f32[2,1]");
  EXPECT_EQ(y.span<float>()[0], w.set.outputs[0]->tensors[0].span<float>()[2]);
}

TEST(Dresses, RunOnEveryDeviceThatIsRight) {
  const Worn w = worn_chain();
  DressedCase c = case_of(w);
  c.device = *device_named("reference");
  for (const Dress& dress : dresses()) {
    const Status status = run_dressed(dress, c);
    EXPECT_TRUE(status.ok()) << dress.name << ": " << status.message();
  }
}

TEST(Dresses, TellAWrongOutput) {
  Worn w = worn_chain();
  w.set.outputs[0] = given(rising_floats({2, 2}, 1000));
  for (const Dress& dress : dresses()) {
    const Status status = run_dressed(dress, case_of(w));
    ASSERT_FALSE(status.ok()) << dress.name;
    EXPECT_CONTAINS(std::string(status.message()), "output 'y'") << dress.name;
  }
}

TEST(Rearranged, ElementsComeBack) {
  const Tensor t = rising_floats({2, 3}, 0);
  const Window window{Shape{4, 7}, {3, 1}, {-2, 2}};
  const Tensor larger = *spread(t.view(), window);
  EXPECT_EQ(larger.shape(), window.whole);
  EXPECT_EQ(larger.span<float>()[3 * 7 + 1], 0);
  EXPECT_EQ(larger.span<float>()[1 * 7 + 5], 5);
  EXPECT_TRUE(std::isnan(larger.span<float>()[0])) << "who reads it is found out";
  EXPECT_TRUE(identical(cut(larger.view(), window, t.shape())->view(), t.view()));
  const Tensor columns = *transposed(t.view(), reversed_axes(2));
  EXPECT_EQ(columns.span<float>()[1], 3);
  EXPECT_TRUE(identical(transposed(columns.view(), {1, 0})->view(), t.view()));
}

TEST(Rearranged, EmptyTensorsToo) {
  const Tensor t = *Tensor::zeros({DType::f32, {0, 3}});
  EXPECT_EQ(spread(t.view(), {Shape{3, 6}, {1, 1}, {1, 1}})->shape(), (Shape{3, 6}));
  EXPECT_EQ(transposed(t.view(), {1, 0})->shape(), (Shape{3, 0}));
}

}  // namespace
}  // namespace quern::tools
