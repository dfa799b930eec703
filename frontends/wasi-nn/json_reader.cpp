// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/json_reader.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

namespace quern::wasi_nn {
namespace {

// Code points below 0x110000 that are no surrogates.
void append_utf8(std::string& s, std::uint32_t c) {
  const auto tail = [&](int shift) { s += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    s += static_cast<char>(c);
  } else if (c < 0x800) {
    s += static_cast<char>(0xc0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    s += static_cast<char>(0xe0 | c >> 12);
    tail(6), tail(0);
  } else {
    s += static_cast<char>(0xf0 | c >> 18);
    tail(12), tail(6), tail(0);
  }
}

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  Error read(const JsonMember& member) {
    QUERN_NN_TRY(members([&](const std::string& key) -> Error {
      JsonValue value;
      QUERN_NN_TRY(this->value(&value));
      return member(key, value);
    }));
    skip_space();
    return at_ == text_.size() ? Error() : wanted("the end of the file");
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    skip_space();
    if (next() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  Error wanted(std::string_view what) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<long>(at_), '\n');
    const std::string found =
        at_ < text_.size() ? quoted_name(text_.substr(at_, 1)) : std::string("the end of the file");
    return {Errno::invalid_argument, sentence("line ", line, ": ", found, ", wanted: ", what)};
  }

  // {"key": ..., ...}; `each` reads the value.
  Error members(const std::function<Error(const std::string& key)>& each) {
    std::set<std::string> keys;
    if (!take('{')) return wanted("an object, '{'");
    if (take('}')) return {};
    do {
      std::string key;
      QUERN_NN_TRY(text(&key));
      if (!keys.insert(key).second)
        return {Errno::invalid_argument, sentence("the key ", quoted_name(key), " stands twice")};
      if (!take(':')) return wanted("':'");
      QUERN_NN_TRY(each(key));
    } while (take(','));
    return take('}') ? Error() : wanted("',' or '}'");
  }

  Error value(JsonValue* value) {
    skip_space();
    const std::size_t begin = at_;
    QUERN_NN_TRY(value_of_any_form(value));
    constexpr std::size_t longest = 60;
    value->shown = std::string(text_.substr(begin, std::min(at_ - begin, longest)));
    if (at_ - begin > longest) value->shown += "...";
    return {};
  }

  Error value_of_any_form(JsonValue* value) {
    switch (next()) {
      case '"': return text(&value->of.emplace<std::string>());
      case '[': return texts(&value->of.emplace<JsonValue::Texts>());
      case '{': return texts_by_key(&value->of.emplace<JsonValue::TextsByKey>());
      default: break;
    }
    if (take_word("true")) return value->of = true, Error();
    if (take_word("false")) return value->of = false, Error();
    if (take_word("null")) return value->of = nullptr, Error();
    return number(value);
  }

  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::size_t take_digits() {
    const std::size_t begin = at_;
    while (next() >= '0' && next() <= '9') ++at_;
    return at_ - begin;
  }

  Error number(JsonValue* value) {
    const std::size_t begin = at_;
    const bool is_negative = take_word("-");
    const bool begins_with_zero = next() == '0';
    const std::size_t digits = take_digits();
    if (digits == 0 || (begins_with_zero && digits > 1)) {
      at_ = begin;
      return wanted("a number, a text, true, false, null, a list or an object");
    }
    bool is_whole = !is_negative;
    if (take_word(".")) {
      is_whole = false;
      if (take_digits() == 0) return wanted("a digit");
    }
    if (take_word("e") || take_word("E")) {
      is_whole = false;
      if (!take_word("+")) take_word("-");
      if (take_digits() == 0) return wanted("a digit");
    }
    std::uint64_t whole = 0;
    const auto parsed = std::from_chars(text_.data() + begin, text_.data() + at_, whole);
    if (is_whole && parsed.ec == std::errc())
      value->of = whole;
    else
      value->of = JsonValue::OtherNumber{};
    return {};
  }

  Error text(std::string* s) {
    if (!take('"')) return wanted("a text, '\"'");
    for (;;) {
      const char c = next();
      if (at_ >= text_.size() || static_cast<unsigned char>(c) < 0x20) return wanted("'\"'");
      ++at_;
      if (c == '"') return {};
      if (c != '\\')
        *s += c;
      else
        QUERN_NN_TRY(escape(s));
    }
  }

  Error escape(std::string* s) {
    constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    const std::size_t found = letters.find(next());
    if (at_ < text_.size() && found != letters.npos) {
      *s += meanings[found];
      ++at_;
      return {};
    }
    if (!take_word("u")) return wanted("an escape: \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uNNNN");
    std::uint32_t c = 0, low = 0;
    QUERN_NN_TRY(hex(&c));
    if (c >= 0xd800 && c < 0xdc00) {
      if (!take_word("\\u")) return wanted("the second half of a pair, \\uDC00 to \\uDFFF");
      QUERN_NN_TRY(hex(&low));
      if (low < 0xdc00 || low > 0xdfff) return wanted("a pair of \\uD800 and \\uDC00");
      c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    } else if (c >= 0xdc00 && c < 0xe000) {
      return wanted("the first half of a pair before this, \\uD800 to \\uDBFF");
    }
    append_utf8(*s, c);
    return {};
  }

  Error hex(std::uint32_t* value) {
    const std::string_view digits = text_.substr(at_, 4);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), *value, 16);
    if (digits.size() < 4 || parsed.ptr != digits.data() + 4 || parsed.ec != std::errc())
      return wanted("four hexadecimal digits");
    at_ += 4;
    return {};
  }

  Error texts(JsonValue::Texts* list) {
    (void)take('[');
    if (take(']')) return {};
    do {
      QUERN_NN_TRY(text(&list->emplace_back()));
    } while (take(','));
    return take(']') ? Error() : wanted("',' or ']'");
  }

  Error texts_by_key(JsonValue::TextsByKey* object) {
    return members([&](const std::string& key) {
      object->emplace_back(key, "");
      return text(&object->back().second);
    });
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Error read_json_object(std::string_view text, const JsonMember& member) {
  return JsonReader(text).read(member);
}

}  // namespace quern::wasi_nn
