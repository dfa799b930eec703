// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/json_reader.h"

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

namespace quern::wasi_nn {
namespace {

using Json = nlohmann::ordered_json;

// Notes what the library would take: the last of two equal keys, and lists of any depth, which it
// shows by recursion.
class Strictness {
 public:
  bool operator()(int depth, nlohmann::detail::parse_event_t event, const Json& parsed) {
    using enum nlohmann::detail::parse_event_t;
    constexpr int deepest = 3;
    is_deep_ = is_deep_ || depth > deepest;
    if (is_deep_) return false;
    if (event == object_start) keys_[depth + 1].clear();
    if (event == key && !keys_[depth].insert(parsed.get<std::string>()).second)
      twice_ = parsed.get<std::string>();
    return true;
  }
  Error check() const {
    if (is_deep_) return {Errno::invalid_argument, "lists or objects lie more than three deep"};
    if (twice_.empty()) return {};
    return {Errno::invalid_argument, sentence("the key ", quoted_name(twice_), " stands twice")};
  }

 private:
  std::map<int, std::set<std::string>> keys_;  // by depth
  std::string twice_;
  bool is_deep_ = false;
};

// "line 3, column 7: ..."
Error syntax_error(const nlohmann::json::parse_error& e) {
  const std::string_view what = e.what();
  const std::size_t line = what.find("line ");
  return {Errno::invalid_argument,
          sentence("no JSON: ", quoted_name(what.substr(line == what.npos ? 0 : line)))};
}

bool has_texts_alone(const Json& json) {
  return std::ranges::all_of(json, [](const Json& element) { return element.is_string(); });
}

JsonValue value_of(const Json& json) {
  JsonValue value{.of = JsonValue::Other{}};
  if (json.is_null()) value.of = nullptr;
  if (json.is_boolean()) value.of = json.get<bool>();
  if (json.is_number_unsigned()) value.of = json.get<std::uint64_t>();
  if (json.is_string()) value.of = json.get<std::string>();
  if (json.is_array() && has_texts_alone(json)) value.of = json.get<JsonValue::Texts>();
  if (json.is_object() && has_texts_alone(json)) {
    JsonValue::TextsByKey texts;
    for (const auto& [key, text] : json.items()) texts.emplace_back(key, text.get<std::string>());
    value.of = std::move(texts);
  }
  constexpr std::size_t longest = 60;
  value.shown = json.dump();
  if (value.shown.size() > longest) value.shown = value.shown.substr(0, longest) + "...";
  return value;
}

}  // namespace

Error read_json_object(std::string_view text, const JsonMember& member) {
  Strictness strictness;
  Json document;
  try {
    document = Json::parse(text, std::ref(strictness));
  } catch (const nlohmann::json::parse_error& e) {
    return syntax_error(e);
  }
  QUERN_NN_TRY(strictness.check());
  if (!document.is_object())
    return {Errno::invalid_argument,
            sentence("the file is of type ", document.type_name(), ", wanted: object")};
  for (const auto& [key, value] : document.items()) QUERN_NN_TRY(member(key, value_of(value)));
  return {};
}

}  // namespace quern::wasi_nn
