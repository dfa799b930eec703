// SPDX-License-Identifier: Apache-2.0
// Tokenizers of each family, trained on texts of this repository (train_tokenizers.py), against
// what the public library makes of the same files and texts (tokenizer_vectors.js).
#include "frontends/language/tokenizer.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/vocabulary/text_util.h"
#include "tests/expect.h"
#include "tests/language/vectors.h"

namespace quern::language {
namespace {

std::shared_ptr<const Tokenizer> parsed(const std::string& json) {
  auto tokenizer = Tokenizer::parse(json);
  EXPECT_TRUE(tokenizer.has_value()) << tokenizer.error().message();
  return tokenizer ? *tokenizer : nullptr;
}

std::vector<TokenId> ids_of(Json list) {
  std::vector<TokenId> ids;
  list.each([&](Json id) { ids.push_back(static_cast<TokenId>(*id.integer())); });
  return ids;
}

std::string streamed(const std::shared_ptr<const Tokenizer>& tokenizer,
                     const std::vector<TokenId>& ids, Specials specials) {
  StreamDecoder stream(tokenizer, specials);
  std::string text;
  for (const TokenId id : ids) {
    auto part = stream.add(id);
    EXPECT_TRUE(part.has_value());
    text += *part;
  }
  return text + *stream.finish();
}

class Vectors : public ::testing::TestWithParam<const char*> {};

TEST_P(Vectors, AreThoseOfThePublicLibrary) {
  const std::string folder = "tokenizers/";
  const auto tokenizer = parsed(text_of(folder + GetParam() + ".json"));
  const JsonDocument texts = vectors_of(folder + "texts.json");
  const JsonDocument wanted = vectors_of(folder + GetParam() + ".vectors.json");
  const auto all = texts.root().elements();
  const auto rows = wanted.root().elements();
  ASSERT_EQ(all.size(), rows.size());
  ASSERT_GE(all.size(), 100u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].text());
    const auto row = rows[i].elements();
    const std::vector<TokenId> ids = ids_of(row[0]);
    const auto found = tokenizer->encode(all[i].text());
    ASSERT_TRUE(found.has_value()) << found.error().message();
    EXPECT_EQ(*found, ids);
    EXPECT_EQ(*tokenizer->decode(ids), row[1].text());
    EXPECT_EQ(*tokenizer->decode(ids, Specials::kept), row[2].text());
    EXPECT_EQ(streamed(tokenizer, ids, Specials::left_out), row[1].text());
    EXPECT_EQ(streamed(tokenizer, ids, Specials::kept), row[2].text());
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, Vectors,
                         ::testing::Values("byte-level", "byte-level-split", "byte-fallback",
                                           "word-suffix", "unigram", "unigram-bytes", "word-piece",
                                           "word-piece-cased", "words"));

TEST(Tokenizer, GivesBackAnyTextOfBytes) {
  const auto tokenizer = parsed(text_of("tokenizers/byte-level.json"));
  for (const std::string_view text : {"", "plain", " \n\t mixed ", "日本 😀 é", "\x01\x7f"}) {
    const auto ids = tokenizer->encode(text);
    ASSERT_TRUE(ids.has_value());
    EXPECT_EQ(*tokenizer->decode(*ids), text);
  }
}

TEST(Tokenizer, TakesBrokenUtf8AsReplacements) {
  const auto tokenizer = parsed(text_of("tokenizers/byte-level.json"));
  EXPECT_EQ(*tokenizer->decode(*tokenizer->encode("a\xFF\xE2\x82z\xF0\x9F\x98")),
            "a\uFFFD\uFFFDz\uFFFD");
}

TEST(Tokenizer, StreamsWholeCharacters) {
  const auto tokenizer = parsed(text_of("tokenizers/byte-level.json"));
  StreamDecoder stream(tokenizer);
  const auto ids = tokenizer->encode("😀");
  ASSERT_GT(ids->size(), 1u);
  for (std::size_t i = 0; i + 1 < ids->size(); ++i) EXPECT_EQ(*stream.add((*ids)[i]), "");
  EXPECT_EQ(*stream.add(ids->back()), "😀");
  EXPECT_EQ(*stream.add((*ids)[0]), "");
  EXPECT_EQ(*stream.finish(), "\uFFFD");  // what is never finished is not lost
}

TEST(Tokenizer, LeavesOutTokensThatAreNotThere) {
  const auto tokenizer = parsed(text_of("tokenizers/byte-level.json"));
  EXPECT_EQ(*tokenizer->decode(std::vector<TokenId>{-1, 39, 1 << 30, 72}), "Hi");
  EXPECT_EQ(tokenizer->token_of(1 << 30), nullptr);
  EXPECT_EQ(tokenizer->id_of("<|end|>"), static_cast<TokenId>(tokenizer->id_count()) - 4);
}

// A tokenizer with one member of the byte-level file replaced.
std::string file_with(const std::string& model, const std::string& more = "") {
  return cat(R"({"model": )", model, more.empty() ? "" : ", ", more, "}");
}

struct Refusal {
  const char* what;
  std::string json;
  Code code;
  const char* part;
};

const char* const letters = R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": []})";

TEST(Tokenizer, RefusesWhatContradictsItself) {
  const Refusal rows[] = {
      {"no JSON", "{", Code::invalid_argument, "no JSON"},
      {"no object", "[]", Code::invalid_argument, "no object"},
      {"no model", "{}", Code::invalid_argument, "no model"},
      {"another model", file_with(R"({"type": "Neural"})"), Code::unsupported, "'Neural'"},
      {"an id that is none", file_with(R"({"type": "BPE", "vocab": {"a": "x"}, "merges": []})"),
       Code::invalid_argument, "'a'"},
      {"an id below 0", file_with(R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})"),
       Code::invalid_argument, "-1"},
      {"a great id", file_with(R"({"type": "BPE", "vocab": {"a": 99999999}, "merges": []})"),
       Code::invalid_argument, "99999999"},
      {"a merge of nothing",
       file_with(R"({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]})"),
       Code::invalid_argument, "merge 0"},
      {"a merge of three",
       file_with(R"({"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": ["a a a"]})"),
       Code::invalid_argument, "merge 0"},
      {"a normalizer", file_with(letters, R"("normalizer": {"type": "Magic"})"), Code::unsupported,
       "normalizer 'Magic'"},
      {"an expression",
       file_with(letters, R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, )"
                          R"("behavior": "Isolated"})"),
       Code::invalid_argument, "expression '('"},
      {"a decoder", file_with(letters, R"("decoder": {"type": "CTC"})"), Code::unsupported, "CTC"},
      {"a template without ids",
       file_with(letters, R"("post_processor": {"type": "TemplateProcessing", "single": )"
                          R"([{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]})"),
       Code::invalid_argument, "'<s>'"},
      {"a charsmap",
       file_with(letters,
                 R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "////"})"),
       Code::invalid_argument, "precompiled_charsmap"},
      {"an unknown unk_token",
       file_with(R"({"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "?"})"),
       Code::invalid_argument, "'?'"},
      {"unk_id beyond the end",
       file_with(R"({"type": "Unigram", "vocab": [["a", 0]], "unk_id": 7})"),
       Code::invalid_argument, "unk_id is 7"},
  };
  for (const Refusal& row : rows) {
    SCOPED_TRACE(row.what);
    const auto tokenizer = Tokenizer::parse(row.json);
    ASSERT_FALSE(tokenizer.has_value());
    EXPECT_EQ(tokenizer.error().code(), row.code);
    EXPECT_CONTAINS(tokenizer.error().message(), row.part);
  }
}

TEST(Tokenizer, RefusesDeepFiles) {
  EXPECT_CONTAINS(Tokenizer::parse(std::string(100'000, '[')).error().message(), "nested");
}

// Ends within a time that a person waits, as text or as an error.
void expect_ends(const std::shared_ptr<const Tokenizer>& tokenizer, const std::string& text) {
  const auto begin = std::chrono::steady_clock::now();
  const auto ids = tokenizer->encode(text);
  if (!ids) {
    EXPECT_EQ(ids.error().code(), Code::unsupported) << ids.error().message();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST(Tokenizer, EndsOnLongPieces) {
  std::string chain = R"({"type": "BPE", "vocab": {"a": 0)";
  std::string merges;
  std::string token = "a";
  for (int i = 1; i <= 16; ++i) {
    merges += cat(i > 1 ? ", " : "", R"([")", token, R"(", ")", token, R"("])");
    token += token;
    chain += cat(R"(, ")", token, R"(": )", i);
  }
  const auto tokenizer = parsed(file_with(cat(chain, R"(}, "merges": [)", merges, "]}")));
  const auto ids = tokenizer->encode(std::string(1 << 20, 'a'));
  ASSERT_TRUE(ids.has_value());
  EXPECT_EQ(*ids, std::vector<TokenId>(16, 16));
}

TEST(Tokenizer, EndsOnFilesThatMeanHarm) {
  const auto split = [](const char* expression) {
    return cat(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": ")", expression,
               R"("}, "behavior": "Isolated"})");
  };
  const std::string many(200'000, 'a');
  for (const char* expression : {"(a|aa)+$", "(a+a+)+b", "(?:a*b|a)", "(?=.*b)a", "(a?){999}b"}) {
    SCOPED_TRACE(expression);
    const auto tokenizer = Tokenizer::parse(file_with(letters, split(expression)));
    if (tokenizer) expect_ends(*tokenizer, many);
  }
  std::string grows = R"("normalizer": {"type": "Sequence", "normalizers": [)";
  for (int i = 0; i < 60; ++i)
    grows +=
        cat(i ? ", " : "", R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})");
  expect_ends(parsed(file_with(letters, grows + "]}")), many);
}

// The bytes of one token after the other are those of all, however characters lie in tokens.
TEST(StreamDecoder, GivesBytesAsTheyCome) {
  const auto tokenizer = parsed(file_with(
      R"({"type": "BPE", "vocab": {"a": 0, "\u00c3": 1, "\u00a9": 2, "<|s|>": 3}, "merges": []})",
      R"("decoder": {"type": "ByteLevel"}, "added_tokens": [{"id": 3, "content": "<|s|>", "special": true,
         "normalized": false, "lstrip": false, "rstrip": false, "single_word": false}])"));
  StreamDecoder stream(tokenizer);
  std::vector<std::string> parts;
  for (const TokenId id : {0, 1, 2, 3, 1, 0}) parts.push_back(*stream.add_bytes(id));
  EXPECT_EQ(parts, (std::vector<std::string>{"a", "\xC3", "\xA9", "", "\xC3", "a"}));
  EXPECT_EQ(*stream.finish(), "");
}

TEST(StreamDecoder, HoldsWhatItsDecoderShowsOtherwiseLater) {
  const auto tokenizer = parsed(file_with(
      R"({"type": "BPE", "byte_fallback": true, "vocab": {"a": 0, "<0xC3>": 1, "<0xA9>": 2},
          "merges": []})",
      R"("decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]})"));
  StreamDecoder stream(tokenizer);
  std::vector<std::string> parts;
  for (const TokenId id : {0, 1, 2, 0, 1}) parts.push_back(*stream.add_bytes(id));
  EXPECT_EQ(parts, (std::vector<std::string>{"a", "", "\xC3\xA9", "a", ""}));
  EXPECT_EQ(*stream.finish(), "\xEF\xBF\xBD");
}

TEST(Tokenizer, HasALimitOfText) {
  const auto tokenizer = parsed(file_with(letters));
  EXPECT_EQ(tokenizer->encode(std::string(Tokenizer::max_text_bytes + 1, 'a')).error().code(),
            Code::unsupported);
}

}  // namespace
}  // namespace quern::language
