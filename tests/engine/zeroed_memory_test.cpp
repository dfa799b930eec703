// SPDX-License-Identifier: Apache-2.0
// Blocks of zeros, small ones of the heap and large ones mapped, with room for huge pages.
#include "engine/vocabulary/zeroed_memory.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace quern::testing {
namespace {

constexpr std::size_t mega = 1 << 20;

bool is_zero(const std::byte* p, std::size_t bytes) {
  return std::all_of(p, p + bytes, [](std::byte b) { return b == std::byte{}; });
}

TEST(ZeroedMemory, IsZeroAlignedAndTheCallers) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{64}, mega - 65, mega - 1, mega, mega + 1,
        2 * mega - 4096, 2 * mega - 1, 2 * mega, 2 * mega + 1, 5 * mega + 12345}) {
    SCOPED_TRACE(bytes);
    // The second may lie where the first was.
    for (int i = 0; i < 2; ++i) {
      const auto memory = zeroed_memory(bytes);
      ASSERT_TRUE(memory);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 64, 0U);
      EXPECT_TRUE(is_zero(memory.get(), bytes));
      std::fill_n(memory.get(), bytes, std::byte{0xff});
    }
  }
}

TEST(ZeroedMemory, ManyBlocksDoNotOverlap) {
  std::vector<std::shared_ptr<std::byte>> blocks;
  for (std::size_t i = 0; i < 40; ++i) {
    const std::size_t bytes = mega / 2 + i * 131'072;
    blocks.push_back(zeroed_memory(bytes));
    ASSERT_TRUE(blocks.back());
    ASSERT_TRUE(is_zero(blocks.back().get(), bytes)) << i;
    std::fill_n(blocks.back().get(), bytes, std::byte{1});
    if (i % 3 == 2) blocks[i - 1].reset();
  }
}

TEST(ZeroedMemory, IsNullForWhatNobodyHas) {
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX - 4096, SIZE_MAX - 2 * mega,
                                  SIZE_MAX - 4 * mega - 1, SIZE_MAX / 2})
    EXPECT_FALSE(zeroed_memory(bytes)) << bytes;
}

}  // namespace
}  // namespace quern::testing
