// SPDX-License-Identifier: Apache-2.0
// Chat templates against what Jinja itself makes of them (template_vectors.py).
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "frontends/language/chat_template.h"
#include "tests/expect.h"
#include "tests/language/vectors.h"

namespace quern::language {
namespace {

Result<std::string> rendered(std::string_view source, const TemplateValue::Map& variables = {}) {
  QUERN_ASSIGN(const ChatTemplate parsed, ChatTemplate::parse(source));
  return parsed.render(variables);
}

TEST(ChatTemplate, GivesWhatJinjaGives) {
  const JsonDocument document = vectors_of("template_vectors.json");
  ASSERT_GE(document.root().size(), 60u);
  document.root().each([](Json row) {
    SCOPED_TRACE(row["template"].text());
    const auto variables = TemplateValue::of_json(row["variables"]);
    ASSERT_TRUE(variables.has_value());
    const auto text = rendered(row["template"].text(), *variables->map());
    if (row["error"]) {
      EXPECT_FALSE(text.has_value()) << *text;
    } else {
      ASSERT_TRUE(text.has_value()) << text.error().message();
      EXPECT_EQ(*text, row["text"].text());
    }
  });
}

TEST(ChatTemplate, NamesTheLineOfAnError) {
  EXPECT_EQ(rendered("\n\n{{ raise_exception('no system') }}").error().message(),
            "chat template, line 3: the template says: no system");
  EXPECT_CONTAINS(rendered("a\n{% for %}").error().message(), "line 2");
  EXPECT_CONTAINS(rendered("{{ 'a' | frob }}").error().message(), "filter 'frob'");
}

TEST(ChatTemplate, KnowsTheDate) {
  const auto year = rendered("{{ strftime_now('%Y') }}");
  ASSERT_TRUE(year.has_value());
  EXPECT_EQ(year->size(), 4u);
}

TEST(ChatTemplate, EndsOnTemplatesThatMeanHarm) {
  const std::string sources[] = {
      "{% for a in range(1000000000) %}{% endfor %}",
      "{% for a in range(3000) %}{% for b in range(3000) %}{% for c in range(3000) %}x{% endfor %}"
      "{% endfor %}{% endfor %}",
      "{{ 'a' * 1000000000000 }}",
      "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
      "{% set ns = namespace(s='a') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% "
      "endfor %}",
      "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% "
      "endfor %}"
      "{{ ns.l }}",
      "{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set ns.l = [ns.l] %}{% endfor "
      "%}",
      "{% set ns = namespace() %}{% set ns.self = ns %}",
      std::string(100'000, '{') + "{",
      "{{ " + std::string(10'000, '(') + "1",
      "{{ " + std::string(10'000, '-') + "1 }}",
      "{{ 1" + std::string(10'000, '+') + "1 }}",
      "{{ " + std::string(10'000, '[') + " }}",
  };
  for (const std::string& source : sources) {
    SCOPED_TRACE(source.substr(0, 60));
    const auto begin = std::chrono::steady_clock::now();
    (void)rendered(source);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  }
  EXPECT_EQ(rendered(sources[0]).error().code(), Code::unsupported);
  EXPECT_EQ(rendered(sources[7]).error().code(), Code::invalid_argument);
}

TEST(ChatTemplate, ComputesWithoutOverflow) {
  for (const char* source : {"{{ 9223372036854775807 + 1 }}", "{{ 9223372036854775807 * 2 }}",
                             "{{ 1 % 0 }}", "{{ 1 // 0 }}"})
    EXPECT_FALSE(rendered(source).has_value()) << source;
  EXPECT_EQ(*rendered("{{ (-9223372036854775807 - 1) % -1 }}"), "0");
  EXPECT_EQ(*rendered("{{ 'abc'[-9223372036854775807:9223372036854775807:9223372036854775807] }}"),
            "a");
}

}  // namespace
}  // namespace quern::language
