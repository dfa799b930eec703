// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/byte_letters.h"

#include <array>

#include "frontends/language/unicode.h"

namespace quern::language {
namespace {

constexpr bool is_own_letter(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// Bytes that print stand for themselves, the others in their order from U+0100 on.
constexpr std::array<char32_t, 256> letters = [] {
  std::array<char32_t, 256> table{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) table[byte] = is_own_letter(byte) ? byte : next++;
  return table;
}();

constexpr std::array<short, 0x144> bytes = [] {
  std::array<short, 0x144> table{};
  for (short& byte : table) byte = -1;
  for (unsigned byte = 0; byte < 256; ++byte) table[letters[byte]] = static_cast<short>(byte);
  return table;
}();

}  // namespace

std::u32string letters_of_bytes(std::u32string_view text) {
  std::u32string out;
  for (const char c : utf8(text)) out += letters[static_cast<unsigned char>(c)];
  return out;
}

int byte_of_letter(char32_t letter) {
  return letter < bytes.size() ? bytes[letter] : -1;
}

char32_t letter_of_byte(unsigned char byte) {
  return letters[byte];
}

}  // namespace quern::language
