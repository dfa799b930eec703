// SPDX-License-Identifier: Apache-2.0
// Files of settings in JSON, read strictly: whole numbers, texts, true, false, null, lists of texts
// and objects of texts.
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
  // A value of another form: a number that is not whole or above 2^64 - 1, a list of lists.
  struct Other {};
  using Texts = std::vector<std::string>;
  using TextsByKey = std::vector<std::pair<std::string, std::string>>;
  std::variant<std::nullptr_t, bool, std::uint64_t, Other, std::string, Texts, TextsByKey> of;
  std::string shown;  // as JSON, cut where it is long

  template <class T>
  const T* as() const {
    return std::get_if<T>(&of);
  }
};

using JsonMember = std::function<Error(const std::string& key, const JsonValue& value)>;

// Calls `member` for each key of the object that the text is, in its order; stops at its first
// error. Errors: invalid_argument, with the line where it is no JSON; no object, a key that stands
// twice.
Error read_json_object(std::string_view text, const JsonMember& member);

}  // namespace quern::wasi_nn
