// SPDX-License-Identifier: Apache-2.0
// Pictures in files.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

// The bytes of a file -> i64 [2]: height and width of the picture in it, by its header; zeros if it
// is none that can be decoded.
struct PictureExtent {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const PictureExtent&) const = default;
};

enum class PixelFormat : std::uint8_t { rgb, bgr, grey };
std::span<const std::string_view> enum_names(PixelFormat);
// (bytes of a file, its PictureExtent) -> u8 [height, width, channels], or [0, 0, channels] where
// the file turns out to be broken.
struct DecodePicture {
  PixelFormat format = PixelFormat::rgb;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("format", s.format);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const DecodePicture&) const = default;
};

inline std::int64_t channels_of(PixelFormat format) {
  return format == PixelFormat::grey ? 1 : 3;
}

using PicturesOps = OpList<PictureExtent, DecodePicture>;

}  // namespace quern
