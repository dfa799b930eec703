// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/control_flow.h"

#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

const ValueType condition{DType::boolean, Dims{}};
const ValueType trips = i64({});

TEST(If, SaysWhatHoldsOfBothBranches) {
  const auto types = [](ValueType a, ValueType b) {
    return infer_text(If{}, {condition}, 1, {{std::move(a)}, {std::move(b)}});
  };
  EXPECT_EQ(types(f32({N, 3, any}), f32({N, 4, any})), "f32[$0,?,?]");
  EXPECT_EQ(types(f32({2}), f32({2})), "f32[2]");
  EXPECT_EQ(types(f32({2}), f32({2, 2})), "f32[*]");
  EXPECT_EQ(types(sequence_of(DType::f32, Dims{2}), sequence_of(DType::f32, std::nullopt)),
            "seq(f32[*])");
  EXPECT_CONTAINS(types(f32({2}), i64({2})), "output 0 is f32[2] in one case and i64[2]");
  EXPECT_CONTAINS(types(f32({2}), sequence_of(DType::f32, Dims{2})), "in one case");
}

TEST(If, AKnownConditionChooses) {
  const Bodies bodies{{f32({2})}, {f32({3, 3})}};
  EXPECT_EQ(infer_text(If{}, {tensor<bool>({}, {true})}, 1, bodies), "f32[2]");
  EXPECT_EQ(infer_text(If{}, {tensor<bool>({1}, {false})}, 1, bodies), "f32[3,3]");
}

TEST(If, Refuses) {
  EXPECT_CONTAINS(infer_text(If{}, {condition}, 1, {{f32({})}}), "body 1 is missing");
  EXPECT_CONTAINS(infer_text(If{}, {condition}, 1, {{f32({})}, {}}),
                  "body 1 hands out 0 values, wants 1");
  EXPECT_CONTAINS(infer_text(If{}, {f32({})}, 1, {}), "must be bool");
  EXPECT_CONTAINS(infer_text(If{}, {ValueType(DType::boolean, Dims{2})}, 1, {}), "one element");
}

TEST(Loop, CarriedValuesAndStackedOnes) {
  const Loop op{.carried = 1};
  const Bodies body{{condition, f32({N, 4}), i64({2})}};
  EXPECT_EQ(infer_text(op, {trips, condition, f32({N, 3})}, 2, body), "f32[$0,?]; i64[?,2]");
  EXPECT_EQ(infer_text(op, {Arg(), Arg(), f32({N, 4})}, 2, body), "f32[$0,4]; i64[?,2]");
  EXPECT_EQ(infer_text(op, {trips, condition, f32({4})}, 2, body), "f32[*]; i64[?,2]");
}

TEST(Loop, AnOptionalStateMayBecomeASequence) {
  ValueType none = sequence_of(DType::f32, std::nullopt);
  none.kind = ValueType::Kind::optional_sequence;
  EXPECT_EQ(infer_text(Loop{.carried = 1}, {trips, Arg(), none}, 1,
                       {{condition, sequence_of(DType::f32, Dims{any})}}),
            "seq(f32[*])");
}

TEST(Loop, Refuses) {
  const Loop op{.carried = 1};
  const Bodies body{{condition, f32({})}};
  EXPECT_CONTAINS(infer_text(op, {trips, condition, i64({})}, 1, body), "in one case");
  EXPECT_CONTAINS(infer_text(op, {trips, condition, Arg()}, 1, body), "no initial value");
  EXPECT_CONTAINS(infer_text(op, {trips, condition}, 1, body), "1 carried values for 2");
  EXPECT_CONTAINS(infer_text(Loop{.carried = -1}, {trips, condition}, 1, body), "-1 carried");
  EXPECT_CONTAINS(infer_text(Loop{.carried = int_max}, {trips, condition}, 1, body),
                  "carried values");
  EXPECT_CONTAINS(infer_text(op, {trips, condition, f32({})}, 2, body), "hands out 2 values");
  EXPECT_CONTAINS(infer_text(op, {f32({}), condition, f32({})}, 1, body), "must be i64");
  EXPECT_CONTAINS(infer_text(Loop{}, {trips, condition}, 1,
                             {{condition, sequence_of(DType::f32, std::nullopt)}}),
                  "cannot stack");
  EXPECT_CONTAINS(infer_text(op, {trips, condition, f32({})}, 1,
                             {{sequence_of(DType::boolean, std::nullopt), f32({})}}),
                  "the body's condition is seq(bool[*]), wants one bool");
  EXPECT_CONTAINS(infer_text(op, {trips, condition, f32({})}, 1, {{i64({}), f32({})}}),
                  "the body's condition is i64[], wants one bool");
}

TEST(Scan, StatesAndScannedValues) {
  const Scan op{.states = 1, .scanned_inputs = 1};
  const Bodies body{{f32({2}), f32({2, N})}};
  EXPECT_EQ(infer_text(op, {f32({2}), f32({5, 2})}, 2, body), "f32[2]; f32[5,2,$0]");
  EXPECT_EQ(infer_text(op, {f32({3}), f32({M, 2})}, 2, body), "f32[?]; f32[$1,2,$0]");
  EXPECT_EQ(infer_text(op, {f32({2}), unranked(DType::f32)}, 2, body), "f32[2]; f32[?,2,$0]");
}

TEST(Scan, AxesOfInputsAndOutputs) {
  Scan op{.states = 0, .scanned_inputs = 2, .input_axes = {1, -1}, .output_axes = {-1}};
  EXPECT_EQ(infer_text(op, {f32({2, N}), f32({3, 4, 7})}, 1, {{f32({2})}}), "f32[2,7]");
  EXPECT_CONTAINS(infer_text(op, {f32({2, 5}), f32({3, 4, 7})}, 1, {{f32({2})}}),
                  "is scanned 7 times, others 5");
  op.output_axes = {2};
  EXPECT_CONTAINS(infer_text(op, {f32({2, N}), f32({3, 4, 7})}, 1, {{f32({2})}}),
                  "axis 2 is outside of rank 2");
}

TEST(Scan, Refuses) {
  const Bodies body{{f32({2})}};
  const auto error = [&](const Scan& op) { return infer_text(op, {f32({2, 2})}, 1, body); };
  EXPECT_CONTAINS(error({.scanned_inputs = 0}), "0 scanned inputs");
  EXPECT_CONTAINS(error({.states = 1, .scanned_inputs = 1}), "1 scanned inputs for 1 inputs");
  EXPECT_CONTAINS(error({.states = int_max, .scanned_inputs = int_max}), "scanned inputs");
  EXPECT_CONTAINS(error({.scanned_inputs = 1, .input_axes = {0, 1}}),
                  "scan_input_axes has 2 entries, wants 1");
  EXPECT_CONTAINS(error({.scanned_inputs = 1, .input_axes = {2}}), "outside of rank 2");
  EXPECT_CONTAINS(error({.scanned_inputs = 1, .output_directions = {2}}),
                  "scan_output_directions holds 2");
}

}  // namespace
}  // namespace quern::testing
