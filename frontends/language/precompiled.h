// SPDX-License-Identifier: Apache-2.0
// Replacements as SentencePiece compiles them: a double array over UTF-8 and the texts to put in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "frontends/language/work.h"

namespace quern::language {

class PrecompiledReplacements {
 public:
  // `base64` is a precompiled_charsmap. Errors: invalid_argument.
  static Result<PrecompiledReplacements> read(std::string_view base64);

  // The text with replacements: of a character with its marks where these are shorter than 6 bytes,
  // else of each code point, as the public tokenizers do it.
  // Ends early where the work is spent.
  std::u32string apply(std::u32string_view text, Work& work) const;

 private:
  std::optional<std::string_view> replacement_of(std::string_view utf8) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;  // each ends with a zero byte
};

}  // namespace quern::language
