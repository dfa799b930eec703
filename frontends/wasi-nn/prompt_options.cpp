// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/prompt_options.h"

#include <algorithm>
#include <array>
#include <string>

#include <nlohmann/json.hpp>

namespace quern::wasi_nn {
namespace {

using JsonOptions = nlohmann::json;

// A key with the value it wants; set() stores that, or returns false for a value of another kind.
struct PromptKey {
  std::string_view name, wanted;
  bool (*set)(const JsonOptions& value, PromptOptions& options);
};

constexpr std::string_view whole_wanted = "a whole number", number_wanted = "a number",
                           text_wanted = "a text";

// Whole numbers beyond 64 bits are numbers with a fraction to the reader.
bool read_whole(const JsonOptions& value, std::int64_t least, std::int64_t most,
                std::int64_t* result) {
  if (!value.is_number_integer()) return false;
  const bool is_large = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
  *result = is_large ? most : std::clamp(value.get<std::int64_t>(), least, most);
  return true;
}

// A fraction may be written as a whole number.
bool read_number(const JsonOptions& value, double least, double most, double* result) {
  if (!value.is_number()) return false;
  *result = std::clamp(value.get<double>(), least, most);
  return true;
}

template <std::optional<double> PromptOptions::*option, int least, int most>
bool set_fraction(const JsonOptions& value, PromptOptions& options) {
  return read_number(value, least, most, &(options.*option).emplace());
}

template <double PromptOptions::*option>
bool set_penalty(const JsonOptions& value, PromptOptions& options) {
  return read_number(value, 0, 1000, &(options.*option));
}

bool set_repeat_penalty(const JsonOptions& value, PromptOptions& options) {
  return read_number(value, 1e-3, 1000, &options.repeat_penalty.emplace());
}

bool set_prompt_context(const JsonOptions& value, PromptOptions& options) {
  std::int64_t tokens = 0;
  if (!read_whole(value, 0, INT64_MAX, &tokens)) return false;
  options.context_size.reset();
  if (tokens > 0) options.context_size = tokens;
  return true;
}

bool set_most_tokens(const JsonOptions& value, PromptOptions& options) {
  return read_whole(value, -1, INT64_MAX, &options.most_tokens.emplace());
}

bool set_batch_size(const JsonOptions& value, PromptOptions& options) {
  std::int64_t tokens = 0;
  if (!read_whole(value, 1, 4096, &tokens)) return false;
  options.batch_size = static_cast<std::size_t>(tokens);
  return true;
}

bool set_top_k(const JsonOptions& value, PromptOptions& options) {
  return read_whole(value, 0, INT64_MAX, &options.top_k.emplace());
}

// -1, or 2^32 - 1 as it is written without a sign, is another seed for each answer.
bool set_seed(const JsonOptions& value, PromptOptions& options) {
  std::int64_t seed = 0;
  if (!read_whole(value, -1, INT64_MAX, &seed)) return false;
  options.seed.reset();
  if (seed != -1 && seed != 0xffffffff) options.seed = static_cast<std::uint64_t>(seed);
  return true;
}

bool set_reverse_prompt(const JsonOptions& value, PromptOptions& options) {
  if (!value.is_string()) return false;
  options.reverse_prompt = value.get<std::string>();
  return true;
}

constexpr PromptKey prompt_keys[] = {
    {"ctx-size", whole_wanted, &set_prompt_context},
    {"n-predict", whole_wanted, &set_most_tokens},
    {"batch-size", whole_wanted, &set_batch_size},
    {"temp", number_wanted, &set_fraction<&PromptOptions::temperature, 0, 1000>},
    {"top-p", number_wanted, &set_fraction<&PromptOptions::top_p, 0, 1>},
    {"min-p", number_wanted, &set_fraction<&PromptOptions::min_p, 0, 1>},
    {"top-k", whole_wanted, &set_top_k},
    {"repeat-penalty", number_wanted, &set_repeat_penalty},
    {"presence-penalty", number_wanted, &set_penalty<&PromptOptions::presence_penalty>},
    {"frequency-penalty", number_wanted, &set_penalty<&PromptOptions::frequency_penalty>},
    {"seed", whole_wanted, &set_seed},
    {"reverse-prompt", text_wanted, &set_reverse_prompt},
};

// Features of other hosts, whose guests would get other results. Off, or empty, they say nothing.
constexpr std::array missing_features = {"stream-stdout", "embedding",   "grammar", "json-schema",
                                         "mmproj",        "image",       "tts",     "model-vocoder",
                                         "split-mode",    "tensor-split"};

bool is_switched_off(const JsonOptions& value) {
  return value.is_null() || value == false ||
         (value.is_string() && value.get<std::string>().empty());
}

Error parse_options(std::string_view given, JsonOptions* document) {
  constexpr int deepest = 32;
  bool is_deep = false;
  const auto shallow = [&](int depth, JsonOptions::parse_event_t, const JsonOptions&) {
    is_deep = is_deep || depth > deepest;
    return !is_deep;
  };
  try {
    *document = JsonOptions::parse(given, shallow);
  } catch (const JsonOptions::exception&) {
    return {Errno::invalid_encoding, "the options are no JSON"};
  }
  if (is_deep)
    return {Errno::invalid_encoding, sentence("the options lie more than ", deepest, " deep")};
  if (document->is_object()) return {};
  return {Errno::invalid_argument,
          sentence("the options are of type ", document->type_name(), ", wanted: object")};
}

}  // namespace

Error read_prompt_options(std::string_view json, const std::function<void(std::string_view)>& log,
                          PromptOptions* options) {
  constexpr std::size_t most_bytes = 64 << 10;
  if (json.size() > most_bytes)
    return {Errno::too_large,
            sentence("options of ", json.size(), " bytes, at most ", most_bytes, " are read")};
  JsonOptions document;
  QUERN_NN_TRY(parse_options(json, &document));
  PromptOptions changed = *options;
  for (const PromptKey& key : prompt_keys) {
    const auto found = document.find(key.name);
    if (found == document.end() || key.set(*found, changed)) continue;
    return {Errno::invalid_argument, sentence("the option ", quoted_name(key.name), " is of type ",
                                              found->type_name(), ", wanted: ", key.wanted)};
  }
  for (const std::string_view name : missing_features)
    if (const auto found = document.find(name);
        found != document.end() && !is_switched_off(*found) && log)
      log(sentence("the option ", quoted_name(name), " has no effect here"));
  *options = std::move(changed);
  return {};
}

}  // namespace quern::wasi_nn
