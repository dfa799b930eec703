// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"
#include "tests/onnx-parser/onnx_writer.h"

namespace quern::onnx {
namespace {

using onnx_test::Message;
using ::testing::ElementsAre;

constexpr std::size_t plenty = 1 << 20;

// This appends every field 1 of `bytes`, read as T, to `values`, and returns the error's message.
template <class T>
std::string read_all(const std::string& bytes, std::vector<T>& values,
                     std::size_t budget = plenty) {
  WireState state(bytes, budget);
  WireReader r(bytes, state);
  while (r.next()) {
    if (r.field() == 1) {
      r.append(values);
    } else {
      r.skip();
    }
  }
  return std::string(state.status().message());
}

TEST(Wire, RepeatedNumbersMayBePackedOrNotOrBoth) {
  std::vector<std::int64_t> v;
  const Message m = Message().number(1, 7).packed(1, {8, -1}).number(2, 99).number(1, 300);
  EXPECT_EQ(read_all(m.bytes(), v), "");
  EXPECT_THAT(v, ElementsAre(7, 8, -1, 300));
}

TEST(Wire, RepeatedFloatsMayBePackedOrNot) {
  std::vector<float> v;
  const Message m = Message().real(1, 1.5f).packed_fixed(1, {2.5f, -0.0f});
  EXPECT_EQ(read_all(m.bytes(), v), "");
  EXPECT_THAT(v, ElementsAre(1.5f, 2.5f, -0.0f));
}

TEST(Wire, StringsAreViewsIntoTheBytes) {
  const std::string bytes = Message().text(1, "abc").text(1, "").bytes();
  std::vector<std::string_view> v;
  EXPECT_EQ(read_all(bytes, v), "");
  EXPECT_THAT(v, ElementsAre("abc", ""));
  EXPECT_EQ(v[0].data(), bytes.data() + 2);
}

TEST(Wire, TheLastOfRepeatedScalarsCounts) {
  const std::string bytes = Message().number(1, 1).number(1, 2).bytes();
  WireState state(bytes, plenty);
  WireReader r(bytes, state);
  std::int64_t v = 0;
  while (r.next()) r.read(v);
  EXPECT_EQ(v, 2);
}

TEST(Wire, ThirtyTwoBitFieldsKeepTheLowBits) {
  const std::string bytes = Message().number(1, (std::int64_t{1} << 32) + 5).number(1, -3).bytes();
  WireState state(bytes, plenty);
  WireReader r(bytes, state);
  std::int32_t v = 0;
  ASSERT_TRUE(r.next());
  r.read(v);
  EXPECT_EQ(v, 5);
  ASSERT_TRUE(r.next());
  r.read(v);
  EXPECT_EQ(v, -3);
}

TEST(Wire, SkipsEveryWireTypeItKnows) {
  std::vector<std::int64_t> v;
  const Message m =
      Message().number(2, 1).real(3, 1.0).text(4, "skipped").real(5, 1.0f).number(1, 6);
  EXPECT_EQ(read_all(m.bytes(), v), "");
  EXPECT_THAT(v, ElementsAre(6));
}

TEST(Wire, ErrorsTellTheByteAndWhatIsWrong) {
  std::vector<std::int64_t> v;
  EXPECT_EQ(read_all(std::string("\x10\x01\x08\xff", 4), v), "byte 4: a number is cut off");
  EXPECT_EQ(read_all(std::string(1, '\x80'), v), "byte 1: a number is cut off");
  EXPECT_EQ(read_all(std::string("\x0a\x05\x01", 3), v),
            "byte 2: field 1 has 5 bytes, but only 1 are left");
  EXPECT_EQ(read_all(std::string("\x0d\x01\x02\x03\x04", 5), v),
            "byte 1: field 1 is four bytes, wants a varint");
  EXPECT_EQ(read_all(std::string("\x11\x01", 2), v), "byte 1: a number is cut off");
}

TEST(Wire, NumbersOfMoreThan64BitsAreRefused) {
  std::vector<std::int64_t> v;
  const std::string ones(9, '\xff');
  EXPECT_EQ(read_all("\x08" + ones + '\x01', v), "");
  EXPECT_THAT(v, ElementsAre(-1));
  EXPECT_CONTAINS(read_all("\x08" + ones + '\x02', v), "more than 64 bits");
  EXPECT_CONTAINS(read_all("\x08" + ones + '\xff' + '\x01', v), "more than 64 bits");
}

TEST(Wire, FieldNumbersOutsideOfTheirRangeAreRefused) {
  std::vector<std::int64_t> v;
  EXPECT_CONTAINS(read_all(std::string("\x00\x00", 2), v), "field number that cannot be");
  EXPECT_CONTAINS(read_all(Message().varint(std::uint64_t{1} << 35).bytes(), v),
                  "field number that cannot be");
}

TEST(Wire, GroupsAreRefused) {
  std::vector<std::int64_t> v;
  EXPECT_CONTAINS(read_all(Message().key(2, 3).key(2, 4).bytes(), v), "a group");
  EXPECT_CONTAINS(read_all(Message().key(2, 7).bytes(), v), "an unknown wire type");
}

TEST(Wire, TheFirstErrorSticksAndEndsEveryReader) {
  const std::string bytes = Message().text(1, "\x80").number(2, 5).bytes();
  WireState state(bytes, plenty);
  WireReader outer(bytes, state);
  ASSERT_TRUE(outer.next());
  WireReader inner = outer.message();
  EXPECT_FALSE(inner.next());
  EXPECT_FALSE(outer.next());
  EXPECT_EQ(state.status().message(), "byte 3: a number is cut off");
  EXPECT_EQ(state.status().code(), Code::invalid_model);
}

TEST(Wire, ElementsAreChargedBeforeTheyAreStored) {
  std::vector<std::int64_t> v;
  EXPECT_EQ(read_all(Message().packed(1, {1, 2, 3}).bytes(), v, 24), "");
  EXPECT_CONTAINS(read_all(Message().packed(1, {1, 2, 3}).bytes(), v, 23),
                  "3 more elements here pass the memory budget of 23 bytes");
  std::vector<std::string_view> s;
  EXPECT_CONTAINS(read_all(Message().text(1, "").text(1, "").bytes(), s, 16), "byte 4");
}

}  // namespace
}  // namespace quern::onnx
