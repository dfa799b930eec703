// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/sequences.h"
#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

const ValueType seq = sequence_of(DType::f32, Dims{N, 3});

TEST(Sequence, Construct) {
  const Sequence op;
  EXPECT_EQ(infer_text(op, {f32({N, 3}), f32({N, 4})}), "seq(f32[$0,?])");
  EXPECT_EQ(infer_text(op, {f32({2}), f32({2, 2})}), "seq(f32[*])");
  EXPECT_CONTAINS(infer_text(op, {f32({2}), i64({2})}), "one element type");
  EXPECT_CONTAINS(infer_text(op, {seq}), "must be a tensor");
  EXPECT_CONTAINS(infer_text(op, {}), "has no inputs");
}

TEST(Sequence, EmptyHasADtypeOnly) {
  EXPECT_EQ(infer_text(Sequence{.kind = SequenceKind::empty, .dtype = DType::string}, {}),
            "seq(string[*])");
}

TEST(Sequence, At) {
  const Sequence op{.kind = SequenceKind::at};
  EXPECT_EQ(infer_text(op, {seq, i64({})}), "f32[$0,3]");
  EXPECT_CONTAINS(infer_text(op, {seq}), "has 1 inputs, wants 2 to 2");
  EXPECT_CONTAINS(infer_text(op, {seq, f32({})}), "i64 or i32");
  EXPECT_CONTAINS(infer_text(op, {f32({2}), i64({})}), "must be a sequence");
}

TEST(Sequence, InsertEraseLength) {
  const Sequence insert{.kind = SequenceKind::insert};
  EXPECT_EQ(infer_text(insert, {seq, f32({N, 4})}), "seq(f32[$0,?])");
  EXPECT_EQ(infer_text(insert, {seq, f32({N, 3}), i64({})}), "seq(f32[$0,3])");
  EXPECT_CONTAINS(infer_text(insert, {seq, i64({1})}), "one element type");
  EXPECT_EQ(infer_text(Sequence{.kind = SequenceKind::erase}, {seq}), "seq(f32[$0,3])");
  EXPECT_CONTAINS(infer_text(Sequence{.kind = SequenceKind::erase}, {seq, i64({2})}),
                  "one element");
  EXPECT_EQ(infer_text(Sequence{.kind = SequenceKind::length}, {seq}), "i64[]");
}

TEST(SplitToSequence, Types) {
  const SplitToSequence op{.axis = 1};
  EXPECT_EQ(infer_text(op, {f32({N, 6})}), "seq(f32[$0,1])");
  EXPECT_EQ(infer_text(SplitToSequence{.axis = 1, .keepdims = false}, {f32({N, 6})}),
            "seq(f32[$0])");
  EXPECT_EQ(infer_text(op, {f32({N, 6}), tensor<std::int64_t>({}, {3})}), "seq(f32[$0,3])");
  EXPECT_EQ(infer_text(op, {f32({N, 6}), tensor<std::int64_t>({}, {4})}), "seq(f32[$0,?])");
  EXPECT_EQ(infer_text(op, {f32({N, 6}), ints({3, 3})}), "seq(f32[$0,3])");
  EXPECT_EQ(infer_text(op, {f32({N, 6}), ints({2, 4})}), "seq(f32[$0,?])");
  EXPECT_EQ(infer_text(op, {f32({N, 6}), i64({})}), "seq(f32[$0,?])");
  EXPECT_EQ(infer_text(op, {unranked(DType::f32)}), "seq(f32[*])");
}

TEST(SplitToSequence, Refuses) {
  const SplitToSequence op;
  EXPECT_CONTAINS(infer_text(op, {f32({6}), ints({1, 2})}), "the parts have 3 elements");
  EXPECT_CONTAINS(infer_text(op, {f32({6}), ints({7, -1})}), "a part of -1");
  EXPECT_CONTAINS(infer_text(op, {f32({6}), tensor<std::int64_t>({}, {0})}), "parts of 0 elements");
  EXPECT_CONTAINS(infer_text(op, {f32({})}), "outside of rank 0");
  EXPECT_CONTAINS(infer_text(op, {seq}), "must be a tensor");
}

TEST(ConcatFromSequence, Types) {
  EXPECT_EQ(infer_text(ConcatFromSequence{.axis = 1}, {seq}), "f32[$0,?]");
  EXPECT_EQ(infer_text(ConcatFromSequence{.axis = -1, .new_axis = true}, {seq}), "f32[$0,3,?]");
  EXPECT_EQ(infer_text(ConcatFromSequence{}, {sequence_of(DType::f32, std::nullopt)}), "f32[*]");
  EXPECT_CONTAINS(infer_text(ConcatFromSequence{.axis = 2}, {seq}), "outside of rank 2");
  EXPECT_CONTAINS(infer_text(ConcatFromSequence{}, {f32({2})}), "must be a sequence");
}

TEST(SequenceMap, Types) {
  const SequenceMap op{.inputs = 2};
  EXPECT_EQ(infer_text(op, {seq, f32({2}), i64({1})}, 2, {{f32({N}), i64({})}}),
            "seq(f32[$0]); seq(i64[])");
  EXPECT_CONTAINS(infer_text(op, {f32({2}), seq}, 1, {{f32({N})}}), "must be a sequence");
  EXPECT_CONTAINS(infer_text(op, {seq}, 1, {{f32({N})}}), "maps 2 of 1 inputs");
  EXPECT_CONTAINS(infer_text(op, {seq, seq}, 1, {}), "wants one body");
  EXPECT_CONTAINS(infer_text(op, {seq, seq}, 1, {{seq}}), "no sequence of tensors");
}

TEST(Optional, Types) {
  const Optional make, get{.kind = OptionalKind::get_element};
  EXPECT_EQ(infer_text(make, {f32({N})}), "opt(f32[$0])");
  EXPECT_EQ(infer_text(make, {seq}), "opt(seq(f32[$0,3]))");
  EXPECT_EQ(infer_text(Optional{.dtype = DType::i64, .of_sequence = true}, {}), "opt(seq(i64[*]))");
  EXPECT_EQ(infer_text(get, {optional_of(DType::f32, Dims{N})}), "f32[$0]");
  EXPECT_EQ(infer_text(get, {seq}), "seq(f32[$0,3])");
  EXPECT_EQ(infer_text(Optional{.kind = OptionalKind::has_element}, {Arg()}), "bool[]");
  EXPECT_CONTAINS(infer_text(get, {Arg()}), "left out");
  EXPECT_CONTAINS(infer_text(make, {optional_of(DType::f32, Dims{N})}), "is an optional already");
}

}  // namespace
}  // namespace quern::testing
