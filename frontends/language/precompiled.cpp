// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/precompiled.h"

#include <algorithm>
#include <cstddef>

#include "frontends/language/unicode.h"

namespace quern::language {
namespace {

Status broken_charsmap() {
  return {Code::invalid_argument, "tokenizer.json: precompiled_charsmap is broken_charsmap"};
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

Result<std::string> decoded(std::string_view base64) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : base64) {
    if (c == '=') break;
    const int digit = base64_digit(c);
    if (digit < 0) return broken_charsmap();
    bits = (bits << 6) | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>((bits >> count) & 0xFF);
  }
  return bytes;
}

std::uint32_t little_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

// Units of the double array (Darts-clone's format).
bool has_leaf(std::uint32_t unit) {
  return ((unit >> 8) & 1) != 0;
}
std::uint32_t label_of(std::uint32_t unit) {
  return unit & ((1U << 31) | 0xFF);
}
std::uint32_t offset_of(std::uint32_t unit) {
  return (unit >> 10) << ((unit & (1U << 9)) >> 6);
}

bool extends(char32_t c) {
  return is_mark(c) || c == 0x200C || c == 0x200D;
}

}  // namespace

Result<PrecompiledReplacements> PrecompiledReplacements::read(std::string_view base64) {
  PrecompiledReplacements map;
  if (base64.empty()) return map;
  QUERN_ASSIGN(const std::string bytes, decoded(base64));
  if (bytes.size() < 4) return broken_charsmap();
  const std::size_t size = little_endian(bytes, 0);
  if (size % 4 != 0 || size > bytes.size() - 4) return broken_charsmap();
  for (std::size_t i = 0; i < size; i += 4) map.units_.push_back(little_endian(bytes, 4 + i));
  map.texts_ = bytes.substr(4 + size);
  return map;
}

// The text for the shortest beginning of `utf8` that the array has.
std::optional<std::string_view> PrecompiledReplacements::replacement_of(
    std::string_view utf8) const {
  if (units_.empty()) return std::nullopt;
  std::size_t node = offset_of(units_[0]);
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) return std::nullopt;
    const bool is_leaf = has_leaf(units_[node]);
    node ^= offset_of(units_[node]);
    if (!is_leaf) continue;
    if (node >= units_.size()) return std::nullopt;
    const std::size_t begin = units_[node] & 0x7FFFFFFFU;
    if (begin > texts_.size()) return std::nullopt;
    const std::size_t end = std::min(texts_.find('\0', begin), texts_.size());
    return std::string_view(texts_).substr(begin, end - begin);
  }
  return std::nullopt;
}

std::u32string PrecompiledReplacements::apply(std::u32string_view text, Work& work) const {
  std::u32string out;
  out.reserve(text.size());
  const auto add = [&](std::u32string_view part) {
    const auto found = replacement_of(utf8(part));
    if (found && work.spend(found->size())) out += code_points(*found);
    return found.has_value();
  };
  for (std::size_t i = 0; i < text.size() && !work.is_spent();) {
    std::size_t end = i + 1;
    if (text[i] == U'\r' && end < text.size() && text[end] == U'\n') ++end;
    while (end < text.size() && text[end - 1] >= 0x20 && extends(text[end])) ++end;
    const std::u32string_view cluster = text.substr(i, end - i);
    i = end;
    if (utf8(cluster.substr(0, 6)).size() < 6 && add(cluster)) continue;
    for (const char32_t c : cluster)
      if (!add({&c, 1})) out += c;
  }
  return out;
}

}  // namespace quern::language
