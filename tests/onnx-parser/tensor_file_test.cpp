// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <fstream>
#include <unistd.h>

#include "graph/numeric.h"
#include "tests/expect.h"
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using Kind = ValueType::Kind;

ValueType type(DType dtype, Kind kind = Kind::tensor) {
  return {dtype, std::nullopt, kind};
}

Result<OnnxValue> parse(const Message& m, const ValueType& declared) {
  static std::string bytes;  // alive until the next call
  bytes = m.bytes();
  return parse_tensor_file(as_bytes(bytes), nullptr, declared);
}

TEST(TensorFile, ATensor) {
  const auto v = parse(floats("x", {2}, {1, 2}), type(DType::f32));
  ASSERT_TRUE(v) << v.error().message();
  EXPECT_EQ(v->name, "x");
  ASSERT_THAT(v->tensors, SizeIs(1));
  EXPECT_EQ(v->tensors[0].type().text(), "f32[2]");
}

TEST(TensorFile, TheDeclaredTypeDecidesWhichMessageItIs) {
  const Message sequence = Message()
                               .text(1, "s")
                               .number(2, 1)
                               .message(3, floats("", {1}, {1}))
                               .message(3, floats("", {2}, {1, 2}));
  const auto v = parse(sequence, type(DType::f32, Kind::sequence));
  ASSERT_TRUE(v) << v.error().message();
  EXPECT_EQ(v->name, "s");
  EXPECT_THAT(v->tensors, SizeIs(2));
  // Taken for a tensor it is nonsense, and refused at no cost.
  EXPECT_FALSE(parse(sequence, type(DType::f32)));
}

TEST(TensorFile, OptionalsMayBeEmpty) {
  const auto full = parse(Message().number(2, 1).message(3, floats("", {1}, {1})),
                          type(DType::f32, Kind::optional_tensor));
  ASSERT_TRUE(full);
  EXPECT_TRUE(full->present);
  const auto empty = parse(Message().text(1, "o"), type(DType::f32, Kind::optional_tensor));
  ASSERT_TRUE(empty);
  EXPECT_FALSE(empty->present);
  const auto no_elements = parse(Message().message(5, Message().number(2, 1)),
                                 type(DType::f32, Kind::optional_sequence));
  ASSERT_TRUE(no_elements);
  EXPECT_TRUE(no_elements->present);
  EXPECT_THAT(no_elements->tensors, SizeIs(0));
}

TEST(TensorFile, SixteenBitFloatsStoredAsIntegersAreTakenForTheirBits) {
  const auto v =
      parse(raw_tensor("x", u16, {1}, bytes_of<std::uint16_t>({0x3f80})), type(DType::bf16));
  ASSERT_TRUE(v);
  EXPECT_EQ(v->tensors[0].dtype(), DType::bf16);
  EXPECT_EQ(parse(raw_tensor("x", u16, {1}, "ab"), type(DType::u16))->tensors[0].dtype(),
            DType::u16);
}

TEST(TensorFile, ExternalDataIsRefused) {
  const auto v = parse(tensor_header("x", f32, {1})
                           .message(13, Message().text(1, "location").text(2, "w.bin"))
                           .number(14, 1),
                       type(DType::f32));
  ASSERT_FALSE(v);
  EXPECT_CONTAINS(std::string(v.error().message()), "cannot have external data");
}

class TensorFileOnDisk : public ::testing::Test {
 protected:
  std::string path_ = ::testing::TempDir() + "quern-value-" + std::to_string(::getpid()) + ".pb";
  void TearDown() override { std::remove(path_.c_str()); }
};

TEST_F(TensorFileOnDisk, WhatIsWrittenReadsBack) {
  const auto back = [&](const OnnxValue& value, DType dtype) {
    const Status written = write_tensor_file(path_, value);
    EXPECT_TRUE(written.ok()) << written.message();
    auto v = read_tensor_file(path_, type(dtype, value.kind));
    EXPECT_TRUE(v) << v.error().message();
    return std::move(v).value();
  };
  const Tensor t = Tensor::from_values<float>(DType::f32, {2}, {{1.f, 2.f}});
  OnnxValue v = back({.name = "x", .tensors = {t}}, DType::f32);
  EXPECT_EQ(v.name, "x");
  EXPECT_THAT(v.tensors.at(0).span<float>(), ElementsAre(1, 2));
  v = back({.kind = Kind::sequence, .tensors = {t, t}}, DType::f32);
  EXPECT_THAT(v.tensors, SizeIs(2));
  v = back({.kind = Kind::optional_tensor, .present = false}, DType::f32);
  EXPECT_FALSE(v.present);
  v = back({.kind = Kind::optional_tensor, .tensors = {t}}, DType::f32);
  EXPECT_TRUE(v.present);
  v = back({.kind = Kind::optional_sequence, .tensors = {}}, DType::f32);
  EXPECT_TRUE(v.present);
  const std::int8_t nibbles[] = {1, -8, 7};
  v = back({.tensors = {Tensor::from_values<std::int8_t>(DType::i4, {3}, nibbles)}}, DType::i4);
  EXPECT_THAT(v.tensors.at(0).span<std::int8_t>(), ElementsAre(1, -8, 7));
  const StringRef words[] = {{"ab", 2}, {"", 0}};
  v = back({.tensors = {Tensor::from_values<StringRef>(DType::string, {2}, words)}}, DType::string);
  EXPECT_EQ(v.tensors.at(0).span<StringRef>()[0].view(), "ab");
}

TEST_F(TensorFileOnDisk, MistakesAreNamed) {
  EXPECT_CONTAINS(std::string(write_tensor_file(path_, {}).message()),
                  "0 tensors given, wants one");
  EXPECT_FALSE(write_tensor_file("no/such/folder/x.pb", {.kind = Kind::sequence}).ok());
  EXPECT_EQ(read_tensor_file("no/such/file.pb", type(DType::f32)).error().code(), Code::not_found);
  std::ofstream(path_) << "\x08";
  EXPECT_CONTAINS(std::string(read_tensor_file(path_, type(DType::f32)).error().message()),
                  "byte 1: a number is cut off");
}

}  // namespace
}  // namespace quern::onnx_test
