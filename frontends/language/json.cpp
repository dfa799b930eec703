// SPDX-License-Identifier: Apache-2.0
// Reading is nlohmann-json's, which no other file of this folder includes: it is slow to compile.
#include "frontends/language/json.h"

#include <concepts>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"

namespace quern::language {
namespace {

constexpr std::size_t max_json_depth = 64;

// Receives what the parser finds; false ends it.
class TreeBuilder {
 public:
  TreeBuilder(Json::Storage& storage, std::size_t max_values)
      : storage_(storage), max_values_(max_values) {}

  std::string error;

  bool null() { return add(Json::Kind::null); }
  bool boolean(std::same_as<bool> auto value) {
    return add(Json::Kind::boolean) && (last().integer = value ? 1 : 0, true);
  }
  bool number_integer(std::int64_t value) {
    return add(Json::Kind::integer) && (last().integer = value, true);
  }
  bool number_unsigned(std::uint64_t value) {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return number_integer(static_cast<std::int64_t>(value));
    return number_float(static_cast<double>(value), {});
  }
  bool number_float(double value, const std::string&) {
    return add(Json::Kind::real) && (last().real = value, true);
  }
  bool string(std::string& text) {
    const std::size_t begin = storage_.text.size();
    if (text.size() > std::numeric_limits<std::uint32_t>::max() - begin)
      return fail("more than 4 GiB of text");
    if (!add(Json::Kind::text)) return false;
    last().text = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(text.size())};
    storage_.text += text;
    return true;
  }
  bool binary(nlohmann::json::binary_t&) { return fail("bytes that are no JSON"); }
  bool key(std::string& text) {
    --open_counts_.back();  // the value counts, its key does not
    return string(text);
  }
  bool start_object(std::size_t) { return open(Json::Kind::object); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(Json::Kind::array); }
  bool end_array() { return close(); }
  template <class E>
  bool parse_error(std::size_t, const std::string&, const E& e) {
    return fail(shown(e.what(), 200));
  }

 private:
  Json::Node& last() { return storage_.nodes.back(); }
  bool fail(std::string why) {
    error = std::move(why);
    return false;
  }
  bool add(Json::Kind kind) {
    if (storage_.nodes.size() >= max_values_)
      return fail(cat("more than ", max_values_, " values"));
    if (!open_counts_.empty()) ++open_counts_.back();
    storage_.nodes.push_back({kind, static_cast<std::uint32_t>(storage_.nodes.size() + 1), {0}});
    return true;
  }
  bool open(Json::Kind kind) {
    if (open_.size() >= max_json_depth)
      return fail(cat("values nested more than ", max_json_depth, " deep"));
    if (!add(kind)) return false;
    open_.push_back(storage_.nodes.size() - 1);
    open_counts_.push_back(0);
    return true;
  }
  bool close() {
    Json::Node& node = storage_.nodes[open_.back()];
    node.count = open_counts_.back();
    node.next = static_cast<std::uint32_t>(storage_.nodes.size());
    open_.pop_back();
    open_counts_.pop_back();
    return true;
  }

  Json::Storage& storage_;
  std::size_t max_values_;
  std::vector<std::size_t> open_;  // indices of the values that hold this place
  std::vector<std::uint64_t> open_counts_;
};

}  // namespace

std::string_view Json::text() const {
  if (kind() != Kind::text) return {};
  return std::string_view(storage_->text).substr(node().text.begin, node().text.size);
}

double Json::number(double otherwise) const {
  if (kind() == Kind::integer) return static_cast<double>(node().integer);
  return kind() == Kind::real ? node().real : otherwise;
}

std::optional<std::int64_t> Json::integer() const {
  if (kind() == Kind::integer) return node().integer;
  return std::nullopt;
}

std::optional<bool> Json::boolean() const {
  if (kind() == Kind::boolean) return node().integer != 0;
  return std::nullopt;
}

std::size_t Json::size() const {
  return is_array() || is_object() ? static_cast<std::size_t>(node().count) : 0;
}

Json Json::operator[](std::string_view key) const {
  Json found;
  if (!is_object()) return found;
  std::uint32_t at = index_ + 1;
  for (std::uint64_t left = node().count; left > 0; --left, at = storage_->nodes[at + 1].next)
    if (Json(storage_, at).text() == key) return {storage_, at + 1};
  return found;
}

std::vector<Json> Json::elements() const {
  std::vector<Json> all;
  each([&](Json element) { all.push_back(element); });
  return all;
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, std::size_t max_values) {
  auto storage = std::make_unique<Json::Storage>();
  TreeBuilder builder(*storage, max_values);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder))
    return Status(Code::invalid_argument, cat("this is no JSON that can be read: ", builder.error));
  JsonDocument document;
  document.storage_ = std::move(storage);
  return document;
}

}  // namespace quern::language
