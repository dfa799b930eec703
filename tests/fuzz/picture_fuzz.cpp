// SPDX-License-Identifier: Apache-2.0
// Any bytes as a picture: an extent and as many pixels, or none. Large ones are left alone.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/pictures/picture.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quern;  // NOLINT
  const auto extent = pictures::extent_of({data, size});
  if (!extent || extent->is_empty() || extent->pixels() > 1 << 16) return 0;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(4 * extent->pixels()));
  const auto first = pictures::decode({data, size}, *extent, pixels.data());
  if (first && !*first) return 0;
  const std::vector<std::uint8_t> once = pixels;
  const auto second = pictures::decode({data, size}, *extent, pixels.data());
  if (!first || !second || !*second || pixels != once) {
    std::fprintf(stderr, "another answer the second time\n");
    std::abort();
  }
  return 0;
}
