// SPDX-License-Identifier: Apache-2.0
#include "graph/text.h"

#include <array>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/pad.h"
#include "kernels/contract/kernel.h"
#include "tests/expect.h"
#include "tests/graph/named_op.h"

namespace quern {
namespace {

// Another value than the default.
void change(bool& v) {
  v = !v;
}
void change(std::int64_t& v) {
  v -= 3;
}
void change(std::uint64_t& v) {
  v = std::numeric_limits<std::uint64_t>::max();
}
void change(float& v) {
  v = 0.1f;
}
void change(double& v) {
  v = -0.1;
}
void change(std::string& v) {
  v = "a \"b\" \\c\n->d";
}
void change(DType& v) {
  v = DType::f8e5m2fnuz;
}
void change(std::vector<Unary>&) {}  // as texts, in Text.FunctionsAmongAttributes
void change(EnumField& v) {
  *v.value = static_cast<std::uint8_t>(v.names.size() - 1);
}
template <class T>
void change(std::optional<T>& v) {
  change(v.emplace());
}
template <class T>
void change(std::vector<T>& v) {
  v.assign(2, T());
  change(v[1]);
}

TEST(Text, EveryAttributeOfEveryOperator) {
  for (const OpDef* def : all_ops()) {
    Op op = default_op(*def);
    edit_fields(op, [](std::string_view, auto& field) { change(field); });
    Op back = default_op(*def);
    ASSERT_TRUE(parse_attributes(attributes_text(op), back).ok()) << def->name;
    EXPECT_EQ(back, op) << def->name;
  }
}

TEST(Text, FunctionsAmongAttributes) {
  for (const std::string text :
       {"kind=lstm activations=[bitwise_not(-inf,2)]", "kind=lstm activations=[relu,clip(-1,6)]"}) {
    const Op op = testing::named("Rnn", text);
    EXPECT_EQ(attributes_text(op), text);
    EXPECT_NE(op, testing::named("Rnn", ""));
  }
}

TEST(TextUtil, SmallLettersAreOfAscii) {
  EXPECT_EQ(small_letters("@AZ[ `az{ \xC4 09"), "@az[ `az{ \xC4 09");
}

TEST(Text, AnEditIsSeenByNoCopy) {
  Op op = testing::named("Transpose", "perm=[1,0]");
  const Op copy = op;
  edit_fields(op, [](std::string_view, auto& field) { change(field); });
  EXPECT_NE(op, copy);
  EXPECT_EQ(copy, testing::named("Transpose", "perm=[1,0]"));
}

TEST(Text, TypesConstantsPostOpsAndBodies) {
  const std::string text = R"(graph "a" {
  input %0 "x": f32[N,"a b",?,3]
  input %1 "s": seq(i64[*])
  input %2 "o": opt(seq(f16[]))
  input %3 "c": bool[]
  const %4: f32[1] = {-inf}
  const %5: f32[3] = {1, nan, 0.1}
  %6 "y": f32[N,"a b",?,3] = Binary(%0, %4) kind=add | clip(-1,6) | sub(%5) swapped | relu @"n"
  const %7 "t": string[2] = {"a\"b", ""}
  %8: string[2] = Identity(%7)
  const %9: i64[] = {-9223372036854775808}
  %10: i64[] = Identity(%9)
  const %11: u64[0] = {}
  %12: u64[0] = Identity(%11)
  const %13: bf16[100] = ...
  %14: bf16[100] = Identity(%13)
  const %15: i64[1] = {2}
  %16: f32[N,"a b",?,2], _ = TopK(%0, %15)
  const %17: i64[2] = {1, 1}
  const %18: i64[1] = {3}
  %19: f32[N,"a b",?,5] = Pad(%0, %17, _, %18)
  %20: f32[*] = If(%3, %6) {
    graph "then" {
      input %0 "a": f32[*]
      %1: f32[*] = Unary(%0) kind=exp
      output %1 "r"
    }
    graph "else" {
      input %0 "a": f32[*]
      output %0 "r"
    }
  }
  output %20 "out"
  output %1 "s"
}
)";
  const auto g = parse_text(text, builtin_ops());
  ASSERT_TRUE(g) << g.error().message();
  EXPECT_EQ(to_text(*g), text);
}

TEST(Text, NamesMayHaveBytesByNumber) {
  const auto g = parse_text("graph \"a\\x41\\\"\\\\b\" {\n}\n", builtin_ops());
  ASSERT_TRUE(g) << g.error().message();
  EXPECT_EQ(g->name, "aA\"\\b");
  // A text that ends within one; behind it lies nothing that may be read.
  for (const std::string_view end : {"\\", "\\x", "\\x4"}) {
    std::vector<char> text = {'g', 'r', 'a', 'p', 'h', ' ', '"', 'a'};
    text.insert(text.end(), end.begin(), end.end());
    text.shrink_to_fit();
    const auto none = parse_text({text.data(), text.size()}, builtin_ops());
    ASSERT_FALSE(none) << end;
    EXPECT_CONTAINS(none.error().message(), "string without an end");
  }
}

TEST(Text, ErrorsNameTheLine) {
  const auto error = [](std::string_view text) {
    const auto g = parse_text(text, builtin_ops());
    return g ? std::string("none") : std::string(g.error().message());
  };
  EXPECT_CONTAINS(error("graph \"\" {\n  input %0: f33[2]\n}"), "line 2: unknown element");
  EXPECT_CONTAINS(error("graph \"\" {\n%1: f32[] = Nothing()\n}"), "unknown operator");
  EXPECT_CONTAINS(error("graph \"\" {\n%1: f32[] = (%0)\n}"), "wanted a word, found '(%0)");
  EXPECT_CONTAINS(error("graph \"\" {\n%1: f32[] = Unary(%0)\n}"), "%0 is not defined");
  EXPECT_CONTAINS(error("graph \"\" {\n%1: f32[] = Unary() kind=none\n}"), "unknown name");
  EXPECT_CONTAINS(error("graph \"\" {\n%1: f32[] = Unary() axis=1\n}"), "no attribute");
  EXPECT_CONTAINS(error("graph \"\" {\n%1: f32[] = Unary() | add(%3)\n}"), "%3 is not defined");
  EXPECT_CONTAINS(error("graph \"\" {"), "without an end");
  // A word is not the beginning of a longer one.
  EXPECT_CONTAINS(error("graph \"\" {\n  inputs %0: f32[2]\n}"),
                  "line 2: wanted '%', found 'inputs");
  EXPECT_CONTAINS(error("graph \"\" {\n  input %0: f32[2]\n  output_ %0 \"y\"\n}"), "line 3");
}

}  // namespace
}  // namespace quern
