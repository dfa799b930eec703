// SPDX-License-Identifier: Apache-2.0
// Who is the last to read which bytes.
#include "engine/lowering/value_places.h"

#include "tests/engine/engine_models.h"
#include "tests/engine/lowering/unallocated_programs.h"

namespace quern::lowering {
namespace {

using testing::Base;
using testing::piece;

constexpr std::int64_t count = 8;

// Node k is the graph's k-th.
struct Lowered {
  explicit Lowered(GraphBuilder& builder, Space native = Space::host)
      : model(quern::testing::must(builder.build())),
        graph(model.graph()),
        places(graph, unallocated, native) {}

  const Node& node(std::size_t k) const { return graph.node(graph.order()[k]); }
  ValueId input(std::size_t k) const { return graph.inputs()[k]; }
  ValueId result(std::size_t k) const { return node(k).outputs[0]; }
  // Node k has run, with its result here.
  void run(std::size_t k, const Place& place) {
    places.consume(node(k));
    places.put(result(k), place);
  }
  Place piece(std::string name) {
    return testing::piece(unallocated, Space::host, count, std::move(name));
  }

  Model model;
  const Graph& graph;
  UnallocatedProgram unallocated;
  ValuePlaces places;
};

Operand vector(GraphBuilder& g) {
  return g.input("x", DType::f32, {count});
}

TEST(ValuePlaces, AValueDiesWithItsLastReader) {
  GraphBuilder g;
  const Operand a = g.relu(vector(g));
  g.output("y", g.add(g.exp(a), g.neg(a)));
  Lowered l(g);
  l.places.put(l.input(0), piece(l.unallocated, Base::input, count, "x"));
  EXPECT_FALSE(l.places.is_read_last(l.input(0)));  // a caller's bytes, not the arena's
  const Place a_place = l.piece("a");
  l.run(0, a_place);
  EXPECT_FALSE(l.places.is_read_last(l.result(0)));
  EXPECT_TRUE(l.places.is_read_elsewhere(a_place));
  l.run(1, l.piece("exp"));
  EXPECT_TRUE(l.places.is_read_last(l.result(0)));
  EXPECT_FALSE(l.places.is_read_elsewhere(a_place));
}

TEST(ValuePlaces, AValueThatANodeReadsTwiceDoesNotDieThere) {
  GraphBuilder g;
  const Operand a = g.relu(vector(g));
  g.output("y", g.mul(a, a));
  Lowered l(g);
  l.places.put(l.input(0), piece(l.unallocated, Base::input, count, "x"));
  l.run(0, l.piece("a"));
  EXPECT_FALSE(l.places.is_read_last(l.result(0)));
}

TEST(ValuePlaces, BytesLiveAsLongAsAnotherLookAtThem) {
  GraphBuilder g;
  const Operand a = g.relu(vector(g));
  const Operand view = g.reshape(a, {2, 4});
  g.output("y", g.exp(view));
  g.output("z", g.neg(a));
  Lowered l(g);
  l.places.put(l.input(0), piece(l.unallocated, Base::input, count, "x"));
  const Place bytes = l.piece("a");
  l.run(0, bytes);
  l.run(1, {bytes.buffer, 0, TensorDesc::row_major(DType::f32, {2, 4})});
  // Each has one reader left, and so have two the bytes.
  EXPECT_FALSE(l.places.is_read_last(l.result(0)));
  EXPECT_FALSE(l.places.is_read_last(l.result(1)));
  l.run(2, l.piece("y"));
  EXPECT_TRUE(l.places.is_read_last(l.result(0)));
}

TEST(ValuePlaces, KernelsStartFromTheirOwnMemory) {
  GraphBuilder g;
  g.output("y", g.relu(vector(g)));
  Lowered l(g, Space::device);
  const ValueId x = l.input(0);
  EXPECT_TRUE(l.places.of(x).empty());
  const Place host = piece(l.unallocated, Base::input, count, "x");
  l.places.put(x, host);
  EXPECT_EQ(l.places.best(x).buffer, host.buffer);
  EXPECT_EQ(l.places.find(x, Space::device), nullptr);
  const Place device = piece(l.unallocated, Space::device, count, "x");
  l.places.put(x, device);
  EXPECT_EQ(l.places.best(x).buffer, device.buffer);
  EXPECT_EQ(l.places.find(x, Space::host)->buffer, host.buffer);
}

}  // namespace
}  // namespace quern::lowering
