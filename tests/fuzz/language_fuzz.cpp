// SPDX-License-Identifier: Apache-2.0
// Any bytes as a tokenizer.json, an expression or a chat template, with a text for it behind a zero
// byte: an error with a sentence, or text that comes back the same at once and token by token.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/language/chat_template.h"
#include "frontends/language/pattern.h"
#include "frontends/language/tokenizer.h"

namespace {

using namespace quern;            // NOLINT
using namespace quern::language;  // NOLINT

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void require_sentence(const Status& error) {
  require(error.code() == Code::invalid_argument || error.code() == Code::unsupported ||
              error.code() == Code::out_of_memory,
          "another error");
  require(error.message().size() > 5, "no sentence");
}

void tokenize(std::string_view json, std::string_view text) {
  const auto tokenizer = Tokenizer::parse(json);
  if (!tokenizer) return require_sentence(tokenizer.error());
  const auto ids = (*tokenizer)->encode(text);
  if (!ids) return require_sentence(ids.error());
  const auto whole = (*tokenizer)->decode(*ids);
  if (!whole) return require_sentence(whole.error());
  require(repaired_utf8(*whole) == *whole, "text that is no UTF-8");
  StreamDecoder stream(*tokenizer);
  for (const TokenId id : *ids) {
    const auto part = stream.add(id);
    if (!part) return require_sentence(part.error());
    require(repaired_utf8(*part) == *part, "a part that is no UTF-8");
  }
  (void)stream.finish();
}

void match(std::string_view expression, std::string_view text) {
  const auto pattern = Pattern::parse(expression);
  if (!pattern) return require_sentence(pattern.error());
  const std::u32string all = code_points(text);
  Work work(200'000);
  for (std::size_t from = 0; from <= all.size();) {
    const auto found = pattern->find(all, from, work);
    if (!found) return require_sentence(found.error());
    if (!*found) break;
    require(
        (*found)->begin >= from && (*found)->begin <= (*found)->end && (*found)->end <= all.size(),
        "a match that is nowhere");
    from = (*found)->end + ((*found)->begin == (*found)->end ? 1 : 0);
  }
}

void render(std::string_view source, std::string_view text) {
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed) return require_sentence(parsed.error());
  TemplateValue::Map variables = {{"text", text}, {"n", std::int64_t{3}}};
  auto message = TemplateValue::of_map({{"role", "user"}, {"content", text}});
  auto messages = TemplateValue::of_list({*message, *message});
  variables.emplace_back("messages", *messages);
  const auto prompt = parsed->render(variables);
  if (!prompt) require_sentence(prompt.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = all.find('\0');
  const std::string_view first = all.substr(0, end);
  const std::string_view text =
      end == all.npos ? std::string_view("The mill grinds 😀\n  12.") : all.substr(end + 1);
  if (first.starts_with("{\"")) {
    tokenize(first, text);
  } else if (first.starts_with("/")) {
    match(first.substr(1), text);
  } else {
    render(first, text);
  }
  return 0;
}
