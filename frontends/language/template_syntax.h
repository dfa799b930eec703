// SPDX-License-Identifier: Apache-2.0
// The tree of a chat template, as template_parse.cpp makes it and template_run.cpp runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "frontends/language/template_value.h"

namespace quern::language {

struct TemplateExpression {
  enum class Kind : std::uint8_t {
    constant,    // `value`
    name,        // `text`
    list,        // of `parts`
    object,      // of keys and values, in turns
    attribute,   // parts[0].text
    item,        // parts[0][parts[1]]
    slice,       // parts[0][parts[1]:parts[2]:parts[3]]; a missing part is none
    call,        // parts[0](parts[1]..., named)
    filter,      // parts[0] | text(parts[1]..., named)
    test,        // parts[0] is text(parts[1]...)
    negation,    // not parts[0]
    unary,       // text: + or -
    binary,      // text: + - * / // % ** ~
    comparison,  // parts[0], then for each of `named` a word: == != < > <= >= in, not in
    both,        // and
    either,      // or
    choice,      // parts[0] if parts[1] else parts[2]
  };
  using Parts = std::vector<TemplateExpression>;

  Kind kind = Kind::constant;
  std::string text;
  TemplateValue value;
  Parts parts;
  std::vector<std::string> words;  // one for each of `named`
  Parts named;
  int line = 0;
  int height = 1;  // of the tree
};

struct TemplateNode {
  enum class Kind : std::uint8_t {
    text,     // `text`
    print,    // expressions[0]
    loop,     // for names in expressions[0] if expressions[1]: body, else other
    branch,   // if expressions[0]: body, else other
    set,      // names = expressions[0]; without expressions: what the body prints
    macro,    // names[0](names[1]..., with the defaults that expressions give to the last)
    leave,    // break
    proceed,  // continue
    group,    // body
  };
  using Nodes = std::vector<TemplateNode>;

  Kind kind = Kind::text;
  std::string text;  // of set: the attribute of names[0], or ""
  std::vector<std::string> names;
  std::vector<TemplateExpression> expressions;
  Nodes body;
  Nodes other;
  int line = 0;
};

struct TemplateMacro {
  const TemplateNode* node;
};

// A word of the language, or text outside of it.
struct TemplateToken {
  enum class Kind : std::uint8_t {
    text,
    print_begin,
    print_end,
    block_begin,
    block_end,
    name,
    string,
    integer,
    real,
    sign,
    end,
  };
  Kind kind = Kind::end;
  std::string text;
  int line = 1;
};

// Both with trim_blocks and lstrip_blocks, as chat templates are written for. Errors:
// invalid_argument, with the line; unsupported.
Result<std::vector<TemplateToken>> template_tokens(std::string_view source);
Result<TemplateNode::Nodes> parse_template(std::string_view source);

}  // namespace quern::language
