// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "frontends/language/template_syntax.h"
#include "frontends/language/unicode.h"

namespace quern::language {
namespace {

using Lexeme = TemplateToken;
using Word = TemplateToken::Kind;
constexpr std::size_t max_tokens = 100'000;

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Lines end with \n, and the last such end does not count.
std::string with_plain_lines(std::string_view source) {
  std::string out;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(with_plain_lines(source)) {}

  Result<std::vector<Lexeme>> run() {
    while (at_ < source_.size()) {
      if (tokens_.size() > max_tokens)
        return Status(Code::unsupported, "chat template: more than 100,000 words");
      QUERN_TRY(next_part());
    }
    tokens_.push_back({Word::end, "", line_});
    return std::move(tokens_);
  }

 private:
  Status error(std::string_view what) const {
    return {Code::invalid_argument, cat("chat template, line ", line_, ": ", what)};
  }
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  void advance(std::size_t count) {
    const auto begin = source_.begin() + static_cast<std::ptrdiff_t>(at_);
    line_ += static_cast<int>(std::count(begin, begin + static_cast<std::ptrdiff_t>(count), '\n'));
    at_ += count;
  }
  void add(Word kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  // Text up to the next tag, and the tag.
  Status next_part() {
    std::size_t tag = at_;
    do {
      tag = source_.find('{', tag);
    } while (tag != std::string::npos && tag + 1 < source_.size() &&
             std::string_view("{%#").find(source_[tag + 1]) == std::string_view::npos && ++tag);
    if (tag == std::string::npos || tag + 1 >= source_.size()) {
      add(Word::text, std::string(rest()));
      advance(rest().size());
      return {};
    }
    const char kind = source_[tag + 1];
    const char control = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    std::string text(source_, at_, tag - at_);
    if (control == '-') {
      while (!text.empty() && is_blank(text.back())) text.pop_back();
    } else if (control != '+' && kind != '{') {
      strip_indent(text);
    }
    if (!text.empty()) add(Word::text, std::move(text));
    advance(tag + 2 - at_ + (control == '-' || (control == '+' && kind != '{') ? 1 : 0));
    if (kind == '#') return comment();
    return kind == '{' ? words(Word::print_begin, Word::print_end, "}}")
                       : words(Word::block_begin, Word::block_end, "%}");
  }

  // Spaces before a block that begins its line.
  void strip_indent(std::string& text) const {
    const std::size_t line = text.rfind('\n');
    if (line == std::string::npos && !begins_line_) return;
    const std::size_t begin = line == std::string::npos ? 0 : line + 1;
    if (std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_blank))
      text.resize(begin);
  }

  // What follows a tag and is left out with it: nothing, the end of its line, or all white space.
  enum class After : std::uint8_t { nothing, line_end, white_space };

  void end_tag(After after) {
    const std::size_t begin = at_;
    std::size_t count = after == After::line_end && rest().starts_with('\n') ? 1 : 0;
    while (after == After::white_space && count < rest().size() && is_blank(rest()[count])) ++count;
    advance(count);
    begins_line_ = at_ > begin && source_[at_ - 1] == '\n';
  }
  // By the sign before the end of a tag.
  static After after_sign(char sign, After otherwise) {
    return sign == '-' ? After::white_space : sign == '+' ? After::nothing : otherwise;
  }

  Status comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) return error("a comment that does not end");
    const char sign = end > at_ ? source_[end - 1] : ' ';
    advance(end + 2 - at_);
    end_tag(after_sign(sign, After::line_end));
    return {};
  }

  Status words(Word begin, Word end, std::string_view closing) {
    add(begin, "");
    int depth = 0;  // of brackets: "}}" may end an object
    for (;;) {
      while (!rest().empty() && is_blank(rest()[0])) advance(1);
      if (rest().empty()) return error("a tag that does not end");
      const char sign = rest()[0];
      const bool has_control =
          (sign == '-' || sign == '+') && rest().substr(1).starts_with(closing);
      if (depth == 0 && (has_control || rest().starts_with(closing))) {
        advance(closing.size() + (has_control ? 1 : 0));
        add(end, "");
        end_tag(after_sign(has_control ? sign : ' ',
                           end == Word::block_end ? After::line_end : After::nothing));
        return is_raw() ? raw() : Status();
      }
      QUERN_TRY(word());
      const std::string& text = tokens_.back().text;
      if (tokens_.back().kind != Word::sign) continue;
      if (text == "{" || text == "(" || text == "[") ++depth;
      if (text == "}" || text == ")" || text == "]") --depth;
    }
  }

  Status word() {
    const char c = rest()[0];
    if (c == '\'' || c == '"') return quoted(c);
    std::size_t count = 1;
    if (is_name_letter(c)) {
      while (count < rest().size() && (is_name_letter(rest()[count]) || is_decimal(rest()[count])))
        ++count;
      add(Word::name, std::string(rest().substr(0, count)));
    } else if (is_decimal(c)) {
      return number();
    } else {
      for (const std::string_view two : {"==", "!=", "<=", ">=", "//", "**"})
        if (rest().starts_with(two)) count = 2;
      if (count == 1 && std::string_view("+-*/%~<>()[]{}.,:|=").find(c) == std::string_view::npos)
        return error("a sign that is not known");
      add(Word::sign, std::string(rest().substr(0, count)));
    }
    advance(count);
    return {};
  }

  Status number() {
    std::size_t count = 0;
    bool is_real = false;
    std::string digits;
    for (; count < rest().size(); ++count) {
      const char c = rest()[count];
      const char next = count + 1 < rest().size() ? rest()[count + 1] : ' ';
      const bool is_point = c == '.' && !is_real && is_decimal(next);
      const bool is_exponent =
          (c == 'e' || c == 'E') && (is_decimal(next) || next == '-' || next == '+');
      if (c == '_' && is_decimal(next)) continue;
      if (!is_decimal(c) && !is_point && !is_exponent) break;
      is_real = is_real || is_point || is_exponent;
      digits += c;
      if (is_exponent && !is_decimal(next)) digits += rest()[++count];
    }
    if (digits.size() > 40) return error("a number that is too long");
    add(is_real ? Word::real : Word::integer, std::move(digits));
    advance(count);
    return {};
  }

  Status quoted(char quote) {
    std::string text;
    std::size_t i = 1;
    for (; i < rest().size() && rest()[i] != quote; ++i) {
      char c = rest()[i];
      if (c == '\\' && i + 1 < rest().size()) {
        c = rest()[++i];
        switch (c) {
          case 'n': c = '\n'; break;
          case 't': c = '\t'; break;
          case 'r': c = '\r'; break;
          case 'x':
          case 'u': QUERN_TRY(coded(c == 'x' ? 2 : 4, i, text)); continue;
          case '\n': continue;
          case '\\':
          case '\'':
          case '"': break;
          default: text += '\\';
        }
      }
      text += c;
    }
    if (i >= rest().size()) return error("a text that does not end");
    add(Word::string, std::move(text));
    advance(i + 1);
    return {};
  }

  Status coded(std::size_t digits, std::size_t& i, std::string& text) const {
    char32_t c = 0;
    for (std::size_t k = 1; k <= digits; ++k) {
      const char digit = i + k < rest().size() ? small_letter(rest()[i + k]) : ' ';
      if (is_decimal(digit))
        c = c * 16 + static_cast<char32_t>(digit - '0');
      else if (digit >= 'a' && digit <= 'f')
        c = c * 16 + static_cast<char32_t>(digit - 'a' + 10);
      else
        return error("a code of a character that is none");
    }
    i += digits;
    append_utf8(text, c);
    return {};
  }

  bool is_raw() const {
    const std::size_t n = tokens_.size();
    return n >= 3 && tokens_[n - 1].kind == Word::block_end && tokens_[n - 2].text == "raw" &&
           tokens_[n - 3].kind == Word::block_begin;
  }

  // Text up to {% endraw %}.
  Status raw() {
    tokens_.resize(tokens_.size() - 3);
    for (std::size_t tag = at_; (tag = source_.find("{%", tag)) != std::string::npos; tag += 2) {
      std::size_t i = tag + 2;
      const bool strips_before = i < source_.size() && source_[i] == '-';
      const auto skip = [&](std::string_view signs) {
        while (i < source_.size() && signs.find(source_[i]) != std::string_view::npos) ++i;
      };
      skip("-+ \t\n");
      if (source_.compare(i, 6, "endraw") != 0) continue;
      i += 6;
      skip(" \t\n");
      const bool strips_after = i < source_.size() && source_[i] == '-';
      skip("-+");
      if (source_.compare(i, 2, "%}") != 0) continue;
      std::string text(source_, at_, tag - at_);
      while (strips_before && !text.empty() && is_blank(text.back())) text.pop_back();
      if (!strips_before) strip_indent(text);
      add(Word::text, std::move(text));
      advance(i + 2 - at_);
      end_tag(strips_after ? After::white_space : After::line_end);
      return {};
    }
    return error("raw text that does not end");
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool begins_line_ = true;
  std::vector<Lexeme> tokens_;
};

}  // namespace

Result<std::vector<TemplateToken>> template_tokens(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace quern::language
