// SPDX-License-Identifier: Apache-2.0
// Characters of UTF-8, as Unicode defines them: no surrogates, no long forms.
#pragma once

#include <cstddef>
#include <string_view>

namespace quern {

inline constexpr char32_t replacement_character = 0xFFFD;

// The length of the character that `bytes` begins with, and whether it is whole; of broken bytes,
// how many of them one replacement stands for.
struct Decoded {
  std::size_t length;
  char32_t c;
  bool is_whole;
  bool wants_more;  // the bytes end before the character does
};

// `bytes` are not empty.
Decoded decode_first(std::string_view bytes);

}  // namespace quern
