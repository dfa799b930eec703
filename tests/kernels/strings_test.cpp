// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/strings.h"

#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

TEST(StringNormalizer, DropsStopWords) {
  const StringNormalizer op{.case_sensitive = true, .stopwords = {"b", "A"}};
  EXPECT_THAT(string_values(run(op, {strings({4}, {"a", "b", "A", "c"})})), ElementsAre("a", "c"));
}

TEST(StringNormalizer, StopWordsInAnyCase) {
  const StringNormalizer op{.case_change = CaseAction::upper, .stopwords = {"Über", "MONDAY"}};
  const Tensor y = run(op, {strings({1, 4}, {"monday", "Tuesday", "über", "übe"})});
  EXPECT_EQ(y.shape(), Shape({1, 2}));
  EXPECT_THAT(string_values(y), ElementsAre("TUESDAY", "ÜBE"));
}

TEST(StringNormalizer, NothingLeftIsOneEmptyString) {
  const StringNormalizer op{.stopwords = {"a"}};
  EXPECT_THAT(string_values(run(op, {strings({2}, {"a", "A"})})), ElementsAre(""));
  EXPECT_EQ(run(op, {strings({1, 1}, {"a"})}).shape(), Shape({1, 1}));
  EXPECT_EQ(run(op, {strings({0}, {})}).shape(), Shape({1}));
}

std::string changed(CaseAction action, std::string_view text) {
  return string_values(run(StringNormalizer{.case_change = action}, {strings({1}, {text})}))[0];
}

TEST(StringNormalizer, CaseOfSeveralAlphabets) {
  EXPECT_EQ(changed(CaseAction::lower, "AZ[@ ÀÞ× ĀŁŸŽ ΑΏΣ ЀЖЯѢӀ ԱՖ ƠƯẠỸ"),
            "az[@ àþ× āłÿž αώσ ѐжяѣӏ աֆ ơưạỹ");
  EXPECT_EQ(changed(CaseAction::upper, "az{ àþ÷ āłÿž αώσς ѐжяѣӏ աֆ ơưạỹ"),
            "AZ{ ÀÞ÷ ĀŁŸŽ ΑΏΣΣ ЀЖЯѢӀ ԱՖ ƠƯẠỸ");
  EXPECT_EQ(changed(CaseAction::upper, "ß 日本 😀"), "ß 日本 😀");
}

TEST(StringNormalizer, BytesThatAreNoTextStay) {
  EXPECT_EQ(changed(CaseAction::upper, "a\xff\xc3"), "A\xff\xc3");
  EXPECT_EQ(changed(CaseAction::upper, "\xc3z\xe1\xba"), "\xc3Z\xe1\xba");
  EXPECT_EQ(changed(CaseAction::upper, "\xc1\xa1\xe0\x81\xa1"),
            "\xc1\xa1\xe0\x81\xa1");  // overlong
  const StringNormalizer op{.stopwords = {"\xff"}};
  EXPECT_THAT(string_values(run(op, {strings({2}, {"\xff", "\xfe"})})), ElementsAre("\xfe"));
}

TEST(StringNormalizer, Infer) {
  const StringNormalizer op;
  const ValueType flat{DType::string, Dims{4}}, row{DType::string, Dims{1, N}};
  EXPECT_EQ(infer_text(op, {flat}), "string[?]");
  EXPECT_EQ(bound_text(op, {flat}), "string[4]");
  EXPECT_EQ(bound_text(op, {row}), "string[1,$0]");
  EXPECT_EQ(bound_text(op, {ValueType(DType::string, Dims{0})}), "string[1]");
  EXPECT_EQ(infer_text(op, {unranked(DType::string)}), "string[*]");
  EXPECT_CONTAINS(error_of(op, {counting({1})}), "must be string");
  EXPECT_CONTAINS(error_of(op, {strings({2, 1}, {"a", "b"})}), "must be [n] or [1,n]");
  EXPECT_CONTAINS(error_of(op, {strings({}, {"a"})}), "must be [n] or [1,n]");
}

TEST(StringConcat, Broadcasts) {
  const Tensor y = run(StringConcat{}, {strings({2, 1}, {"a", ""}), strings({2}, {"\0x", "ü"})});
  EXPECT_EQ(y.shape(), Shape({2, 2}));
  EXPECT_THAT(string_values(y), ElementsAre("a", "aü", "", "ü"));
  EXPECT_EQ(run(StringConcat{}, {strings({0}, {}), strings({}, {"a"})}).shape(), Shape({0}));
  EXPECT_CONTAINS(error_of(StringConcat{}, {strings({1}, {"a"}), counting({1})}), "must be string");
}

TEST(StringConcat, EndsWhereTheResultWouldBeLong) {
  const std::string text(1 << 20, 'a');
  const std::vector<StringRef> words(40, StringRef{text.data(), text.size()});
  const Tensor x = Tensor::from_values<StringRef>(DType::string, {40}, words);
  EXPECT_CONTAINS(error_of(StringConcat{}, {x, x}), "more than 67108864 bytes");
}

std::vector<std::string> parts_of(std::string_view text, std::string_view delimiter,
                                  std::optional<std::int64_t> most = {}) {
  const SplitRule rule{std::string(delimiter), most};
  const Tensor x = strings({1}, {text});
  const Tensor count = run(StringPartCount{rule}, {x});
  EXPECT_EQ(count.dtype(), DType::i64);
  const std::int64_t width = values<std::int64_t>(count)[0];
  return string_values(run(StringSplit{rule}, {x, tensor<std::int64_t>({}, {width})}));
}

TEST(StringSplit, CutsAtADelimiter) {
  EXPECT_THAT(parts_of("a,b,,c", ","), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(parts_of(",", ","), ElementsAre("", ""));
  EXPECT_THAT(parts_of("", ","), ElementsAre(""));
  EXPECT_THAT(parts_of("a::b:c", "::"), ElementsAre("a", "b:c"));
  EXPECT_THAT(parts_of("a,b,c", ",", 1), ElementsAre("a", "b,c"));
  EXPECT_THAT(parts_of("a,b,c", ",", 0), ElementsAre("a,b,c"));
  EXPECT_THAT(parts_of("a,b,c", ",", -1), ElementsAre("a", "b", "c"));
}

TEST(StringSplit, CutsAtWhiteSpace) {
  EXPECT_THAT(parts_of("  a\t b\n", ""), ElementsAre("a", "b"));
  EXPECT_THAT(parts_of("  a b  c ", "", 1), ElementsAre("a", "b  c "));
  EXPECT_THAT(parts_of(" a ", "", 0), ElementsAre("a "));
  EXPECT_THAT(parts_of(" \t", ""), IsEmpty());
}

TEST(StringSplit, FillsAndCutsToItsWidth) {
  const Tensor x = strings({2}, {"a", "b c d"});
  const Tensor y = run(StringSplit{}, {x, tensor<std::int64_t>({}, {2})});
  EXPECT_EQ(y.shape(), Shape({2, 2}));
  EXPECT_THAT(string_values(y), ElementsAre("a", "", "b", "c"));
  EXPECT_EQ(
      infer_text(StringSplit{}, {ValueType(DType::string, Dims{N}), ValueType(DType::i64, Dims{})}),
      "string[$0,?]");
  EXPECT_CONTAINS(error_of(StringSplit{}, {x, tensor<std::int64_t>({}, {-1})}), "the width is -1");
  EXPECT_CONTAINS(error_of(StringPartCount{}, {counting({1})}), "must be string");
}

}  // namespace
}  // namespace quern::testing
