// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/arena_touches.h"

#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace quern::vulkan {
namespace {

TEST(ArenaTouches, AreThoseOfEachByte) {
  constexpr std::size_t size = 64;
  std::mt19937 random(7);
  ArenaTouches touches;
  std::vector<std::optional<std::size_t>> bytes(size);
  for (std::size_t step = 0; step < 3000; ++step) {
    const std::uint64_t offset = random() % size;
    const std::uint64_t count = random() % (size - offset + 1);
    std::optional<std::size_t> wanted;
    for (std::uint64_t i = offset; i < offset + count; ++i)
      if (bytes[i] && (!wanted || *bytes[i] > *wanted)) wanted = bytes[i];
    EXPECT_EQ(touches.last(offset, count), wanted) << "step " << step;
    if (random() % 2 == 0) continue;
    touches.touch(offset, count, step);
    for (std::uint64_t i = offset; i < offset + count; ++i) bytes[i] = step;
  }
}

}  // namespace
}  // namespace quern::vulkan
