// SPDX-License-Identifier: Apache-2.0
// JSON as a value: what --json prints and what index.json and old benchmarks hold.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <quern/status.h>

namespace quern::tools {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in the order of insertion

  Json() = default;
  Json(std::same_as<bool> auto v) : v_(v) {}  // NOLINT: values convert
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Json(T v)
      : v_(static_cast<std::int64_t>(v)) {}         // NOLINT
  Json(double v) : v_(v) {}                         // NOLINT; not finite: null
  Json(std::string v) : v_(std::move(v)) {}         // NOLINT
  Json(std::string_view v) : v_(std::string(v)) {}  // NOLINT
  Json(const char* v) : v_(std::string(v)) {}       // NOLINT
  static Json object() { return Json(Object()); }
  static Json object_of(Object members) { return Json(std::move(members)); }
  static Json array() { return Json(Array()); }
  template <class Range>
  static Json array_of(const Range& range) {
    Json a = array();
    for (const auto& v : range) a.push(Json(v));
    return a;
  }

  // The member `key`, added when it is new; turns null into an object.
  Json& operator[](std::string_view key);
  void push(Json v);

  bool is_null() const { return v_.index() == 0; }
  const Json* find(std::string_view key) const;  // null: no object, or no such member
  const Array& items() const;                    // empty: no array
  const Object& members() const;                 // empty: no object
  double number(double otherwise = 0) const;
  std::string_view text() const;  // empty: no text

  // Bytes that are no UTF-8 are replaced.
  std::string dump() const;
  // The same on one line.
  std::string line() const;
  // The same of an object that a verb prints, with `schema` before its members: a number that goes
  // up when a member goes, or changes its name or its meaning. New members may come at any time.
  std::string document() const;

  using Value =
      std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object>;
  const Value& value() const { return v_; }

 private:
  explicit Json(Array v) : v_(std::move(v)) {}
  explicit Json(Object v) : v_(std::move(v)) {}
  Value v_;
};

// Errors name the place; nested at most 64 deep.
Result<Json> parse_json(std::string_view text);
// At most `max_bytes` are read.
Result<std::string> read_file(const std::string& path,
                              std::size_t max_bytes = std::size_t{1} << 30);
Result<Json> read_json(const std::string& path);

}  // namespace quern::tools
