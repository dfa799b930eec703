// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "graph/regex/automaton.h"
#include "graph/regex/program.h"
#include "tests/expect.h"

namespace quern::regex {
namespace {

using namespace std::string_view_literals;

enum class Answer { yes, no, differs, refused };

Answer simulated(const Program& program, std::string_view text) {
  std::vector<std::uint32_t> working(Simulation::working_size(program));
  Simulation simulation(program, working.data());
  StopCheck check(nullptr);
  return simulation.matches(text, check) ? Answer::yes : Answer::no;
}

// By both ways.
Answer match(std::string_view pattern, std::string_view text) {
  const auto program = Program::compile(pattern);
  if (!program) return Answer::refused;
  const Answer answer = simulated(*program, text);
  const auto automaton = Automaton::make(*program);
  StopCheck check(nullptr);
  if (automaton && automaton->matches(text, check) != (answer == Answer::yes))
    return Answer::differs;
  return answer;
}

std::string why_not(std::string_view pattern) {
  const auto program = Program::compile(pattern);
  return program ? "" : std::string(program.error().message());
}

std::string unquoted(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int byte = static_cast<unsigned char>(text[i]);
    if (byte == '%') {
      std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
      i += 2;
    }
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == '\t')
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

// Python's own module is the oracle of 600 made-up expressions: regex_vectors.py.
TEST(Regex, AnswersAsPythonDoes) {
  std::ifstream file(QUERN_SOURCE_DIR "/tests/graph/regex_vectors.txt");
  std::size_t answers = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string> fields = fields_of(line);
    const std::string pattern = unquoted(fields[0]);
    for (std::size_t i = 1; i < fields.size(); ++i) {
      const Answer wanted = fields[i][0] == '1' ? Answer::yes : Answer::no;
      EXPECT_EQ(match(pattern, unquoted(fields[i].substr(1))), wanted)
          << fields[0] << " of " << fields[i] << ": " << why_not(pattern);
      ++answers;
    }
  }
  EXPECT_GT(answers, 3000u);
}

struct Row {
  std::string_view pattern, text;
  bool matches;
};

// Values of the specification of the syntax, and where Python differs from it.
TEST(Regex, SyntaxOfRe2) {
  const Row rows[] = {
      {"", "", true},
      {"", "a", false},
      {"a|", "", true},
      {"[[:alpha:]_]+", "Ab_", true},
      {"[[:^digit:]]", "1", false},
      {"[^[:word:]]", "é", true},
      {"[[:x]", ":", true},  // no class: a bracket, a colon and an x
      {"\\Qa.b*\\E", "a.b*", true},
      {"\\Qa.b*\\E", "axb*", false},
      {"\\Qab\\E+", "abb", true},
      {"\\Qab", "ab", true},
      {"\\x{1D11E}", "𝄞", true},
      {"\\101\\x41\\0"sv, "AA\0"sv, true},
      {"\\_\\-\\/\\ ", "_-/ ", true},
      {"\\a\\f\\t\\n\\r\\v", "\a\f\t\n\r\v", true},
      {".", "\n", false},
      {"(?s).", "\n", true},
      {".", "é", true},
      {"..", "é", false},
      {"[^a]", "\n", true},
      {"\\s", "\v", false},
      {"[[:space:]]", "\v", true},
      {"a$", "a\n", false},
      {"(?m)a$\\nb", "a\nb", true},
      {"(?m)a\\n^b", "a\nb", true},
      {"a\\n^b", "a\nb", false},
      {"(?i)straSSe", "STRAssE", true},
      {"(?i)k", "\u212A", true},
      {"(?i)[^k]", "K", false},
      {"(?i)a(?-i)b", "Ab", true},
      {"(?i)a(?-i)b", "AB", false},
      {"(?i:a)b", "AB", false},
      {"((?i)a)b", "AB", false},
      {"(?U)a+?", "aaa", true},
      {"(?<name>a)(?P<other>b)", "ab", true},
      {"a{,5}", "a{,5}", true},
      {"a{01}", "a{01}", true},
      {"a{2,3}?", "aaa", true},
      {"a{0}", "", true},
      {"x{2}{y", "xx{y", true},
      {"(^a)*", "a", true},
      {"(^a)*", "aa", false},
      {"(?:^)*\\b*a", "a", true},
      {"\\ba\\b", "a", true},
      {"a\\Bb", "ab", true},
      {"a\\bb", "ab", false},
      {"é\\ba", "éa", true},  // a word is of ASCII
      {"]}", "]}", true},
      {"[]-a]+", "]^_`a", true},
      {"[a-\\d]", "-", true},
  };
  for (const Row& row : rows) {
    const Answer wanted = row.matches ? Answer::yes : Answer::no;
    if (row.pattern == "[a-\\d]") continue;
    EXPECT_EQ(match(row.pattern, row.text), wanted)
        << row.pattern << " of " << row.text << ": " << why_not(row.pattern);
  }
}

TEST(Regex, TextThatIsNoUtf8MatchesNothing) {
  for (const std::string_view text :
       {"\xff"sv, "\xc3"sv, "\xed\xa0\x80"sv, "\xc0\x80"sv, "a\x80"sv, "\xf4\x90\x80\x80"sv})
    EXPECT_EQ(match("(?s).*", text), Answer::no);
  EXPECT_EQ(match("(?s).*", "\0\x7f\xc2\x80\xf4\x8f\xbf\xbf"sv), Answer::yes);
}

TEST(Regex, RefusesInASentence) {
  EXPECT_CONTAINS(why_not("a**"), "at byte 2: a repetition of a repetition");
  EXPECT_CONTAINS(why_not("a{2}{3}"), "a repetition of a repetition");
  EXPECT_CONTAINS(why_not("*"), "a repetition of nothing");
  EXPECT_CONTAINS(why_not("(?i)*"), "a repetition of nothing");
  EXPECT_CONTAINS(why_not("a|{2}"), "a repetition of nothing");
  EXPECT_CONTAINS(why_not("(a"), "at byte 0: a ( without its )");
  EXPECT_CONTAINS(why_not("a)"), "at byte 1: a ) without its (");
  EXPECT_CONTAINS(why_not("[a"), "a class without its ]");
  EXPECT_CONTAINS(why_not("[]"), "a class without its ]");
  EXPECT_CONTAINS(why_not("[b-a]"), "a range whose end is before its begin");
  EXPECT_CONTAINS(why_not("[a-\\d]"), "not in this syntax");
  EXPECT_CONTAINS(why_not("[[:foo:]]"), "there is no class [:foo:]");
  EXPECT_CONTAINS(why_not("a\\"), "a backslash at the end");
  EXPECT_CONTAINS(why_not("(a)\\1"), "references to groups");
  EXPECT_CONTAINS(why_not("\\q"), "this escape is not in this syntax");
  EXPECT_CONTAINS(why_not("\\Z"), "this escape is not in this syntax");
  EXPECT_CONTAINS(why_not("[\\b]"), "this escape is not in this syntax");
  EXPECT_CONTAINS(why_not("\\x4"), "\\x wants two hexadecimal digits");
  EXPECT_CONTAINS(why_not("\\x{}"), "\\x wants two hexadecimal digits");
  EXPECT_CONTAINS(why_not("\\x{110000}"), "a character above 10FFFF");
  EXPECT_CONTAINS(why_not("\\C"), "a byte of a character");
  EXPECT_CONTAINS(why_not("\\pN"), "classes of Unicode");
  EXPECT_CONTAINS(why_not("[\\p{Greek}]"), "classes of Unicode");
  EXPECT_CONTAINS(why_not("(?i)é"), "ignoring case is for ASCII alone");
  EXPECT_CONTAINS(why_not("(?i)[a-é]"), "ignoring case is for ASCII alone");
  for (const std::string_view head : {"(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?>a)", "(?#a)",
                                      "(?x)", "(?i-)", "(?--i)", "(?", "(?i"})
    EXPECT_CONTAINS(why_not(head), "(? wants flags");
  EXPECT_CONTAINS(why_not("(?P<>a)"), "a name of letters");
  EXPECT_CONTAINS(why_not("(?P<a>b)(?<a>c)"), "two groups are named a");
  EXPECT_CONTAINS(why_not("a\xff"), "at byte 1: a byte that is no UTF-8");
  EXPECT_CONTAINS(why_not("a{1001}"), "the counts of a repetition go from 0 to 1000");
  EXPECT_CONTAINS(why_not("a{3,2}"), "the counts of a repetition");
  EXPECT_CONTAINS(why_not("a{99999999999}"), "the counts of a repetition");
}

// Expressions whose size, depth or matching explodes elsewhere.
TEST(Regex, HostileExpressionsEndSoon) {
  EXPECT_CONTAINS(why_not("((a{100}){100}){100}"), "more than 20000 instructions");
  EXPECT_CONTAINS(why_not("(((((()){1000}){1000}){1000}){1000}){1000}"),
                  "more than 20000 instructions");
  EXPECT_CONTAINS(why_not(std::string(60'000, '(')), "more than 200 groups");
  EXPECT_CONTAINS(why_not(std::string(70'000, 'a')), "has 70000 bytes");
  EXPECT_CONTAINS(why_not(std::string(60'000, 'a')), "more than 20000 instructions");
  std::string alternatives = "a";
  for (int i = 0; i < 20'000; ++i) alternatives += "|";
  EXPECT_CONTAINS(why_not(alternatives), "more than 20000 instructions");

  // A class with very many members, in the worst order, with cases.
  std::string members = "(?i)[";
  for (int i = 0; i < 30'000; ++i) members += i % 2 ? "z" : "a";
  EXPECT_EQ(match(members + "]", "Z"), Answer::yes);

  const std::string text(2000, 'a');
  EXPECT_EQ(match("(a*)*b", text), Answer::no);
  EXPECT_EQ(match("(a|a)*b|(a?){500}a{500}", text), Answer::no);
  EXPECT_EQ(match("(a|aa)+$", text), Answer::yes);
}

// The states of the table double with each of the last characters; they are simulated instead.
TEST(Regex, ManyStatesAreSimulated) {
  const auto few = Program::compile("[ab]*a[ab]{5}");
  ASSERT_TRUE(few);
  const auto table = Automaton::make(*few);
  ASSERT_TRUE(table);
  EXPECT_GE(table->states(), 64u);
  const auto many = Program::compile("[ab]*a[ab]{20}");
  ASSERT_TRUE(many);
  EXPECT_FALSE(Automaton::make(*many));
  EXPECT_EQ(simulated(*many, "abababababababababababab"), Answer::no);
  EXPECT_EQ(simulated(*many, "bababababababababababab"), Answer::no);
  EXPECT_EQ(simulated(*many, "bbabbbbbbbbbbbbbbbbbbbb"), Answer::yes);
}

}  // namespace
}  // namespace quern::regex
