// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/blocking.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include <gtest/gtest.h>

namespace quern {
namespace {

using Numbers = Blocking::Numbers;

std::vector<float> counting(std::size_t n) {
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), 1.0f);
  return v;
}

const std::byte* bytes_of(const std::vector<float>& v) {
  return std::as_bytes(std::span(v)).data();
}

Blocking row_major(std::int64_t rows, std::int64_t columns) {
  return {{rows, columns}, {columns, 1}, {}, {}};
}

// Rows by 16, columns by 64, a block's columns side by side: oneDNN's AB16a64b.
TEST(CopyBlocks, ATransposedMatrixIntoPaddedBlocks) {
  constexpr std::int64_t rows = 20;
  constexpr std::int64_t columns = 70;
  const std::vector<float> src = counting(rows * columns);
  const Blocking transposed{{rows, columns}, {1, rows}, {}, {}};
  const Blocking blocks{{32, 128}, {2 * 16 * 64, 16 * 64}, {16, 64}, {0, 1}};
  std::vector<float> dst(32 * 128, -1);
  copy_blocks({rows, columns}, transposed, bytes_of(src), blocks, dst.data());
  for (std::int64_t r = 0; r < 32; ++r)
    for (std::int64_t c = 0; c < 128; ++c) {
      const std::int64_t at = (r / 16 * 2 + c / 64) * 1024 + r % 16 * 64 + c % 64;
      const bool is_inside = r < rows && c < columns;
      EXPECT_EQ(dst[static_cast<std::size_t>(at)],
                is_inside ? src[static_cast<std::size_t>(c * rows + r)] : -1)
          << r << ", " << c;
    }
}

// Rows by 16 within columns by 4 within columns by 4: oneDNN's form for products of pairs.
TEST(CopyBlocks, AnAxisOfTwoBlocks) {
  constexpr std::int64_t rows = 16;
  constexpr std::int64_t columns = 16;
  const std::vector<float> src = counting(rows * columns);
  const Blocking blocks{{rows, columns}, {256, 256}, {4, 16, 4}, {1, 0, 1}};
  std::vector<float> dst(256, -1);
  copy_blocks({rows, columns}, row_major(rows, columns), bytes_of(src), blocks, dst.data());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      EXPECT_EQ(dst[static_cast<std::size_t>(c / 4 * 64 + r * 4 + c % 4)],
                src[static_cast<std::size_t>(r * columns + c)]);
}

TEST(CopyBlocks, BackIsTheSame) {
  const Numbers dims = {2, 5, 19, 3};
  const std::vector<float> src = counting(2 * 5 * 19 * 3);
  const Blocking plain{dims, {5 * 19 * 3, 19 * 3, 3, 1}, {}, {}};
  const Blocking blocks{{2, 8, 32, 3}, {8 * 32 * 3, 4 * 32 * 3, 4 * 16, 4 * 32}, {16, 4}, {2, 1}};
  std::vector<float> there(2 * 8 * 32 * 3, 0);
  std::vector<float> back(src.size(), -1);
  copy_blocks(dims, plain, bytes_of(src), blocks, there.data());
  EXPECT_EQ(std::ranges::count(there, 0.0f),
            static_cast<std::ptrdiff_t>(there.size() - src.size()));
  copy_blocks(dims, blocks, bytes_of(there), plain, back.data());
  EXPECT_EQ(back, src);
}

TEST(CopyBlocks, RoundsToBf16) {
  const std::vector<float> src = {1, 1.00390625F, 1.01171875F, -3.5F};
  std::vector<BFloat16> dst(4, BFloat16(0.0F));
  copy_blocks({2, 2}, row_major(2, 2), bytes_of(src), row_major(2, 2), dst.data());
  // Half way between two numbers of bf16: to the even one.
  EXPECT_EQ(static_cast<float>(dst[1]), 1.0F);
  EXPECT_EQ(static_cast<float>(dst[2]), 1.015625F);
  EXPECT_EQ(static_cast<float>(dst[3]), -3.5F);
}

// What UndefinedBehaviorSanitizer would see.
TEST(CopyBlocks, FromAnAddressOfNoFloat) {
  const std::vector<float> src = counting(7 * 5);
  std::vector<std::byte> bytes(sizeof(float) * src.size() + 4);
  auto* odd = bytes.data();
  while (reinterpret_cast<std::uintptr_t>(odd) % alignof(float) != 3) ++odd;
  std::memcpy(odd, src.data(), sizeof(float) * src.size());
  std::vector<float> dst(src.size(), -1);
  copy_blocks({7, 5}, row_major(7, 5), odd, row_major(7, 5), dst.data());
  EXPECT_EQ(dst, src);
}

}  // namespace
}  // namespace quern
