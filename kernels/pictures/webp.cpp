// SPDX-License-Identifier: Apache-2.0
// WebP, still pictures, by libwebp. Transparency is dropped.
#include "kernels/pictures/format.h"

namespace quern::pictures {
namespace {

// webp/decode.h.
struct Webp {
  Library library{"WebP", "libwebp7", {"libwebp.so.7"}};
  int (*info)(const std::uint8_t*, std::size_t, int*, int*) = nullptr;
  std::uint8_t* (*decode)(const std::uint8_t*, std::size_t, std::uint8_t*, std::size_t,
                          int) = nullptr;

  Webp() {
    library.find("WebPGetInfo", info);
    library.find("WebPDecodeRGBInto", decode);
  }
};

const Webp& webp_functions() {
  static const Webp opened;
  return opened;
}

bool is_webp(Bytes file) {
  return begins_with(file, "RIFF") && begins_with(file, "WEBP", 8);
}

Result<std::optional<Extent>> extent_of_webp(Bytes file) {
  QUERN_TRY(webp_functions().library.check());
  int width = 0;
  int height = 0;
  if (!webp_functions().info(file.data(), file.size(), &width, &height))
    return std::optional<Extent>();
  return extent_from(width, height);
}

Result<bool> decode_webp(Bytes file, Extent extent, std::uint8_t* pixels) {
  QUERN_TRY(webp_functions().library.check());
  const auto bytes = static_cast<std::size_t>(3 * extent.pixels());
  return webp_functions().decode(file.data(), file.size(), pixels, bytes,
                                 static_cast<int>(3 * extent.width)) != nullptr;
}

}  // namespace

constexpr Format webp = {is_webp, extent_of_webp, decode_webp};

}  // namespace quern::pictures
