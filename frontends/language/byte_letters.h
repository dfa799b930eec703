// SPDX-License-Identifier: Apache-2.0
// Bytes as printable letters, as byte-level vocabularies (GPT-2's and its successors') write them.
#pragma once

#include <string>
#include <string_view>

namespace quern::language {

// A letter for each byte of `text` in UTF-8.
std::u32string letters_of_bytes(std::u32string_view text);
// The bytes of letters; -1: no letter of a byte.
int byte_of_letter(char32_t letter);
// The letter of a byte.
char32_t letter_of_byte(unsigned char byte);

}  // namespace quern::language
