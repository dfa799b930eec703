// SPDX-License-Identifier: Apache-2.0
// StringNormalizer: drops stop words, then changes the case of what is left.
//
// ONNX: StringNormalizer (opset 10), on [n] or [1, n]; when nothing is left, one empty string. Case
// is ours, not the locale's: one to one within as many bytes of UTF-8 (Latin, Greek, Cyrillic,
// Armenian, Vietnamese); other bytes, and bytes that are no UTF-8, stay as they are.
#include "graph/ops/strings.h"

#include <algorithm>
#include <numeric>

#include "kernels/contract/kernel.h"
#include "kernels/contract/sorting.h"
#include "kernels/contract/string_room.h"

namespace quern {
namespace {

// ---- case

// Upper-case letters first, first + stride, ... last; the lower-case one is `delta` further.
struct CaseRange {
  char32_t first, last;
  int delta, stride;
};
constexpr CaseRange cases[] = {
    {'A', 'Z', 32, 1},     {0xc0, 0xd6, 32, 1},    {0xd8, 0xde, 32, 1},    {0x100, 0x12e, 1, 2},
    {0x132, 0x136, 1, 2},  {0x139, 0x147, 1, 2},   {0x14a, 0x176, 1, 2},   {0x178, 0x178, -121, 1},
    {0x179, 0x17d, 1, 2},  {0x1a0, 0x1a4, 1, 2},   {0x1af, 0x1af, 1, 1},   {0x1cd, 0x1db, 1, 2},
    {0x1de, 0x1ee, 1, 2},  {0x1f8, 0x21e, 1, 2},   {0x222, 0x232, 1, 2},   {0x386, 0x386, 38, 1},
    {0x388, 0x38a, 37, 1}, {0x38c, 0x38c, 64, 1},  {0x38e, 0x38f, 63, 1},  {0x391, 0x3a1, 32, 1},
    {0x3a3, 0x3ab, 32, 1}, {0x400, 0x40f, 80, 1},  {0x410, 0x42f, 32, 1},  {0x460, 0x480, 1, 2},
    {0x48a, 0x4be, 1, 2},  {0x4c0, 0x4c0, 15, 1},  {0x4c1, 0x4cd, 1, 2},   {0x4d0, 0x52e, 1, 2},
    {0x531, 0x556, 48, 1}, {0x1e00, 0x1e94, 1, 2}, {0x1ea0, 0x1efe, 1, 2},
};

char32_t with_case(char32_t c, CaseAction action) {
  for (const CaseRange& r : cases) {
    const char32_t upper = action == CaseAction::lower ? c : c - static_cast<char32_t>(r.delta);
    if (upper < r.first || upper > r.last || (upper - r.first) % r.stride != 0) continue;
    return action == CaseAction::lower ? upper + static_cast<char32_t>(r.delta) : upper;
  }
  return action == CaseAction::upper && c == 0x3c2 ? 0x3a3 : c;  // final sigma
}

// One character of UTF-8 with up to 3 bytes; anything else counts as one byte past Unicode.
struct Character {
  char32_t code;
  std::size_t bytes;
};
Character character_at(std::string_view s, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[at + i]); };
  const auto follows = [&](std::size_t i) { return at + i < s.size() && byte(i) >> 6 == 2; };
  if (byte(0) < 0x80) return {byte(0), 1};
  if (byte(0) >> 5 == 6 && byte(0) >= 0xc2 && follows(1))
    return {static_cast<char32_t>((byte(0) & 31) << 6 | (byte(1) & 63)), 2};
  if (byte(0) >> 4 == 14 && follows(1) && follows(2)) {
    const auto code =
        static_cast<char32_t>((byte(0) & 15) << 12 | (byte(1) & 63) << 6 | (byte(2) & 63));
    if (code >= 0x800) return {code, 3};
  }
  return {char32_t{0x110000} + byte(0), 1};
}

// Writes a character that has as many bytes as before.
void put(std::string& s, std::size_t at, Character c) {
  if (c.bytes == 1) {
    if (c.code < 0x80) s[at] = static_cast<char>(c.code);
  } else {
    for (std::size_t i = c.bytes; i-- > 1; c.code >>= 6)
      s[at + i] = static_cast<char>(0x80 | (c.code & 63));
    s[at] = static_cast<char>((c.bytes == 2 ? 0xc0 : 0xe0) | c.code);
  }
}

std::string changed(std::string_view text, CaseAction action, StopCheck& check) {
  std::string s(text);
  for (std::size_t at = 0; at < s.size() && !check.spend(32);) {
    const Character c = character_at(s, at);
    put(s, at, {with_case(c.code, action), c.bytes});
    at += c.bytes;
  }
  return s;
}

// Anything once `check` is over.
bool less(const StringNormalizer& op, std::string_view a, std::string_view b, StopCheck& check) {
  if (check.spend(8 + static_cast<std::int64_t>(std::min(a.size(), b.size()) / 8))) return false;
  if (op.case_sensitive) return a < b;
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size() && !check.spend(64)) {
    const Character x = character_at(a, i);
    const Character y = character_at(b, j);
    const char32_t u = with_case(x.code, CaseAction::lower);
    const char32_t v = with_case(y.code, CaseAction::lower);
    if (u != v) return u < v;
    i += x.bytes;
    j += y.bytes;
  }
  return i == a.size() && j < b.size();
}

// ---- reference

// The stop words in scratch, sorted, so that looking one up does not walk over all of them.
class StopWords {
 public:
  StopWords(const ReferenceCall& call, StopCheck& check)
      : op_(call.as<StringNormalizer>()), check_(check) {
    order_ = {call.scratch.take<std::uint32_t>(op_.stopwords.size()), op_.stopwords.size()};
    std::iota(order_.begin(), order_.end(), 0u);
    auto* spare = call.scratch.take<std::uint32_t>(order_.size());
    const auto before = [this](std::uint32_t a, std::uint32_t b) {
      return less(op_, op_.stopwords[a], op_.stopwords[b], check_);
    };
    sort_until(order_.data(), static_cast<std::int64_t>(order_.size()), spare, before, 8, check_);
  }
  bool holds(std::string_view word) const {
    const auto at = std::lower_bound(order_.begin(), order_.end(), word,
                                     [this](std::uint32_t a, std::string_view w) {
                                       return less(op_, op_.stopwords[a], w, check_);
                                     });
    return at != order_.end() && !less(op_, word, op_.stopwords[*at], check_);
  }

 private:
  const StringNormalizer& op_;
  StopCheck& check_;
  std::span<std::uint32_t> order_;
};

Status strings_reference(const ReferenceCall& call) {
  const auto& op = call.as<StringNormalizer>();
  QUERN_TRY(check_room(call.strings));
  StopCheck check(call.stop);
  const StopWords stop_words(call, check);
  const MutableTensorView& y = call.outputs[0];
  std::int64_t n = 0;
  for (const StringRef& word : call.inputs[0].span<StringRef>()) {
    if (check.spend(64 + static_cast<std::int64_t>(word.size / 8))) return {};
    if (stop_words.holds(word.view())) continue;
    y.as<StringRef>()[n++] = op.case_change == CaseAction::none
                                 ? word
                                 : call.strings.add(changed(word.view(), op.case_change, check));
  }
  if (n == 0) y.as<StringRef>()[n++] = StringRef{};
  Shape& shape = call.outputs[0].type.shape;
  shape[shape.rank() - 1] = n;
  return {};
}

std::size_t strings_scratch(const Op& op, std::span<const TensorType>,
                            std::span<const TensorType>) {
  return 2 * Scratch::bytes_for<std::uint32_t>(op.as<StringNormalizer>()->stopwords.size());
}

}  // namespace

const OpKernels& StringNormalizer::kernels() {
  static constexpr OpKernels table{.reference = {strings_reference, strings_scratch}};
  return table;
}

}  // namespace quern
