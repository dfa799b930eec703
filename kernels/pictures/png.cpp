// SPDX-License-Identifier: Apache-2.0
// PNG by stb_image as Debian's shared library. Its readers of other formats are not reached: the
// file begins as PNG does. Transparency is dropped, 16 bits are cut to 8.
#include <algorithm>
#include <limits>

#include "kernels/pictures/format.h"

namespace quern::pictures {
namespace {

struct Stb {
  Library library{"PNG", "libstb0 or libstb0t64", {"libstb.so.0"}};
  // stb_image.h of 2.27; the file, its length, width, height, channels found and channels wanted.
  int (*info)(const std::uint8_t*, int, int*, int*, int*) = nullptr;
  std::uint8_t* (*load)(const std::uint8_t*, int, int*, int*, int*, int) = nullptr;
  void (*free)(void*) = nullptr;

  Stb() {
    library.find("stbi_info_from_memory", info);
    library.find("stbi_load_from_memory", load);
    library.find("stbi_image_free", free);
  }
};

const Stb& stb() {
  static const Stb opened;
  return opened;
}

bool is_png(Bytes file) {
  return begins_with(file, "\x89PNG\r\n\x1a\n");
}

bool fits(Bytes file) {
  return file.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
}

Result<std::optional<Extent>> extent_of_png(Bytes file) {
  QUERN_TRY(stb().library.check());
  int width = 0;
  int height = 0;
  int channels = 0;
  if (!fits(file) ||
      !stb().info(file.data(), static_cast<int>(file.size()), &width, &height, &channels))
    return std::optional<Extent>();
  return extent_from(width, height);
}

Result<bool> decode_png(Bytes file, Extent extent, std::uint8_t* pixels) {
  QUERN_TRY(stb().library.check());
  int width = 0;
  int height = 0;
  int channels = 0;
  std::uint8_t* const found =
      stb().load(file.data(), static_cast<int>(file.size()), &width, &height, &channels, 3);
  const bool is_right = found && Extent{height, width} == extent;
  if (is_right) std::copy_n(found, 3 * extent.pixels(), pixels);
  if (found) stb().free(found);
  return is_right;
}

}  // namespace

constexpr Format png = {is_png, extent_of_png, decode_png};

}  // namespace quern::pictures
