// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/pattern.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace quern::language {
namespace {

// All matches, one after the other.
std::vector<std::string> matches(const char* expression, const char* text) {
  const auto pattern = Pattern::parse(expression);
  EXPECT_TRUE(pattern.has_value()) << pattern.error().message();
  std::vector<std::string> found;
  if (!pattern) return found;
  const std::u32string all = code_points(text);
  Work work(1'000'000);
  for (std::size_t from = 0; from <= all.size();) {
    const auto span = pattern->find(all, from, work);
    EXPECT_TRUE(span.has_value());
    if (!span || !*span) break;
    found.push_back(
        utf8(std::u32string_view(all).substr((*span)->begin, (*span)->end - (*span)->begin)));
    from = (*span)->end > (*span)->begin ? (*span)->end : (*span)->end + 1;
  }
  return found;
}

using Texts = std::vector<std::string>;

TEST(Pattern, TakesTheFirstAlternativeThatMatches) {
  EXPECT_EQ(matches("a|ab|abc", "abc"), (Texts{"a"}));
  EXPECT_EQ(matches("(?:a|ab)c", "abc ac"), (Texts{"abc", "ac"}));
  EXPECT_EQ(matches("x|", "ax"), (Texts{"", "x", ""}));
}

TEST(Pattern, RepeatsGreedilyLazilyAndPossessively) {
  EXPECT_EQ(matches("a{2,3}", "aaaaa a"), (Texts{"aaa", "aa"}));
  EXPECT_EQ(matches("<.+?>", "<a><b>"), (Texts{"<a>", "<b>"}));
  EXPECT_EQ(matches("<.+>", "<a><b>"), (Texts{"<a><b>"}));
  EXPECT_EQ(matches("a++a", "aaa"), Texts{});
  EXPECT_EQ(matches("a?+b", "ab b"), (Texts{"ab", "b"}));
  EXPECT_EQ(matches("(?>a|ab)c", "abc ac"), (Texts{"ac"}));
  EXPECT_EQ(matches("(?:ab){2}", "ababab"), (Texts{"abab"}));
  EXPECT_EQ(matches("(?:ab)+?c", "ababc"), (Texts{"ababc"}));
  EXPECT_EQ(matches("x{,2}y", "xxxy"), (Texts{"xxy"}));
  EXPECT_EQ(matches("{a}", "{a}"), (Texts{"{a}"}));
}

TEST(Pattern, LooksAheadAndBehind) {
  EXPECT_EQ(matches("\\s+(?!\\S)", "a   b  "), (Texts{"  ", "  "}));
  EXPECT_EQ(matches("a(?=b)", "ab ac"), (Texts{"a"}));
  EXPECT_EQ(matches("(?<=a)b", "ab bb"), (Texts{"b"}));
  EXPECT_EQ(matches("(?<!a)b", "ab bb"), (Texts{"b", "b"}));
}

TEST(Pattern, KnowsClasses) {
  EXPECT_EQ(matches("[^\\r\\n\\p{L}\\p{N}]+", "ab, 1\n!"), (Texts{", ", "!"}));
  EXPECT_EQ(matches("\\p{Lu}\\p{Ll}*", "Éa Öl éx"), (Texts{"Éa", "Öl"}));
  EXPECT_EQ(matches("[a-f0-9-]+", "a-9x"), (Texts{"a-9"}));
  EXPECT_EQ(matches("[\\w&&[^\\d]]+", "ab12cd"), (Texts{"ab", "cd"}));
  EXPECT_EQ(matches("[\\p{Han}]+", "a日本b"), (Texts{"日本"}));
  EXPECT_EQ(matches("\\P{L}+", "a12b"), (Texts{"12"}));
  EXPECT_EQ(matches("[\\u4e00-\\u9fa5\\x{61}]+", "a中z"), (Texts{"a中"}));
  EXPECT_EQ(matches("[]a]+", "a]"), (Texts{"a]"}));
  EXPECT_EQ(matches("[\\s\\S]", "\n"), (Texts{"\n"}));
}

TEST(Pattern, IgnoresCaseWithinItsGroup) {
  EXPECT_EQ(matches("(?i:'S|É)x", "'sx 'SX éx"), (Texts{"'sx", "éx"}));
  EXPECT_EQ(matches("(?i)ab", "AB aB"), (Texts{"AB", "aB"}));
  EXPECT_EQ(matches("(?i:[a-c])d", "Bd BD"), (Texts{"Bd"}));
}

TEST(Pattern, KnowsPlaces) {
  EXPECT_EQ(matches("^a", "a\na"), (Texts{"a", "a"}));
  EXPECT_EQ(matches("\\Aa", "a\na"), (Texts{"a"}));
  EXPECT_EQ(matches("a$", "a\nba"), (Texts{"a", "a"}));
  EXPECT_EQ(matches("\\ba", "a ba a"), (Texts{"a", "a"}));
}

TEST(Pattern, RefusesWhatItDoesNotKnow) {
  for (const char* expression :
       {"(", ")", "a)", "[a", "a{3,1}", "*a", "\\", "[z-a]", "(?<a", "\\x{zz}", "\\p{", "a{2000}"})
    EXPECT_EQ(Pattern::parse(expression).error().code(), Code::invalid_argument) << expression;
  for (const char* expression : {"\\1", "(?x:a)", "\\p{Klingon}", "(a?)*", "(?<=a+)b",
                                 "[[:alpha:]]", "a+++++++++", "((((a{9}){99}){99}){99})"})
    EXPECT_EQ(Pattern::parse(expression).error().code(), Code::unsupported) << expression;
  std::string deep(1000, '(');
  EXPECT_EQ(Pattern::parse(deep).error().code(), Code::invalid_argument);
}

TEST(Pattern, StopsWhenItsWorkIsSpent) {
  const auto pattern = Pattern::parse("(a|a)+b");
  ASSERT_TRUE(pattern.has_value());
  Work work(100'000);
  const auto found = pattern->find(std::u32string(40, U'a'), 0, work);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code(), Code::unsupported);
}

}  // namespace
}  // namespace quern::language
