// SPDX-License-Identifier: Apache-2.0
// JSON as a tree over one array, for files of a hundred thousand members: 16 bytes a value and the
// text, read in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

namespace quern::language {

// A value of a document, or none: what is asked of a value of another kind is empty. Borrows the
// document, which JsonDocument keeps.
class Json {
 public:
  enum class Kind : std::uint8_t { none, null, boolean, integer, real, text, array, object };

  // What a document keeps of a value. Members of an object are a text and the value after it.
  struct Node {
    Kind kind;
    std::uint32_t next;  // the index after this value and all that it holds
    union {
      std::int64_t integer;
      double real;
      struct {
        std::uint32_t begin, size;
      } text;
      std::uint64_t count;  // of elements or members
    };
  };
  struct Storage {
    std::vector<Node> nodes;
    std::string text;
  };

  Json() = default;
  Json(const Storage* storage, std::uint32_t index) : storage_(storage), index_(index) {}

  Kind kind() const { return storage_ ? node().kind : Kind::none; }
  explicit operator bool() const { return kind() != Kind::none && kind() != Kind::null; }
  bool is_array() const { return kind() == Kind::array; }
  bool is_object() const { return kind() == Kind::object; }
  bool is_text() const { return kind() == Kind::text; }
  bool is_number() const { return kind() == Kind::integer || kind() == Kind::real; }
  std::string_view text() const;
  double number(double otherwise = 0) const;
  std::optional<std::int64_t> integer() const;
  std::optional<bool> boolean() const;
  std::size_t size() const;  // elements or members

  // The first member with this key; none where there is no such member.
  Json operator[](std::string_view key) const;
  template <class F>  // f(Json element)
  void each(const F& f) const {
    if (!is_array()) return;
    std::uint32_t at = index_ + 1;
    for (std::uint64_t left = node().count; left > 0; --left, at = storage_->nodes[at].next)
      f(Json(storage_, at));
  }
  template <class F>  // f(std::string_view key, Json value), in the order of the file
  void each_member(const F& f) const {
    if (!is_object()) return;
    std::uint32_t at = index_ + 1;
    for (std::uint64_t left = node().count; left > 0; --left) {
      f(Json(storage_, at).text(), Json(storage_, at + 1));
      at = storage_->nodes[at + 1].next;
    }
  }
  std::vector<Json> elements() const;

 private:
  const Node& node() const { return storage_->nodes[index_]; }
  const Storage* storage_ = nullptr;
  std::uint32_t index_ = 0;
};

class JsonDocument {
 public:
  // Errors: invalid_argument, no JSON (with the place), more than 64 values deep, or more than
  // `max_values`.
  static Result<JsonDocument> parse(std::string_view text,
                                    std::size_t max_values = std::size_t{1} << 26);
  Json root() const { return {storage_.get(), 0}; }

 private:
  std::unique_ptr<const Json::Storage> storage_;
};

}  // namespace quern::language
