// SPDX-License-Identifier: Apache-2.0
// BMP without compression (Microsoft's BITMAPINFOHEADER and its later forms, OS/2's core header):
// 1, 4 and 8 bits with a palette; 16, 24 and 32 bits, also by masks of any place and width.
#include <array>
#include <bit>
#include <cstdlib>

#include "kernels/pictures/format.h"

namespace quern::pictures {
namespace {

std::uint32_t little_endian(Bytes b, std::size_t at, int bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<std::uint32_t>(b[at + static_cast<std::size_t>(i)]) << (8 * i);
  return value;
}

struct BmpHeader {
  Extent extent;
  bool is_top_down = false;
  std::uint32_t bits = 0;
  std::uint32_t data = 0;                // where the rows begin
  std::uint32_t palette = 0;             // where it begins
  std::uint32_t palette_entry = 4;       // bytes
  std::uint32_t colours = 0;             // of the palette
  std::array<std::uint32_t, 3> masks{};  // of red, green and blue

  std::uint64_t row_bytes() const {
    return (static_cast<std::uint64_t>(extent.width) * bits + 31) / 32 * 4;
  }
};

bool is_bmp(Bytes file) {
  return begins_with(file, "BM");
}

constexpr std::uint32_t core_size = 12;
constexpr std::size_t info_at = 14;  // where the header of the picture begins

// The masks say which bits of a pixel are which colour. False: the picture is compressed.
bool read_masks(Bytes file, std::uint32_t header_size, BmpHeader& h) {
  const std::uint32_t compression =
      header_size == core_size ? 0 : little_endian(file, info_at + 16, 4);
  if (compression != 0 && compression != 3 && compression != 6) return false;
  if (h.bits == 16) h.masks = {0x7C00, 0x03E0, 0x001F};
  if (h.bits == 32) h.masks = {0xFF0000, 0x00FF00, 0x0000FF};
  if (compression == 0) return true;
  if ((h.bits != 16 && h.bits != 32) || file.size() < info_at + 52) return false;
  for (std::size_t i = 0; i < 3; ++i) h.masks[i] = little_endian(file, info_at + 40 + 4 * i, 4);
  return true;
}

bool read_palette(Bytes file, std::uint32_t header_size, BmpHeader& h) {
  if (h.bits > 8) return true;
  const bool is_core = header_size == core_size;
  const std::uint32_t used = is_core ? 0 : little_endian(file, info_at + 32, 4);
  const std::uint32_t most = 1U << h.bits;
  h.colours = used == 0 || used > most ? most : used;
  h.palette = static_cast<std::uint32_t>(info_at) + header_size;
  h.palette_entry = is_core ? 3 : 4;
  return file.size() >= h.palette + std::uint64_t{h.colours} * h.palette_entry;
}

std::optional<BmpHeader> read_bmp_header(Bytes file) {
  if (file.size() < info_at + core_size) return std::nullopt;
  BmpHeader h;
  h.data = little_endian(file, 10, 4);
  const std::uint32_t size = little_endian(file, info_at, 4);
  const bool is_core = size == core_size;
  if (!is_core && (size < 40 || size > 1024 || file.size() < info_at + size)) return std::nullopt;
  const auto number = [&](std::size_t at) {
    return is_core ? static_cast<std::int64_t>(little_endian(file, info_at + 4 + at / 2, 2))
                   : static_cast<std::int32_t>(little_endian(file, info_at + 4 + at, 4));
  };
  const std::int64_t height = number(4);
  h.is_top_down = height < 0;
  const auto extent = extent_from(number(0), std::abs(height));
  h.bits = little_endian(file, info_at + (is_core ? 10 : 14), 2);
  const bool is_known =
      h.bits == 1 || h.bits == 4 || h.bits == 8 || h.bits == 16 || h.bits == 24 || h.bits == 32;
  if (!extent || !is_known || !read_masks(file, size, h) || !read_palette(file, size, h))
    return std::nullopt;
  h.extent = *extent;
  return h;
}

Result<std::optional<Extent>> extent_of_bmp(Bytes file) {
  const auto h = read_bmp_header(file);
  return h ? std::optional(h->extent) : std::nullopt;
}

// The bits under a mask, as 8 of them.
std::uint8_t under(std::uint32_t mask, std::uint32_t value) {
  if (mask == 0) return 0;
  const std::uint64_t most = mask >> std::countr_zero(mask);
  const std::uint64_t v = (value & mask) >> std::countr_zero(mask);
  return static_cast<std::uint8_t>((v * 255 + most / 2) / most);
}

void read_bmp_row(Bytes file, const BmpHeader& h, Bytes row, std::uint8_t* to) {
  for (std::size_t x = 0; x < static_cast<std::size_t>(h.extent.width); ++x, to += 3) {
    if (h.bits <= 8) {
      const std::size_t bit = x * h.bits;
      const std::uint32_t colour = (row[bit / 8] >> (8 - h.bits - bit % 8)) & ((1U << h.bits) - 1);
      // A colour that the palette does not have is black.
      const std::size_t at = h.palette + std::size_t{colour} * h.palette_entry;
      for (std::size_t k = 0; k < 3; ++k) to[k] = colour < h.colours ? file[at + 2 - k] : 0;
    } else if (h.bits == 24) {
      for (std::size_t k = 0; k < 3; ++k) to[k] = row[3 * x + 2 - k];
    } else {
      const std::uint32_t value =
          little_endian(row, x * (h.bits / 8), static_cast<int>(h.bits / 8));
      for (std::size_t k = 0; k < 3; ++k) to[k] = under(h.masks[k], value);
    }
  }
}

Result<bool> decode_bmp(Bytes file, Extent extent, std::uint8_t* pixels) {
  const auto h = read_bmp_header(file);
  if (!h) return false;
  const auto rows = static_cast<std::uint64_t>(extent.height);
  const std::uint64_t bytes = h->row_bytes() * rows;
  if (h->data < info_at || h->data > file.size() || file.size() - h->data < bytes) return false;
  for (std::uint64_t y = 0; y < rows; ++y) {
    const std::uint64_t from = h->is_top_down ? y : rows - 1 - y;
    const Bytes row = file.subspan(h->data + from * h->row_bytes(), h->row_bytes());
    read_bmp_row(file, *h, row, pixels + 3 * y * static_cast<std::uint64_t>(extent.width));
  }
  return true;
}

}  // namespace

constexpr Format bmp = {is_bmp, extent_of_bmp, decode_bmp};

}  // namespace quern::pictures
