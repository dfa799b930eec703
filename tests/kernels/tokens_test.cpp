// SPDX-License-Identifier: Apache-2.0
// Tokens of texts and hashes of them: numbers of ONNX Runtime's own tests, and others by hand.
#include "graph/ops/strings.h"
#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

// The tokens of all texts, those of each behind one another up to the greatest number of tokens.
enum class Marks : std::uint8_t { none, both };
using Texts = std::initializer_list<std::string_view>;

std::vector<std::string> tokens_of(const TokenRule& rule, Texts texts, Marks marks = Marks::none) {
  const auto n = static_cast<std::int64_t>(texts.size());
  const Tensor x = strings(Shape{n}, texts);
  const Tensor counts = run(TokenCount{rule}, {x});
  std::int64_t width = 0;
  for (std::int64_t count : values<std::int64_t>(counts)) width = std::max(width, count);
  if (marks == Marks::both) width += 2;
  const Tensor y =
      run(Tokens{rule, marks == Marks::both, "-"}, {x, tensor<std::int64_t>({}, {width})});
  EXPECT_EQ(y.shape(), Shape({n, width}));
  return string_values(y);
}

TokenRule at(std::vector<std::string> separators, std::int64_t least = 1) {
  return {.separators = std::move(separators), .least = least};
}
TokenRule by(std::string token, std::int64_t least = 1) {
  return {.token = std::move(token), .least = least};
}

TEST(Tokens, AreCharacters) {
  EXPECT_THAT(tokens_of(at({""}), {"Абсу中文", "Коñó"}),
              ElementsAre("А", "б", "с", "у", "中", "文", "К", "о", "ñ", "ó", "-", "-"));
  EXPECT_THAT(tokens_of(by("."), {"a;\n"}, Marks::both),
              ElementsAre("\x02", "a", ";", "\n", "\x03"));
  EXPECT_THAT(tokens_of(at({""}), {"", ""}), IsEmpty());
}

TEST(Tokens, LieBetweenSeparators) {
  EXPECT_THAT(
      tokens_of(at({" "}), {"Hello World", "I love computer science !"}),
      ElementsAre("Hello", "World", "-", "-", "-", "I", "love", "computer", "science", "!"));
  EXPECT_THAT(tokens_of(at({"(у|ñ)"}), {"Абсу中文", "Коñó"}),
              ElementsAre("Абс", "中文", "Ко", "ó"));
  EXPECT_THAT(tokens_of(at({"(Абсу中文)|(Коñó)"}), {"Абсу中文", "Коñó"}), IsEmpty());
  EXPECT_THAT(tokens_of(at({"(文)|(ó)"}, 4), {"Абсу中文", "Коñó"}, Marks::both),
              ElementsAre("\x02", "Абсу中", "\x03", "\x02", "\x03", "-"));
}

TEST(Tokens, AreCutByOneSeparatorBehindTheOther) {
  constexpr std::string_view text = "Абсу中文";
  EXPECT_THAT(tokens_of(at({"су", "Абсу"}), {text}), ElementsAre("Аб", "中文"));
  EXPECT_THAT(tokens_of(at({"Абсу", "су"}), {text}), ElementsAre("中文"));
  EXPECT_THAT(tokens_of(at({"Абсу", "су"}), {"Абсусусу中文"}), ElementsAre("中文"));
  EXPECT_THAT(tokens_of(at({"усу", "Абсу"}), {"Абсусусу中文"}), ElementsAre("Абс", "су中文"));
  EXPECT_THAT(tokens_of(at({";", ";;;"}), {"a;b", "b;c;;;d;e", "a;;b;;;c"}),
              ElementsAre("a", "b", "-", "-", "b", "c", "d", "e", "a", "b", "c", "-"));
}

TEST(Tokens, AreWhatAnExpressionMatches) {
  const Texts texts = {"a;b", "a;;;b", "b;c;;;d;e", "a;;b;;;c"};
  EXPECT_THAT(tokens_of(by("a."), texts), ElementsAre("a;", "a;", "-", "a;"));
  EXPECT_THAT(tokens_of(by("c;+"), texts), ElementsAre("-", "-", "c;;;", "-"));
  EXPECT_THAT(tokens_of(by("(a;)|(b;)"), texts),
              ElementsAre("a;", "-", "a;", "-", "b;", "-", "a;", "b;"));
  EXPECT_THAT(tokens_of(by("\\w"), {"a;;;b"}), ElementsAre("a", "b"));
  // The longest of those that begin first, whatever is written first.
  EXPECT_THAT(tokens_of(by("a|ab|bcd"), {"abcd"}), ElementsAre("ab"));
  EXPECT_THAT(tokens_of(by("bcd|abcde|c"), {"abcd"}), ElementsAre("bcd"));
  EXPECT_THAT(tokens_of(by("a+?"), {"aaa"}), ElementsAre("aaa"));
  // One that is too short is looked for again behind its first character.
  EXPECT_THAT(tokens_of(by("ab|bcd", 3), {"abcd"}), ElementsAre("bcd"));
}

TEST(Tokens, AreSeenWithWhatStandsBeforeThem) {
  EXPECT_THAT(tokens_of(by("\\bab"), {"ab abab"}), ElementsAre("ab", "ab"));
  EXPECT_THAT(tokens_of(by("^a"), {"aaa"}), ElementsAre("a"));
  EXPECT_THAT(tokens_of(at({"\\b"}), {"ab"}), ElementsAre("b"));
}

TEST(Tokens, MatchesWithoutACharacterTakeTheNextOneAlong) {
  EXPECT_THAT(tokens_of(at({"x*"}), {"axxb"}), IsEmpty());
  EXPECT_THAT(tokens_of(by("x*"), {"axxb"}), ElementsAre("xx"));
  EXPECT_THAT(tokens_of(at({"$"}), {"ab"}), ElementsAre("ab"));
}

TEST(Tokens, RulesThatAreNoneAreErrorsInWords) {
  const Tensor x = strings({1}, {"a"});
  EXPECT_CONTAINS(error_of(TokenCount{by("")}, {x}), "neither separators nor an expression");
  EXPECT_CONTAINS(error_of(TokenCount{{.separators = {"a"}, .token = "b"}}, {x}), "both");
  EXPECT_CONTAINS(error_of(TokenCount{by("(")}, {x}), "(");
  EXPECT_CONTAINS(error_of(TokenCount{at({"a", "[b"})}, {x}), "a class without its ]");
  EXPECT_CONTAINS(error_of(TokenCount{by("a", 0)}, {x}), "tokens of at least 0 characters");
  EXPECT_CONTAINS(error_of(TokenCount{at({""}, 2)}, {x}), "characters are no tokens of 2");
  EXPECT_CONTAINS(error_of(TokenCount{at(std::vector<std::string>(65, "a"))}, {x}),
                  "65 separators, at most 64");
  EXPECT_CONTAINS(error_of(TokenCount{by("a")}, {strings({1, 1, 1}, {"a"})}), "rank 1 or 2");
  EXPECT_CONTAINS(error_of(TokenCount{by("a")}, {strings({2}, {"a", "\xC3"})}),
                  "text 1 is no UTF-8");
}

// Of "foo" and "bar" as in ONNX Runtime's tests, of the others by the definition in Python.
TEST(StringHash, IsMurmurHash3OfTheBytes) {
  const Tensor x = strings({5}, {"foo", "bar", "", "test", "Hello, world!"});
  EXPECT_THAT(values<std::uint32_t>(run(StringHash{}, {x})),
              ElementsAre(4138058784U, 1158584717U, 0U, 3127628307U, 3224780355U));
  EXPECT_THAT(values<std::uint32_t>(run(StringHash{.seed = 42}, {x})),
              ElementsAre(2972666014U, 920237332U, 142593372U, 3959873882U, 747406643U));
  EXPECT_CONTAINS(error_of(StringHash{}, {counting({1})}), "must be string");
}

}  // namespace
}  // namespace quern::testing
