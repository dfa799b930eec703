// SPDX-License-Identifier: Apache-2.0
// The one place that knows stb_image. Its decoders have a history of flaws: this is a tool for the
// user's own pictures, with limits, and no part of the library.
#include "engine/vocabulary/text_util.h"
#include "tools/image.h"
#include "tools/json.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#define STBI_MAX_DIMENSIONS 65536
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace quern::tools {
namespace {

constexpr std::int64_t max_pixels = 100'000'000;
constexpr std::size_t max_image_bytes = std::size_t{1} << 29;

Status no_image(std::string_view why) {
  return {Code::invalid_argument, cat("not a readable image: ", why)};
}

struct FreePixels {
  void operator()(stbi_uc* p) const { stbi_image_free(p); }
};

}  // namespace

Result<Image> decode_image(std::span<const std::byte> bytes, int channels) {
  if (bytes.size() > max_image_bytes) return no_image("the file is too large");
  const auto* data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const int size = static_cast<int>(bytes.size());
  int width = 0;
  int height = 0;
  int found = 0;
  if (!stbi_info_from_memory(data, size, &width, &height, &found))
    return no_image(cat(stbi_failure_reason(), " (PNG and JPEG are understood)"));
  if (std::int64_t{width} * height > max_pixels)
    return no_image(cat(width, " x ", height, " is more than 100 million pixels"));
  const std::unique_ptr<stbi_uc, FreePixels> pixels(
      stbi_load_from_memory(data, size, &width, &height, &found, channels));
  if (!pixels) return no_image(stbi_failure_reason());
  const auto count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height) *
                     static_cast<std::size_t>(channels);
  return Image{width, height, channels, {pixels.get(), pixels.get() + count}};
}

Result<Image> read_image(const std::string& path, int channels) {
  QUERN_ASSIGN(const std::string content, read_file(path, max_image_bytes));
  auto image = decode_image(std::as_bytes(std::span(content)), channels);
  if (!image) return std::move(image).error().in(printable(path));
  return image;
}

}  // namespace quern::tools
