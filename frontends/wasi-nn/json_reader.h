// SPDX-License-Identifier: Apache-2.0
// As much of JSON as a file of settings needs, read strictly and in one pass: whole numbers, texts,
// true, false, null, lists of texts and objects of texts. A library of JSON would be the largest
// part of a small shared object, and takes the last of two equal keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "frontends/wasi-nn/error.h"

namespace quern::wasi_nn {

struct JsonValue {
  // A number of another form, or one above 2^64 - 1, is an OtherNumber.
  struct OtherNumber {};
  using Texts = std::vector<std::string>;
  using TextsByKey = std::vector<std::pair<std::string, std::string>>;
  std::variant<std::nullptr_t, bool, std::uint64_t, OtherNumber, std::string, Texts, TextsByKey> of;
  std::string shown;  // as it stands in the text, cut where it is long

  template <class T>
  const T* as() const {
    return std::get_if<T>(&of);
  }
};

using JsonMember = std::function<Error(const std::string& key, const JsonValue& value)>;

// Calls `member` for each key of the object that the text is, in its order; stops at its first
// error. Errors: invalid_argument, with the line: no object, what JSON does not allow, a key that
// stands twice, values of other forms than above, anything after the object.
Error read_json_object(std::string_view text, const JsonMember& member);

}  // namespace quern::wasi_nn
