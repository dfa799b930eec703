// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/numeric.h"
#include "graph/text.h"
#include "tests/expect.h"
#include "tests/onnx-parser/onnx_writer.h"

namespace quern::onnx {
namespace {

using namespace onnx_test;  // NOLINT: a writer's vocabulary

class TensorTest : public ::testing::Test {
 protected:
  Result<Tensor> decode(const Message& m, std::size_t budget_bytes = 1 << 20) {
    bytes_ = m.bytes();
    budget_ = MemoryBudget(budget_bytes);
    QUERN_ASSIGN(const TensorProto proto, read_tensor(bytes_, {.memory_bytes = 1 << 20}));
    return TensorDecoder(nullptr, ConfinedFolder(""), budget_).decode(proto);
  }
  std::string error_of(const Message& m) {
    auto t = decode(m);
    EXPECT_FALSE(t) << "an error was expected";
    return t ? "" : std::string(t.error().message());
  }
  // "f32[2] = {1, 2}"
  std::string text_of(const Message& m) {
    const auto t = decode(m);
    if (!t) return "error: " + std::string(t.error().message());
    Graph g({});
    g.add_output(g.add_constant(*t), "y");
    const std::string text = to_text(g);
    const auto begin = text.find(": ") + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
  }

  std::string bytes_;
  MemoryBudget budget_{0};
};

TEST_F(TensorTest, RawDataIsAliasedWhateverItsAlignment) {
  const auto t = decode(floats("w", {2, 2}, {1, 2, 3, 4}), 0);
  ASSERT_TRUE(t) << t.error().message();
  const auto* begin = reinterpret_cast<const std::byte*>(bytes_.data());
  EXPECT_GE(t->data(), begin);
  EXPECT_LE(t->data() + 16, begin + bytes_.size());
  EXPECT_EQ(text_of(floats("w", {2, 2}, {1, 2, 3, 4})), "f32[2,2] = {1, 2, 3, 4}");
}

TEST_F(TensorTest, OnePackedRunOfFloatsIsAliasedToo) {
  const Message m = tensor_header("w", f32, {3}).packed_fixed(4, {1.f, 2.f, 3.f});
  const auto t = decode(m, 0);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(text_of(m), "f32[3] = {1, 2, 3}");
}

TEST_F(TensorTest, FloatsInPiecesAreJoined) {
  EXPECT_EQ(text_of(tensor_header("w", f32, {3}).real(4, 1.f).packed_fixed(4, {2.f}).real(4, 3.f)),
            "f32[3] = {1, 2, 3}");
  EXPECT_EQ(text_of(tensor_header("w", f64, {2}).packed_fixed(10, {1.5, 2.5})),
            "f64[2] = {1.5, 2.5}");
  EXPECT_EQ(text_of(tensor_header("w", f64, {2}).real(10, 1.5).real(10, 2.5)),
            "f64[2] = {1.5, 2.5}");
}

TEST_F(TensorTest, NarrowTypesLieInInt32Data) {
  const auto narrow = [](std::int64_t dtype, std::initializer_list<std::int64_t> v) {
    return tensor_header("w", dtype, {static_cast<std::int64_t>(v.size())}).packed(5, v);
  };
  EXPECT_EQ(text_of(narrow(i32, {1, -2, 2147483647})), "i32[3] = {1, -2, 2147483647}");
  EXPECT_EQ(text_of(narrow(i16, {1, -2, 0xffff})), "i16[3] = {1, -2, -1}");
  EXPECT_EQ(text_of(narrow(u16, {1, 65535})), "u16[2] = {1, 65535}");
  EXPECT_EQ(text_of(narrow(i8, {-128, 127})), "i8[2] = {-128, 127}");
  EXPECT_EQ(text_of(narrow(u8, {0, 255})), "u8[2] = {0, 255}");
  EXPECT_EQ(text_of(narrow(boolean, {0, 1, 7})), "bool[3] = {false, true, true}");
  EXPECT_EQ(text_of(narrow(f16, {0x3c00, 0xc000})), "f16[2] = {1, -2}");
  EXPECT_EQ(text_of(narrow(bf16, {0x3f80})), "bf16[1] = {1}");
  EXPECT_EQ(text_of(narrow(f8e4m3fn, {0x38})), "f8e4m3fn[1] = {1}");
  EXPECT_EQ(text_of(narrow(f8e4m3fnuz, {0x40})), "f8e4m3fnuz[1] = {1}");
  EXPECT_EQ(text_of(narrow(f8e5m2, {0x3c})), "f8e5m2[1] = {1}");
  EXPECT_EQ(text_of(narrow(f8e5m2fnuz, {0x40})), "f8e5m2fnuz[1] = {1}");
  EXPECT_CONTAINS(text_of(narrow(u8, {256})), "outside of its type");
  EXPECT_CONTAINS(text_of(narrow(i8, {-129})), "outside of its type");
}

TEST_F(TensorTest, WideTypesHaveTheirOwnFields) {
  EXPECT_EQ(text_of(tensor_header("w", i64, {2}).packed(7, {-1, 5})), "i64[2] = {-1, 5}");
  EXPECT_EQ(text_of(tensor_header("w", u64, {1}).packed(11, {-1})),
            "u64[1] = {18446744073709551615}");
  EXPECT_EQ(text_of(tensor_header("w", u32, {1}).number(11, 4294967295)), "u32[1] = {4294967295}");
}

TEST_F(TensorTest, FourBitIntegersLieTwoToAByteTheLowFirst) {
  EXPECT_EQ(text_of(raw_tensor("w", i4, {3}, "\x71\x08")), "i4[3] = {1, 7, -8}");
  EXPECT_EQ(text_of(raw_tensor("w", u4, {4}, "\xf0\x21")), "u4[4] = {0, 15, 1, 2}");
  EXPECT_EQ(text_of(tensor_header("w", i4, {3}).packed(5, {0x71, 0x08})), "i4[3] = {1, 7, -8}");
  EXPECT_EQ(text_of(tensor_header("w", u4, {2}).number(5, 0xf1)), "u4[2] = {1, 15}");
  EXPECT_CONTAINS(error_of(raw_tensor("w", u4, {3}, "\x01")), "has 1 bytes, but u4[3] takes 2");
}

TEST_F(TensorTest, ElementsOfTwoBitsLieFourToAByteTheLowFirst) {
  EXPECT_EQ(text_of(raw_tensor("w", i2, {5}, "\x1b\x02")), "i2[5] = {-1, -2, 1, 0, -2}");
  EXPECT_EQ(text_of(raw_tensor("w", u2, {4}, "\xe4")), "u2[4] = {0, 1, 2, 3}");
  EXPECT_EQ(text_of(tensor_header("w", i2, {6}).packed(5, {0x1b, 0xff})),
            "i2[6] = {-1, -2, 1, 0, -1, -1}");
  EXPECT_EQ(text_of(tensor_header("w", u2, {3}).number(5, 0xff)), "u2[3] = {3, 3, 3}");
  EXPECT_CONTAINS(error_of(raw_tensor("w", u2, {5}, "\x01")), "has 1 bytes, but u2[5] takes 2");
  EXPECT_CONTAINS(error_of(raw_tensor("w", i2, {4}, "ab")), "has 2 bytes, but i2[4] takes 1");
  EXPECT_CONTAINS(error_of(tensor_header("w", i2, {9}).packed(5, {1, 1})),
                  "has 8 elements, but i2[9] takes 9");
  EXPECT_CONTAINS(error_of(tensor_header("w", i2, {4}).packed(5, {1, 1})), "too many");
  EXPECT_CONTAINS(error_of(tensor_header("w", u2, {4}).packed(5, {256})), "outside of its type");
}

TEST_F(TensorTest, FloatsOfFourBitsAndPowersOfTwo) {
  EXPECT_EQ(text_of(raw_tensor("w", f4e2m1, {3}, "\x71\x0d")), "f4e2m1[3] = {0.5, 6, -3}");
  EXPECT_EQ(text_of(tensor_header("w", f4e2m1, {2}).number(5, 0x20)), "f4e2m1[2] = {0, 1}");
  EXPECT_CONTAINS(error_of(raw_tensor("w", f4e2m1, {3}, "\x01")),
                  "has 1 bytes, but f4e2m1[3] takes 2");
  EXPECT_EQ(text_of(raw_tensor("w", f8e8m0, {3}, "\x7f\x80\x7e")), "f8e8m0[3] = {1, 2, 0.5}");
  EXPECT_EQ(text_of(tensor_header("w", f8e8m0, {1}).number(5, 130)), "f8e8m0[1] = {8}");
  EXPECT_CONTAINS(error_of(raw_tensor("w", f8e8m0, {2}, "\x7f")),
                  "has 1 bytes, but f8e8m0[2] takes 2");
}

TEST_F(TensorTest, RawTruthValuesAreZeroOrOne) {
  EXPECT_EQ(text_of(raw_tensor("w", boolean, {3}, std::string_view("\0\1\2", 3))),
            "bool[3] = {false, true, true}");
}

TEST_F(TensorTest, StringsMayHoldAnyByte) {
  const Message m =
      tensor_header("w", onnx_test::text, {2}).text(6, std::string_view("a\0b", 3)).text(6, "");
  EXPECT_EQ(text_of(m), "string[2] = {\"a\\x00b\", \"\"}");
  EXPECT_CONTAINS(error_of(tensor_header("w", onnx_test::text, {2}).text(6, "a")),
                  "has 1 strings, but string[2] takes 2");
}

TEST_F(TensorTest, ScalarsAndEmptyTensors) {
  EXPECT_EQ(text_of(floats("w", {}, {3})), "f32[] = {3}");
  EXPECT_EQ(text_of(tensor_header("w", f32, {0})), "f32[0] = {}");
  EXPECT_EQ(text_of(tensor_header("w", i64, {2, 0}).text(9, "")), "i64[2,0] = {}");
  EXPECT_EQ(text_of(tensor_header("w", onnx_test::text, {0})), "string[0] = {}");
}

TEST_F(TensorTest, ThePayloadMustFitTheDimensions) {
  EXPECT_EQ(error_of(floats("w", {3}, {1, 2})), "tensor 'w': has 8 bytes, but f32[3] takes 12");
  EXPECT_CONTAINS(error_of(floats("w", {1}, {1, 2})), "has 8 bytes, but f32[1] takes 4");
  EXPECT_CONTAINS(error_of(tensor_header("w", i64, {2}).packed(7, {1})),
                  "has 1 elements, but i64[2] takes 2");
  EXPECT_CONTAINS(error_of(tensor_header("w", i64, {1}).packed(7, {1, 2})), "too many");
  EXPECT_CONTAINS(error_of(tensor_header("w", i64, {1}).number(7, 1).number(7, 2)), "too many");
  EXPECT_CONTAINS(error_of(tensor_header("w", f32, {2})), "has 0 elements");
  EXPECT_CONTAINS(error_of(tensor_header("w", f32, {1}).number(4, 3)), "field 4 is a varint");
}

TEST_F(TensorTest, DimensionsAreCheckedBeforeAnyMemoryIsTaken) {
  EXPECT_CONTAINS(error_of(tensor_header("w", f32, {std::int64_t{1} << 40, std::int64_t{1} << 40})),
                  "negative or their product overflows");
  EXPECT_CONTAINS(error_of(tensor_header("w", f32, {-1})), "negative");
  EXPECT_CONTAINS(error_of(tensor_header("w", i64, {std::int64_t{1} << 50})), "elements at most");
  EXPECT_CONTAINS(
      error_of(tensor_header("w", f32, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
                   .real(4, 1.f)),
      "has rank 17, the most is 16");
}

TEST_F(TensorTest, TypesWithoutACounterpartAreNamed) {
  EXPECT_CONTAINS(error_of(tensor_header("w", complex64, {1})), "COMPLEX64 is not supported");
  EXPECT_CONTAINS(error_of(tensor_header("w", undefined, {1})), "UNDEFINED");
  EXPECT_CONTAINS(error_of(tensor_header("w", 99, {1})), "element type 99 is not known");
  EXPECT_CONTAINS(error_of(tensor_header("w", -1, {1})), "element type -1 is not known");
}

TEST_F(TensorTest, DecodedMemoryIsCharged) {
  const Message m = tensor_header("w", i64, {2}).packed(7, {1, 2});
  EXPECT_TRUE(decode(m, 16));
  const auto t = decode(m, 15);
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().code(), Code::out_of_memory);
  EXPECT_CONTAINS(std::string(t.error().message()), "budget of 15 bytes");
}

TEST_F(TensorTest, NumbersOfTypesGoBothWays) {
  for (std::int64_t i = 1; i <= 26; ++i) {
    const auto dtype = dtype_of(i);
    EXPECT_TRUE(!dtype || onnx_type_of(*dtype) == i) << i;
  }
}

}  // namespace
}  // namespace quern::onnx
