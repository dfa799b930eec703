// SPDX-License-Identifier: Apache-2.0
#include "kernels/pictures/picture.h"

#include <array>
#include <cstdlib>

#include "engine/vocabulary/text_util.h"
#include "kernels/pictures/format.h"

namespace quern::pictures {
namespace {

constexpr std::array formats = {&bmp, &pnm, &png, &jpeg, &jpeg_2000, &tiff, &webp};

const Format* format_of(Bytes file) {
  for (const Format* f : formats)
    if (f->is_it(file)) return f;
  return nullptr;
}

bool is_switched_off() {
  const char* text = std::getenv("QUERN_PICTURES");
  return text && std::string_view(text) == "off";
}

}  // namespace

Library::Library(std::string_view format, std::string_view package,
                 std::initializer_list<const char*> names)
    : format_(format), package_(package) {
  if (is_switched_off())
    refuse(library_, "QUERN_PICTURES is off");
  else
    library_ = open_first(names, platform::Symbols::local);
}

void* Library::find(const char* symbol) {
  void* function = library_.find(symbol);
  if (!function && library_.handle) refuse(library_, cat("it has no ", symbol).c_str());
  return function;
}

Status Library::check() const {
  if (library_.handle) return {};
  return {Code::unsupported, cat(format_, " pictures want a library that is not there (Debian: ",
                                 package_, "): ", library_.why_not.data())};
}

void drop_fourth(std::uint8_t* pixels, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t k = 0; k < 3; ++k) pixels[3 * i + k] = pixels[4 * i + k];
}

Result<Extent> extent_of(Bytes file) {
  const Format* format = format_of(file);
  if (!format) return Extent();
  QUERN_ASSIGN(const std::optional<Extent> extent, format->extent(file));
  if (!extent) return Extent();
  if (extent->pixels() > most_pixels)
    return Status(Code::invalid_argument, cat("a picture of ", extent->width, " x ", extent->height,
                                              " pixels, at most 2^28 pixels are decoded"));
  return *extent;
}

Result<bool> decode(Bytes file, Extent extent, std::uint8_t* pixels) {
  QUERN_ASSIGN(const Extent found, extent_of(file));
  if (extent.is_empty() || !(found == extent)) return false;
  return format_of(file)->decode(file, extent, pixels);
}

}  // namespace quern::pictures
