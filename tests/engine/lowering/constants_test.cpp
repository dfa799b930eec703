// SPDX-License-Identifier: Apache-2.0
// Constants where a file has them: read in place, or copied where a kernel wants them aligned.
#include "engine/lowering/constants.h"

#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "engine/devices/cpu/weights.h"
#include "graph/ops/pad.h"
#include "tests/graph/named_op.h"

namespace quern::lowering {
namespace {

using quern::testing::named;

// Four floats, `skipped` bytes behind an address that is aligned.
Tensor floats_at(std::size_t skipped) {
  struct alignas(64) Block {
    std::array<std::byte, 64> bytes{};
  };
  auto block = std::make_shared<Block>();
  const std::array<float, 4> values = {1, 2, 3, 4};
  std::memcpy(block->bytes.data() + skipped, values.data(), sizeof values);
  const std::byte* data = block->bytes.data() + skipped;
  return {{DType::f32, {4}}, std::move(block), data};
}

GraphConstants::Pinned pin(const Graph& g, ValueId v, cpu::SharedWeights& weights,
                           Address address) {
  const GraphConstants constants(g, std::numeric_limits<std::size_t>::max(), nullptr, nullptr);
  auto pinned = constants.pin(v, weights, address);
  EXPECT_TRUE(pinned) << pinned.error().message();
  std::array<float, 4> found{};
  std::memcpy(found.data(), pinned->data, sizeof found);
  EXPECT_EQ(found, (std::array<float, 4>{1, 2, 3, 4}));
  return *pinned;
}

TEST(Constants, AreReadInPlaceWhereTheyAreAligned) {
  for (const std::size_t skipped : {0, 4, 12, 3, 2, 1}) {
    SCOPED_TRACE(skipped);
    Graph g(builtin_ops());
    const Tensor t = floats_at(skipped);
    const ValueId v = g.add_constant(t);
    g.add_output(v, "v");
    cpu::SharedWeights weights;
    EXPECT_EQ(pin(g, v, weights, Address::any).data, t.data());
    const auto aligned = pin(g, v, weights, Address::aligned);
    EXPECT_EQ(aligned.data == t.data(), skipped % 4 == 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned.data) % 4, 0U);
    EXPECT_EQ(weights.bytes() > 0, skipped % 4 != 0) << "copies are held";
  }
}

TEST(Constants, AreThoseValuesThatNoInputReaches) {
  Graph g(builtin_ops());
  const ValueId x = g.add_input("x", {DType::f32, Dims{4}});
  const ValueId c = g.add_constant(floats_at(0));
  const ValueId negated = *g.add(named("Unary", "kind=neg"), {c});
  const ValueId back = *g.add(named("Unary", "kind=neg"), {negated});
  const ValueId sum = *g.add(named("Binary", "kind=add"), {x, back});
  const GraphConstants constants(g, std::numeric_limits<std::size_t>::max(), nullptr, nullptr);
  for (const ValueId v : {c, negated, back}) EXPECT_NE(constants.find(v), nullptr);
  for (const ValueId v : {x, sum}) EXPECT_EQ(constants.find(v), nullptr);
  EXPECT_NE(constants.find(negated)->key(), constants.find(back)->key());
  cpu::SharedWeights weights;
  const auto pinned = pin(g, back, weights, Address::any);
  EXPECT_GE(weights.bytes(), 16U) << "it was computed";
}

TEST(Constants, MayBeMadeOfOperandsThatAreLeftOut) {
  Graph g(builtin_ops());
  const ValueId c = g.add_constant(floats_at(0));
  const auto number = [&](std::int64_t v) {
    return g.add_constant(Tensor::from_values<std::int64_t>(DType::i64, {1}, std::array{v}));
  };
  const ValueId pads = g.add_constant(
      Tensor::from_values<std::int64_t>(DType::i64, {2}, std::array<std::int64_t, 2>{1, 0}));
  const ValueId padded = *g.add(Pad{}, {c, pads, no_value, number(0)});
  g.add_output(padded, "padded");
  const GraphConstants constants(g, std::numeric_limits<std::size_t>::max(), nullptr, nullptr);
  ASSERT_NE(constants.find(padded), nullptr);
  const auto t = constants.find(padded)->get();
  ASSERT_TRUE(t) << t.error().message();
  const auto found = t->span<float>();
  EXPECT_EQ(std::vector<float>(found.begin(), found.end()), (std::vector<float>{0, 1, 2, 3, 4}));
}

// Results of more than 32 MiB are not kept between computations, but within one.
TEST(Constants, OfAnySizeAreComputedOnce) {
  for (const std::int64_t elements : {std::int64_t{1} << 10, std::int64_t{9} << 20}) {
    Graph g(builtin_ops());
    ValueId v = g.add_constant(*Tensor::zeros({DType::f32, {elements}}));
    for (int i = 0; i < 3; ++i) v = *g.add(named("Binary", "kind=add"), {v, v});
    v = *g.add(named("Unary", "kind=cos"), {v});
    g.add_output(v, "v");
    const GraphConstants constants(g, std::numeric_limits<std::size_t>::max(), nullptr, nullptr);
    for (int time = 0; time < 2; ++time) {
      const auto t = constants.find(v)->get();
      ASSERT_TRUE(t) << t.error().message();
      EXPECT_EQ(t->span<float>().back(), 1.0F);
    }
  }
}

// A weight that is scaled before it is packed must not be held twice until the plan is made.
TEST(Constants, OfOneReaderAreNotKept) {
  Graph g(builtin_ops());
  const ValueId c = g.add_constant(*Tensor::zeros({DType::f32, {1 << 16}}));
  const ValueId once = *g.add(named("Unary", "kind=neg"), {c});
  const ValueId twice = *g.add(named("Unary", "kind=cos"), {c});
  g.add_output(*g.add(named("Unary", "kind=neg"), {once}), "a");
  g.add_output(*g.add(named("Binary", "kind=add"), {twice, twice}), "b");
  const GraphConstants constants(g, std::numeric_limits<std::size_t>::max(), nullptr, nullptr);
  const auto holders_of = [&](ValueId v) { return constants.find(v)->get()->owner().use_count(); };
  EXPECT_EQ(holders_of(once), 1);
  EXPECT_EQ(holders_of(twice), 2);
}

TEST(Constants, StayWithinTheLimit) {
  Graph g(builtin_ops());
  const ValueId c = g.add_constant(floats_at(0));
  const ValueId negated = *g.add(named("Unary", "kind=neg"), {c});
  g.add_output(negated, "negated");
  for (const std::size_t limit : {8, 4096}) {
    const GraphConstants constants(g, limit, nullptr, nullptr);
    const auto t = constants.find(negated)->get();
    EXPECT_EQ(t.has_value(), limit > 8);
    EXPECT_EQ(t ? Code::ok : t.error().code(), limit > 8 ? Code::ok : Code::out_of_memory);
  }
}

}  // namespace
}  // namespace quern::lowering
