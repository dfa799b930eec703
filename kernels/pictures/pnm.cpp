// SPDX-License-Identifier: Apache-2.0
// Portable maps of Netpbm: bits (P1, P4), grey (P2, P5) and colours (P3, P6), as text and as bytes
// of one or two for a sample.
#include <algorithm>

#include "kernels/pictures/format.h"

namespace quern::pictures {
namespace {

struct PortableMap {
  Extent extent;
  char kind = 0;           // '1' to '6'
  std::uint32_t most = 1;  // the value of white
  std::size_t data = 0;    // where the samples begin

  bool is_text() const { return kind <= '3'; }
  bool is_bits() const { return kind == '1' || kind == '4'; }
  std::size_t samples() const { return kind == '3' || kind == '6' ? 3 : 1; }  // of a pixel
};

bool is_space(std::uint8_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_pnm(Bytes file) {
  return file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '6' &&
         (is_space(file[2]) || file[2] == '#');
}

// Moves over white space and comments.
void skip_space(Bytes file, std::size_t& at) {
  while (at < file.size() && (is_space(file[at]) || file[at] == '#')) {
    const bool is_comment = file[at] == '#';
    ++at;
    while (is_comment && at < file.size() && file[at] != '\n') ++at;
  }
}

// At most 9 digits; bits may stand without space between them.
std::optional<std::uint32_t> take_number(Bytes file, std::size_t& at, std::size_t most_digits = 9) {
  skip_space(file, at);
  std::uint32_t value = 0;
  std::size_t digits = 0;
  for (; at < file.size() && file[at] >= '0' && file[at] <= '9' && digits < most_digits;
       ++at, ++digits)
    value = value * 10 + (file[at] - '0');
  return digits > 0 ? std::optional(value) : std::nullopt;
}

std::optional<PortableMap> read_pnm_header(Bytes file) {
  PortableMap m;
  m.kind = static_cast<char>(file[1]);
  m.data = 2;
  const auto width = take_number(file, m.data);
  const auto height = take_number(file, m.data);
  const auto most = m.is_bits() ? std::optional(1U) : take_number(file, m.data);
  if (!width || !height || !most || *most < 1 || *most > 65535) return std::nullopt;
  // One space ends the header, which text needs no more than any other.
  if (!m.is_text() && (m.data >= file.size() || !is_space(file[m.data++]))) return std::nullopt;
  const auto extent = extent_from(*width, *height);
  if (!extent) return std::nullopt;
  m.extent = *extent;
  m.most = *most;
  return m;
}

Result<std::optional<Extent>> extent_of_pnm(Bytes file) {
  const auto m = read_pnm_header(file);
  return m ? std::optional(m->extent) : std::nullopt;
}

// The samples of a map, one after the other; none: the file ends.
class PnmSamples {
 public:
  PnmSamples(Bytes file, const PortableMap& map) : file_(file), map_(map), at_(map.data) {}

  std::optional<std::uint8_t> next() {
    const auto value = map_.is_text()   ? take_number(file_, at_, map_.is_bits() ? 1 : 9)
                       : map_.is_bits() ? next_bit()
                                        : next_bytes();
    if (!value) return std::nullopt;
    const std::uint32_t v = std::min(*value, map_.most);
    if (map_.is_bits()) return static_cast<std::uint8_t>(v ? 0 : 255);
    return static_cast<std::uint8_t>((v * 255 + map_.most / 2) / map_.most);
  }
  // Rows of bits end with a byte.
  void end_row() {
    if (bit_ != 0) ++at_;
    bit_ = 0;
  }

 private:
  std::optional<std::uint32_t> next_bit() {
    if (at_ >= file_.size()) return std::nullopt;
    const std::uint32_t bit = (file_[at_] >> (7 - bit_)) & 1U;
    if (++bit_ == 8) end_row();
    return bit;
  }
  std::optional<std::uint32_t> next_bytes() {
    const std::size_t bytes = map_.most > 255 ? 2 : 1;
    if (file_.size() - at_ < bytes) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | file_[at_++];
    return value;
  }

  Bytes file_;
  const PortableMap& map_;
  std::size_t at_;
  int bit_ = 0;
};

Result<bool> decode_pnm(Bytes file, Extent extent, std::uint8_t* pixels) {
  const auto m = read_pnm_header(file);
  if (!m) return false;
  PnmSamples samples(file, *m);
  for (std::int64_t y = 0; y < extent.height; ++y) {
    for (std::int64_t x = 0; x < extent.width; ++x, pixels += 3) {
      for (std::size_t k = 0; k < 3; ++k) {
        const bool is_first = k == 0 || m->samples() == 3;
        const auto sample = is_first ? samples.next() : std::optional(pixels[0]);
        if (!sample) return false;
        pixels[k] = *sample;
      }
    }
    samples.end_row();
  }
  return true;
}

}  // namespace

constexpr Format pnm = {is_pnm, extent_of_pnm, decode_pnm};

}  // namespace quern::pictures
