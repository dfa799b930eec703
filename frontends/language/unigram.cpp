// SPDX-License-Identifier: Apache-2.0
// Unigram language models (Kudo 2018, "Subword regularization"): the most probable way to cut a
// piece into tokens, by dynamic programming over its bytes. Tokens that begin at a place are found
// in the sorted vocabulary, a byte at a time.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "frontends/language/token_model.h"

namespace quern::language {
namespace {

constexpr double unknown_penalty = 10;  // below the least probable token, SentencePiece's constant

struct Entry {
  const std::string* text;
  double score;
  TokenId id;
};

class Unigram final : public TokenModel {
 public:
  struct Settings {
    std::optional<TokenId> unknown;
    bool falls_back_to_bytes;
  };

  Unigram(Vocabulary vocabulary, std::vector<Entry> sorted, const Settings& settings)
      : TokenModel(std::move(vocabulary)),
        sorted_(std::move(sorted)),
        unknown_(settings.unknown),
        falls_back_to_bytes_(settings.falls_back_to_bytes) {
    double least = std::numeric_limits<double>::infinity();
    for (const Entry& entry : sorted_) least = std::min(least, entry.score);
    unknown_score_ = least - unknown_penalty;
  }

  Status tokenize(std::string_view piece, std::vector<TokenId>& ids, Work& work) const override {
    std::vector<Reached> ends(piece.size() + 1);  // the best way to each place
    for (std::size_t at = 0, size = 0; at < piece.size(); at += size) {
      size = character_length(piece.substr(at));
      QUERN_TRY(extend(piece, at, size, ends, work));
    }
    append(piece, ends, ids);
    return {};
  }

 private:
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
  struct Reached {
    double score = 0;
    std::size_t from = nowhere;
    TokenId id = -1;
  };

  static void offer(Reached& node, double score, std::size_t from, TokenId id) {
    if (node.from == nowhere || score > node.score) node = {score, from, id};
  }

  // Offers every token that begins at `at`, whose character has `size` bytes.
  Status extend(std::string_view piece, std::size_t at, std::size_t size,
                std::vector<Reached>& ends, Work& work) const {
    auto low = sorted_.begin();
    auto high = sorted_.end();
    bool has_character = false;
    for (std::size_t length = 1; at + length <= piece.size() && low != high; ++length) {
      if (!work.spend(16)) return too_much_work();
      const auto byte = static_cast<unsigned char>(piece[at + length - 1]);
      const auto before = [&](const Entry& e, unsigned char b) {
        return e.text->size() < length || static_cast<unsigned char>((*e.text)[length - 1]) < b;
      };
      const auto after = [&](unsigned char b, const Entry& e) {
        return e.text->size() >= length && static_cast<unsigned char>((*e.text)[length - 1]) > b;
      };
      low = std::lower_bound(low, high, byte, before);
      high = std::upper_bound(low, high, byte, after);
      if (low == high || low->text->size() != length) continue;
      offer(ends[at + length], ends[at].score + low->score, at, low->id);
      has_character = has_character || length == size;
    }
    if (has_character) return {};
    if (!unknown_)
      return {Code::invalid_argument,
              "the tokenizer has no token for a character of this text, and none for unknown ones"};
    offer(ends[at + size], ends[at].score + unknown_score_, at, *unknown_);
    return {};
  }

  // Unknown characters that stand together are one token.
  void append(std::string_view piece, const std::vector<Reached>& ends,
              std::vector<TokenId>& ids) const {
    std::vector<std::pair<std::size_t, std::size_t>> parts;  // from the last to the first
    bool was_unknown = false;
    for (std::size_t end = piece.size(); end > 0; end = ends[end].from) {
      const bool is_unknown = unknown_ && ends[end].id == *unknown_;
      if (is_unknown && was_unknown)
        parts.back().first = ends[end].from;
      else
        parts.emplace_back(ends[end].from, end);
      was_unknown = is_unknown;
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      const std::string_view text = piece.substr(part->first, part->second - part->first);
      if (const auto id = vocabulary().id_of(text))
        ids.push_back(*id);
      else if (!falls_back_to_bytes_ || !append_bytes(text, ids))
        ids.push_back(*unknown_);
    }
  }

  std::vector<Entry> sorted_;
  std::optional<TokenId> unknown_;
  bool falls_back_to_bytes_;
  double unknown_score_;
};

Status broken_entry(std::size_t index) {
  return {Code::invalid_argument,
          cat("tokenizer.json: entry ", index, " of the vocabulary is no [token, score]")};
}

}  // namespace

Result<std::unique_ptr<TokenModel>> read_unigram(Json json) {
  const std::vector<Json> list = json["vocab"].elements();
  if (list.empty())
    return Status(Code::invalid_argument, "tokenizer.json: the vocabulary is no list of scores");
  Vocabulary vocabulary;
  vocabulary.reserve(list.size());
  std::vector<double> scores;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto both = list[i].elements();
    if (both.size() != 2 || !both[0].is_text() || !both[1].is_number()) return broken_entry(i);
    QUERN_TRY(vocabulary.add(both[0].text(), static_cast<std::int64_t>(i)));
    scores.push_back(both[1].number());
  }
  std::vector<Entry> sorted;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::string* text = vocabulary.token_of(id);
    if (!text->empty() && vocabulary.id_of(*text) == id) sorted.push_back({text, scores[i], id});
  }
  std::ranges::sort(sorted, {}, [](const Entry& e) { return std::string_view(*e.text); });
  std::optional<TokenId> unknown;
  if (const auto id = json["unk_id"].integer()) {
    if (*id < 0 || static_cast<std::size_t>(*id) >= list.size())
      return Status(Code::invalid_argument,
                    cat("tokenizer.json: unk_id is ", *id, " of ", list.size(), " tokens"));
    unknown = static_cast<TokenId>(*id);
  }
  const Unigram::Settings settings{unknown, json["byte_fallback"].boolean().value_or(false)};
  return std::unique_ptr<TokenModel>(
      std::make_unique<Unigram>(std::move(vocabulary), std::move(sorted), settings));
}

}  // namespace quern::language
