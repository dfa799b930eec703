// SPDX-License-Identifier: Apache-2.0
// A graph that is right, and one thing in it made wrong behind the back of its interface.
#include "graph/verify.h"

#include <functional>
#include <string_view>

#include <gtest/gtest.h>

#include "graph/graph.h"
#include "graph/ops/cast.h"
#include "graph/ops/where.h"
#include "tests/expect.h"
#include "tests/graph/named_op.h"

namespace quern {
namespace {

using testing::named;

// sum = x + y with relu behind it, product = sum * constant.
struct Broken {
  Graph g{builtin_ops()};
  ValueId x, y, sum, constant, product;
  NodeId adds, multiplies;

  Broken() {
    g.name = "small";
    x = g.add_input("x", {DType::f32, Dims{2, 3}});
    y = g.add_input("y", {DType::f32, Dims{2, 3}});
    constant = g.add_constant(*Tensor::zeros({DType::f32, {2, 3}}));
    adds = *g.add_node(named("Binary", "kind=add"), {x, y}, "adds");
    sum = g.node(adds).outputs[0];
    multiplies = *g.add_node(named("Binary", "kind=mul"), {sum, constant}, "multiplies");
    product = g.node(multiplies).outputs[0];
    g.add_output(product, "product");
  }
  // The graph is no constant: what is changed here is only out of reach.
  Node& node(NodeId id) { return const_cast<Node&>(g.node(id)); }
  Value& value(ValueId id) { return const_cast<Value&>(g.value(id)); }
};

void expect_refused(const std::function<void(Broken&)>& change, std::string_view part) {
  Broken b;
  const Status right = verify(b.g);
  ASSERT_TRUE(right.ok()) << right.message();
  change(b);
  const Status s = verify(b.g);
  EXPECT_EQ(s.code(), Code::internal) << part;
  EXPECT_CONTAINS(s.message(), "graph 'small': ");
  EXPECT_CONTAINS(s.message(), part);
}

TEST(Verify, TypesAreThoseOfInference) {
  expect_refused(
      [](Broken& b) {
        b.g.set_type(b.sum, {DType::f64, Dims{2, 3}});
      },
      "node 'adds' (Binary): output 0 is f64[2,3], inference says f32[2,3]");
  expect_refused(
      [](Broken& b) {
        b.g.set_type(b.sum, {DType::f32, Dims{2, 4}});
      },
      "output 0 is f32[2,4], inference says f32[2,3]");
  expect_refused([](Broken& b) { b.value(b.sum).type.kind = ValueType::Kind::sequence; },
                 "node 'adds' (Binary): output 0 is");
  // That less is known of it is no clash.
  Broken b;
  b.g.set_type(b.product, {DType::f32, std::nullopt});
  EXPECT_TRUE(verify(b.g).ok());
}

TEST(Verify, UsesAreListedOnBothSides) {
  expect_refused([](Broken& b) { b.value(b.x).uses[0].node = b.multiplies; },
                 "value 0 lists a use that is none");
  expect_refused([](Broken& b) { b.value(b.x).uses[0].read = 1; },
                 "value 0 lists a use that is none");
  expect_refused([](Broken& b) { b.value(b.x).uses[0].read = 2; },
                 "value 0 lists a use that is none");
  expect_refused([](Broken& b) { b.node(b.adds).use_slots[1] = 7; },
                 "value 1 lists a use that is none");
}

TEST(Verify, OutputsAreCountedAndComputed) {
  expect_refused([](Broken& b) { ++b.value(b.sum).handed_out; }, ": miscounted outputs");
  expect_refused([](Broken& b) { b.value(b.product).producer = b.adds; },
                 "node 'multiplies' (Binary): does not own its output");
  expect_refused([](Broken& b) { b.value(b.product).producer_output = 1; },
                 "does not own its output");
  expect_refused([](Broken& b) { b.node(b.multiplies).outputs[0] = no_value; },
                 "output 'product' is never computed");
  expect_refused(
      [](Broken& b) {
        b.node(b.multiplies).outputs[0] = b.sum;
        b.value(b.sum).producer = b.multiplies;
      },
      "node 'adds' (Binary): does not own its output");
}

TEST(Verify, PostOpsBelongToNodesThatMayCarryThem) {
  expect_refused(
      [](Broken& b) {
        const NodeId where =
            *b.g.add_node(Where{}, {*b.g.add(Cast{DType::boolean}, {b.x}), b.x, b.y});
        b.node(where).post_ops.emplace_back(named("Unary", "kind=relu"));
      },
      "(Where): carries post-ops, but may not");
  expect_refused([](Broken& b) { b.node(b.multiplies).post_ops.emplace_back(BinaryPostOp()); },
                 "node 'multiplies' (Binary): has a post-op without operand");
  expect_refused([](Broken& b) { b.node(b.multiplies).operands.push_back(b.x); },
                 "has operands, but no post-op");
}

}  // namespace
}  // namespace quern
