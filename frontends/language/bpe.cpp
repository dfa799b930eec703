// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding (Sennrich et al. 2016, "Neural machine translation of rare words with subword
// units"): the pair that was merged first in training is merged first, the leftmost of equals.
// Pairs wait in a heap, so that a piece of n characters takes n log n steps.
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/language/token_model.h"

namespace quern::language {
namespace {

struct Merge {
  std::uint32_t rank;
  TokenId merged;
};
using Merges = std::unordered_map<std::uint64_t, Merge>;

std::uint64_t pair_of(TokenId left, TokenId right) {
  return (static_cast<std::uint64_t>(left) << 32) | static_cast<std::uint32_t>(right);
}

struct BpeSettings {
  std::optional<TokenId> unknown;
  std::string continuing_prefix;  // of characters that do not begin a piece
  std::string end_suffix;         // of the last character
  bool fuses_unknown = false;
  bool falls_back_to_bytes = false;
  bool ignores_merges = false;  // a piece that is a token is that token
};

constexpr std::int32_t no_symbol = -1;

// A token of the piece, between its neighbours; `length` 0: it was merged into the one before.
struct Symbol {
  TokenId id;
  std::int32_t previous, next;
  bool is_alive = true;
};

class Merger {
 public:
  Merger(const Merges& merges, std::vector<Symbol>& symbols) : merges_(merges), symbols_(symbols) {}

  Status run(Work& work) {
    for (std::size_t i = 0; i + 1 < symbols_.size(); ++i) consider(static_cast<std::int32_t>(i));
    while (!waiting_.empty()) {
      if (!work.spend(8)) return too_much_work();
      const Candidate best = waiting_.top();
      waiting_.pop();
      merge(best);
    }
    return {};
  }

 private:
  struct Candidate {
    std::uint32_t rank;
    std::int32_t at;
    TokenId merged;
    // The heap gives the greatest.
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };

  const Merge* merge_at(std::int32_t at) const {
    const Symbol& left = symbols_[static_cast<std::size_t>(at)];
    if (left.next == no_symbol) return nullptr;
    const auto found =
        merges_.find(pair_of(left.id, symbols_[static_cast<std::size_t>(left.next)].id));
    return found == merges_.end() ? nullptr : &found->second;
  }

  void consider(std::int32_t at) {
    if (const Merge* merge = merge_at(at)) waiting_.push({merge->rank, at, merge->merged});
  }

  void merge(const Candidate& best) {
    Symbol& left = symbols_[static_cast<std::size_t>(best.at)];
    const Merge* now = left.is_alive ? merge_at(best.at) : nullptr;
    if (!now || now->merged != best.merged) return;  // a neighbour was merged since
    Symbol& right = symbols_[static_cast<std::size_t>(left.next)];
    left.id = best.merged;
    left.next = right.next;
    right.is_alive = false;
    if (left.next != no_symbol) symbols_[static_cast<std::size_t>(left.next)].previous = best.at;
    if (left.previous != no_symbol) consider(left.previous);
    consider(best.at);
  }

  const Merges& merges_;
  std::vector<Symbol>& symbols_;
  std::priority_queue<Candidate> waiting_;
};

class Bpe final : public TokenModel {
 public:
  Bpe(Vocabulary vocabulary, Merges merges, BpeSettings settings)
      : TokenModel(std::move(vocabulary)),
        merges_(std::move(merges)),
        settings_(std::move(settings)) {}

  Status tokenize(std::string_view piece, std::vector<TokenId>& ids, Work& work) const override {
    if (!work.spend(16 + 8 * piece.size())) return too_much_work();
    if (settings_.ignores_merges) {
      if (const auto whole = vocabulary().id_of(piece)) {
        ids.push_back(*whole);
        return {};
      }
    }
    std::vector<TokenId> first;
    QUERN_TRY(characters(piece, first, work));
    std::vector<Symbol> symbols;
    symbols.reserve(first.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      const auto at = static_cast<std::int32_t>(i);
      symbols.push_back({first[i], at - 1, i + 1 < first.size() ? at + 1 : no_symbol});
    }
    QUERN_TRY(Merger(merges_, symbols).run(work));
    for (const Symbol& symbol : symbols)
      if (symbol.is_alive) ids.push_back(symbol.id);
    return {};
  }

 private:
  // The token of each character, or of its bytes.
  Status characters(std::string_view piece, std::vector<TokenId>& ids, Work& work) const {
    bool has_unknown = false;  // one waits for its neighbours, to be one with them
    std::string text;
    for (std::size_t at = 0, size = 0; at < piece.size(); at += size) {
      size = character_length(piece.substr(at));
      const std::string_view character = piece.substr(at, size);
      text.assign(at == 0 ? std::string_view() : settings_.continuing_prefix);
      text += character;
      if (at + size == piece.size()) text += settings_.end_suffix;
      if (!work.spend(text.size())) return too_much_work();
      if (const auto id = vocabulary().id_of(text)) {
        if (std::exchange(has_unknown, false)) ids.push_back(*settings_.unknown);
        ids.push_back(*id);
      } else if (!settings_.falls_back_to_bytes || !append_bytes(text, ids)) {
        if (!settings_.unknown) continue;  // as the public tokenizers do, it is left out
        if (has_unknown && !settings_.fuses_unknown) ids.push_back(*settings_.unknown);
        has_unknown = true;
      }
    }
    if (has_unknown) ids.push_back(*settings_.unknown);
    return {};
  }

  Merges merges_;
  BpeSettings settings_;
};

Status broken_merge(std::size_t index, std::string_view what) {
  return {Code::invalid_argument, cat("tokenizer.json: merge ", index, ": ", what)};
}

// The two tokens of a merge, which is "a b" or ["a", "b"].
Status read_pair(Json json, std::size_t index, std::string_view& left, std::string_view& right) {
  if (json.is_array() && json.size() == 2) {
    const auto both = json.elements();
    left = both[0].text();
    right = both[1].text();
    return both[0].is_text() && both[1].is_text() ? Status() : broken_merge(index, "no two texts");
  }
  const std::string_view text = json.text();
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
    return broken_merge(index, "not two tokens with a space between them");
  left = text.substr(0, space);
  right = text.substr(space + 1);
  return {};
}

Result<Merges> read_merges(Json list, const Vocabulary& vocabulary, const BpeSettings& settings) {
  if (!list.is_array())
    return Status(Code::invalid_argument, "tokenizer.json has no list of merges");
  Merges merges;
  merges.reserve(list.size());
  Status status;
  std::uint32_t index = 0;
  list.each([&](Json json) {
    if (!status.ok()) return;
    std::string_view left;
    std::string_view right;
    status = read_pair(json, index, left, right);
    if (!status.ok()) return;
    const auto a = vocabulary.id_of(left);
    const auto b = vocabulary.id_of(right);
    const std::string_view prefix = settings.continuing_prefix;
    const std::string_view rest = right.substr(std::min(prefix.size(), right.size()));
    const auto merged = vocabulary.id_of(cat(left, rest));
    if (!a || !b || !merged)
      status = broken_merge(index, cat("'",
                                       shown(!a   ? left
                                             : !b ? right
                                                  : cat(left, rest)),
                                       "' is no token"));
    else
      merges.try_emplace(pair_of(*a, *b), Merge{index, *merged}).first->second = {index, *merged};
    ++index;
  });
  QUERN_TRY(std::move(status));
  return merges;
}

}  // namespace

Result<std::unique_ptr<TokenModel>> read_bpe(Json json) {
  QUERN_ASSIGN(Vocabulary vocabulary, read_vocabulary(json["vocab"]));
  BpeSettings settings{.continuing_prefix = std::string(json["continuing_subword_prefix"].text()),
                       .end_suffix = std::string(json["end_of_word_suffix"].text()),
                       .fuses_unknown = json["fuse_unk"].boolean().value_or(false),
                       .falls_back_to_bytes = json["byte_fallback"].boolean().value_or(false),
                       .ignores_merges = json["ignore_merges"].boolean().value_or(false)};
  if (const Json unknown = json["unk_token"]) {
    settings.unknown = vocabulary.id_of(unknown.text());
    if (!settings.unknown)
      return Status(Code::invalid_argument,
                    cat("tokenizer.json: unk_token '", shown(unknown.text()), "' is no token"));
  }
  QUERN_ASSIGN(Merges merges, read_merges(json["merges"], vocabulary, settings));
  return std::unique_ptr<TokenModel>(
      std::make_unique<Bpe>(std::move(vocabulary), std::move(merges), std::move(settings)));
}

}  // namespace quern::language
