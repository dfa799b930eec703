// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/few_bits.h"

#include "graph/ops/block_quantized.h"
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

// The graph without the operator gives what it gave.
void expect_wide(std::string_view statements) {
  const Graph original = graph_of(statements);
  Graph g = original.clone();
  ASSERT_TRUE(widen_block_quantized(g).ok());
  for (const NodeId id : g.order()) EXPECT_FALSE(g.node(id).as<BlockQuantizedMatMul>());
  const std::vector<Tensor> inputs = random_inputs(original, 3);
  const auto want = interpret(original, inputs);
  const auto got = interpret(g, inputs);
  ASSERT_TRUE(want && got);
  expect_close((*want)[0], (*got)[0], 1e-5);
}

TEST(WidenBlockQuantized, WithoutZeroPoints) {
  expect_wide(R"(
    input %0 "x": f32[3,4]
    const %1: u8[2,2,1] = {33, 67, 15, 152}
    const %2: f32[2,2] = {1, 0.5, 2, -1}
    %3: f32[3,2] = BlockQuantizedMatMul(%0, %1, %2) bits=4 block_size=2
    output %3 "y")");
}

TEST(WidenBlockQuantized, ZeroPointsInBitsABiasAndABlockThatIsNotFull) {
  expect_wide(R"(
    input %0 "x": f32[3,3]
    const %1: u8[2,2,1] = {33, 67, 15, 152}
    const %2: f32[2,2] = {1, 0.5, 2, -1}
    const %3: u8[2,1] = {49, 128}
    input %4 "b": f32[2]
    %5: f32[3,2] = BlockQuantizedMatMul(%0, %1, %2, %3, %4) bits=4 block_size=2
    output %5 "y")");
}

TEST(WidenBlockQuantized, ZeroPointsInFloats) {
  expect_wide(R"(
    input %0 "x": f32[3,8]
    const %1: u8[2,2,1] = {33, 67, 15, 152}
    const %2: f32[2,2] = {1, 0.5, 2, -1}
    const %3: f32[2,2] = {0.5, 1, 2.5, 3}
    %4: f32[3,2] = BlockQuantizedMatMul(%0, %1, %2, %3) bits=2 block_size=4
    output %4 "y")");
}

}  // namespace
}  // namespace quern::testing
