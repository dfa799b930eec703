// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/utf8.h"

namespace quern {

Decoded decode_first(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {1, first, true, false};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return {1, replacement_character, false, false};
  // The range of the second byte leaves out surrogates, long forms and what is above U+10FFFF.
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  char32_t c = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {i, replacement_character, false, true};
    const bool is_second = i == 1;
    if (byte(i) < (is_second ? low : 0x80U) || byte(i) > (is_second ? high : 0xBFU))
      return {i, replacement_character, false, false};
    c = (c << 6) | (byte(i) & 0x3FU);
  }
  return {length, c, true, false};
}

}  // namespace quern
