// SPDX-License-Identifier: Apache-2.0
// Pictures in files: BMP, PNM, PNG, JPEG, JPEG 2000, TIFF and WebP as pixels of 8 bits. The first
// two are read here; the others by libraries of the system, which are opened when the first such
// picture is met. QUERN_PICTURES=off in the environment opens none.
#pragma once

#include <cstdint>
#include <span>

#include <quern/status.h>

namespace quern::pictures {

using Bytes = std::span<const std::uint8_t>;

struct Extent {
  std::int64_t height = 0;
  std::int64_t width = 0;

  bool is_empty() const { return height == 0 || width == 0; }
  std::int64_t pixels() const { return height * width; }
  bool operator==(const Extent&) const = default;
};

inline constexpr std::int64_t most_pixels = std::int64_t{1} << 28;

// Reads the extent of the picture in a file from its header; it is empty if there is none that can
// be decoded. Errors: unsupported (the library of its format is not there), invalid_argument (more
// than most_pixels).
Result<Extent> extent_of(Bytes file);

// Decodes a picture whose extent is `extent`, as extent_of() gave it. `pixels` has room for 4 bytes
// a pixel and holds RGB, row by row, afterwards. False: the file is broken. Errors: as above.
Result<bool> decode(Bytes file, Extent extent, std::uint8_t* pixels);

}  // namespace quern::pictures
