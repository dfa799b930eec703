// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/pre_tokenizer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/language/byte_letters.h"
#include "frontends/language/normalizer.h"
#include "frontends/language/pattern.h"
#include "frontends/language/unicode.h"

namespace quern::language {
namespace {

// GPT-2's expression, which ByteLevel brings.
constexpr std::string_view byte_level_expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// Whitespace's, whose words may hold joiners and numbers of letters; the rest is left out.
constexpr std::string_view words_expression =
    R"([\w\p{Nl}\u200c\u200d]+|[^\w\s\p{Nl}\u200c\u200d]+)";

// What becomes of the matches of a pattern.
enum class Behavior : std::uint8_t { removed, isolated, with_previous, with_next, contiguous };

Result<Behavior> behavior_named(std::string_view name) {
  if (name == "Removed") return Behavior::removed;
  if (name == "Isolated") return Behavior::isolated;
  if (name == "MergedWithPrevious") return Behavior::with_previous;
  if (name == "MergedWithNext") return Behavior::with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  return Status(Code::invalid_argument,
                cat("tokenizer.json: no behavior '", shown(name), "' is known"));
}

Status too_many_pieces() {
  return {Code::unsupported, "the tokenizer cuts this text into more pieces than is allowed"};
}

// What counts as a match: what the pattern finds, or what lies between.
enum class Sense : std::uint8_t { plain, inverted };

// A part of a piece.
struct Part {
  std::size_t begin, end;
  bool is_match;
};
using Parts = std::vector<Part>;

// Parts that cover the text, matches and what lies between them.
using Finder = std::function<Result<Parts>(std::u32string_view text, Work& work)>;

Finder finder_of(Pattern pattern) {
  return [pattern = std::make_shared<const Pattern>(std::move(pattern))](
             std::u32string_view text, Work& work) -> Result<Parts> {
    Parts parts;
    std::size_t done = 0;
    for (std::size_t from = 0; from < text.size();) {
      QUERN_ASSIGN(const auto found, pattern->find(text, from, work));
      if (!found) break;
      from = std::max(found->end, from + 1);
      if (found->begin == found->end) {  // nothing is no part; the search goes on behind it
        from = found->begin + 1;
        continue;
      }
      if (done < found->begin) parts.push_back({done, found->begin, false});
      parts.push_back({found->begin, found->end, true});
      done = found->end;
    }
    if (done < text.size()) parts.push_back({done, text.size(), false});
    return parts;
  };
}

// Each character that `is_wanted` is a match of its own.
Finder finder_of(bool (*is_wanted)(char32_t)) {
  return [is_wanted](std::u32string_view text, Work& work) -> Result<Parts> {
    Parts parts;
    if (!work.spend(text.size())) return too_many_pieces();
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (is_wanted(text[i]))
        parts.push_back({i, i + 1, true});
      else if (parts.empty() || parts.back().is_match)
        parts.push_back({i, i + 1, false});
      else
        ++parts.back().end;
    }
    return parts;
  };
}

// Joins matches and what is beside them as the behaviour says.
Parts joined(const Parts& parts, Behavior behavior) {
  Parts out;
  bool was_match = false;
  for (const Part& part : parts) {
    const bool joins = behavior == Behavior::contiguous
                           ? !out.empty() && part.is_match == was_match
                           : part.is_match && !was_match && !out.empty();
    if (joins)
      out.back().end = part.end;
    else
      out.push_back(part);
    was_match = part.is_match;
  }
  return out;
}

Parts joined_with_next(Parts parts) {
  const auto mirror = [](Parts& all) {
    std::ranges::reverse(all);
    for (Part& part : all) std::swap(part.begin, part.end);
  };
  mirror(parts);
  Parts out = joined(parts, Behavior::with_previous);
  mirror(out);
  return out;
}

Status cut(Pieces& pieces, Work& work, const Finder& find, Behavior behavior, Sense sense) {
  Pieces out;
  for (Piece& piece : pieces) {
    QUERN_ASSIGN(Parts parts, find(piece.text, work));
    if (sense == Sense::inverted)
      for (Part& part : parts) part.is_match = !part.is_match;
    if (behavior == Behavior::removed)
      std::erase_if(parts, [](const Part& part) { return part.is_match; });
    else if (behavior == Behavior::with_next)
      parts = joined_with_next(std::move(parts));
    else if (behavior != Behavior::isolated)
      parts = joined(parts, behavior);
    if (!work.spend(8 * parts.size() + piece.text.size())) return too_many_pieces();
    if (parts.size() == 1 && parts[0].end - parts[0].begin == piece.text.size()) {
      out.push_back(std::move(piece));
      continue;
    }
    for (const Part& part : parts)
      out.push_back({piece.text.substr(part.begin, part.end - part.begin),
                     piece.is_first && part.begin == 0});
  }
  pieces = std::move(out);
  return {};
}

PreTokenizer of_split(Finder find, Behavior behavior, Sense sense = Sense::plain) {
  return [find = std::move(find), behavior, sense](Pieces& pieces, Work& work) {
    return cut(pieces, work, find, behavior, sense);
  };
}

Result<PreTokenizer> of_byte_level(Json json) {
  const bool adds_space = json["add_prefix_space"].boolean().value_or(true);
  Finder find;
  if (json["use_regex"].boolean().value_or(true)) {
    QUERN_ASSIGN(Pattern pattern, Pattern::parse(byte_level_expression));
    find = finder_of(std::move(pattern));
  }
  return PreTokenizer([adds_space, find = std::move(find)](Pieces& pieces, Work& work) -> Status {
    for (Piece& piece : pieces)
      if (adds_space && piece.text[0] != U' ') piece.text.insert(piece.text.begin(), U' ');
    if (find) QUERN_TRY(cut(pieces, work, find, Behavior::isolated, Sense::plain));
    for (Piece& piece : pieces) {
      if (!work.spend(4 * piece.text.size())) return too_many_pieces();
      piece.text = letters_of_bytes(piece.text);
    }
    return {};
  });
}

Result<PreTokenizer> cut_at_metaspace(Json json) {
  const std::u32string mark = code_points(json["replacement"].text());
  if (mark.size() != 1)
    return Status(Code::invalid_argument,
                  "tokenizer.json: Metaspace has no replacement of one character");
  QUERN_ASSIGN(const PrependScheme scheme, read_prepend_scheme(json));
  const bool splits = json["split"].boolean().value_or(true);
  const Finder find = finder_of(Pattern::literal(mark));
  return PreTokenizer([mark = mark[0], scheme, splits, find](Pieces& pieces, Work& work) -> Status {
    for (Piece& piece : pieces) {
      if (!work.spend(piece.text.size())) return too_many_pieces();
      std::ranges::replace(piece.text, U' ', mark);
      const bool prepends =
          scheme == PrependScheme::always || (scheme == PrependScheme::first && piece.is_first);
      if (prepends && piece.text[0] != mark) piece.text.insert(piece.text.begin(), mark);
    }
    return splits ? cut(pieces, work, find, Behavior::with_next, Sense::plain) : Status();
  });
}

bool is_bert_punctuation(char32_t c) {
  const bool is_ascii = (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
                        (c >= 123 && c <= 126);
  return is_ascii || is_punctuation(c);
}

PreTokenizer bert_cuts() {
  return [spaces = finder_of(is_white_space), punctuation = finder_of(is_bert_punctuation)](
             Pieces& pieces, Work& work) -> Status {
    QUERN_TRY(cut(pieces, work, spaces, Behavior::removed, Sense::plain));
    return cut(pieces, work, punctuation, Behavior::isolated, Sense::plain);
  };
}

Result<PreTokenizer> of_pattern(Json json) {
  QUERN_ASSIGN(Pattern pattern, read_pattern(json["pattern"]));
  QUERN_ASSIGN(const Behavior behavior, behavior_named(json["behavior"].text()));
  return of_split(finder_of(std::move(pattern)), behavior,
                  json["invert"].boolean().value_or(false) ? Sense::inverted : Sense::plain);
}

Result<PreTokenizer> of_words() {
  QUERN_ASSIGN(Pattern pattern, Pattern::parse(words_expression));
  return of_split(finder_of(std::move(pattern)), Behavior::removed, Sense::inverted);
}

Result<PreTokenizer> of_delimiter(Json json) {
  const std::u32string delimiter = code_points(json["delimiter"].text());
  if (delimiter.size() != 1)
    return Status(Code::invalid_argument, "tokenizer.json: a delimiter is not one character");
  return of_split(finder_of(Pattern::literal(delimiter)), Behavior::removed);
}

Result<PreTokenizer> sequence_of_cuts(Json list) {
  std::vector<PreTokenizer> parts;
  for (const Json element : list.elements()) {
    QUERN_ASSIGN(PreTokenizer part, read_pre_tokenizer(element));
    if (part) parts.push_back(std::move(part));
  }
  return PreTokenizer([parts = std::move(parts)](Pieces& pieces, Work& work) -> Status {
    for (const PreTokenizer& part : parts) QUERN_TRY(part(pieces, work));
    return {};
  });
}

}  // namespace

Result<PrependScheme> read_prepend_scheme(Json metaspace) {
  const std::string_view name = metaspace["prepend_scheme"].text();
  const bool adds = metaspace["add_prefix_space"].boolean().value_or(true);
  if (name.empty()) return adds ? PrependScheme::always : PrependScheme::never;
  if (name == "always") return PrependScheme::always;
  if (name == "first") return PrependScheme::first;
  if (name == "never") return PrependScheme::never;
  return Status(Code::invalid_argument,
                cat("tokenizer.json: no prepend_scheme '", shown(name), "' is known"));
}

Result<PreTokenizer> read_pre_tokenizer(Json json) {
  if (!json) return PreTokenizer();
  const std::string_view type = json["type"].text();
  if (type == "ByteLevel") return of_byte_level(json);
  if (type == "Metaspace") return cut_at_metaspace(json);
  if (type == "Split") return of_pattern(json);
  if (type == "BertPreTokenizer") return bert_cuts();
  if (type == "Whitespace") return of_words();
  if (type == "WhitespaceSplit") return of_split(finder_of(is_white_space), Behavior::removed);
  if (type == "CharDelimiterSplit") return of_delimiter(json);
  if (type == "Digits")
    return of_split(finder_of(is_number), json["individual_digits"].boolean().value_or(false)
                                              ? Behavior::isolated
                                              : Behavior::contiguous);
  if (type == "Punctuation") {
    Behavior behavior = Behavior::isolated;
    if (const Json name = json["behavior"]) {
      QUERN_ASSIGN(behavior, behavior_named(name.text()));
    }
    return of_split(finder_of(is_bert_punctuation), behavior);
  }
  if (type == "Sequence") return sequence_of_cuts(json["pretokenizers"]);
  return unknown_component("pre_tokenizer", json);
}

}  // namespace quern::language
