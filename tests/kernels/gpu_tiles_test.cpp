// SPDX-License-Identifier: Apache-2.0
// Which tiles a product is cut into, for devices that are none.
#include <gtest/gtest.h>

#include "kernels/gpu/tiles.h"

namespace quern::gpu {
namespace {

GpuTarget large_gpu() {
  GpuTarget t;
  t.software = false;
  t.subgroup_size = 32;
  t.shared_bytes = 48 << 10;
  t.units = 132;
  t.max_iterations = 0;
  return t;
}

// Rows and columns of what a workgroup of product_tiled.comp makes.
std::array<std::uint32_t, 2> tile_of(const Dispatch& d) {
  return {d.constants[0] / d.constants[1] * d.constants[2], d.constants[1] * d.constants[3] * 4};
}

TEST(GpuTiles, LargeProductsHaveLargeTilesAndSmallOnesMany) {
  const Tiling large = tiles_of({.rows = 4096, .columns = 4096, .depth = 4096}, large_gpu());
  ASSERT_FALSE(large.candidates.empty());
  EXPECT_EQ(tile_of(large.candidates[0]), (std::array{128U, 128U}));
  const Tiling middle = tiles_of({.rows = 512, .columns = 512, .depth = 4096}, large_gpu());
  ASSERT_FALSE(middle.candidates.empty());
  const auto tile = tile_of(middle.candidates[0]);
  EXPECT_LT(tile[0] * tile[1], 128U * 128U) << "sixteen workgroups for 132 units";
  const Tiling few = tiles_of({.rows = 3136, .columns = 24, .depth = 144}, large_gpu());
  ASSERT_FALSE(few.candidates.empty());
  EXPECT_EQ(tile_of(few.candidates[0])[1], 32U) << "no more columns than there are";
}

TEST(GpuTiles, AreNotForNarrowProductsNorForSoftware) {
  EXPECT_FALSE(tiles_of({.rows = 64, .columns = 64, .depth = 64}, large_gpu()).candidates.empty());
  EXPECT_TRUE(
      tiles_of({.rows = 1, .columns = 4096, .depth = 4096}, large_gpu()).candidates.empty());
  EXPECT_TRUE(tiles_of({.rows = 4096, .columns = 1, .depth = 64}, large_gpu()).candidates.empty());
  GpuTarget software = large_gpu();
  software.software = true;
  EXPECT_TRUE(tiles_of({.rows = 512, .columns = 512, .depth = 512}, software).candidates.empty());
}

TEST(GpuTiles, SplitLongSumsWhereTilesAreFew) {
  ProductSize size{.rows = 196, .columns = 256, .depth = 2304};
  const Tiling whole = tiles_of(size, large_gpu());
  EXPECT_EQ(whole.parts, 1U) << "there is no room for parts";
  size.may_split = true;
  const Tiling split = tiles_of(size, large_gpu());
  ASSERT_FALSE(split.candidates.empty());
  EXPECT_GT(split.parts, 1U);
  EXPECT_LE(split.parts * 64, 2304U) << "parts are worth their sum";
  for (const Dispatch& d : split.candidates) {
    EXPECT_EQ(d.groups[2], split.parts) << "all candidates, or bytes would differ";
    EXPECT_TRUE(is_tiled(d));
  }
  size.batch = 30'000;
  size.rows = size.columns = 8;
  GpuTarget huge = large_gpu();
  huge.units = 1'000'000;
  EXPECT_EQ(tiles_of(size, huge).parts, 1U) << "the grid would be too large";
  size.rows = size.columns = 256;
  size.batch = 1;
  size.depth = 127;
  EXPECT_EQ(tiles_of(size, large_gpu()).parts, 1U) << "half of it is too little";
  size = {.rows = 4096, .columns = 4096, .depth = 4096, .may_split = true};
  EXPECT_EQ(tiles_of(size, large_gpu()).parts, 1U);
}

TEST(GpuTiles, CoverTheProductWithinTheLimits) {
  for (const std::uint32_t shared : {8U << 10, 16U << 10, 48U << 10})
    for (const std::uint32_t invocations : {64U, 128U, 1024U})
      for (const std::int64_t rows : {8, 33, 200, 70'000}) {
        GpuTarget target = large_gpu();
        target.shared_bytes = shared;
        target.max_invocations = invocations;
        const ProductSize size{.rows = rows, .columns = 130, .depth = 50, .batch = 3};
        const Tiling tiling = tiles_of(size, target);
        ASSERT_FALSE(tiling.candidates.empty());
        for (const Dispatch& d : tiling.candidates) {
          const auto tile = tile_of(d);
          EXPECT_GE(std::int64_t{d.groups[0]} * tile[1], size.columns);
          EXPECT_GE(std::int64_t{d.groups[1]} * tile[0], size.rows);
          EXPECT_LT(std::int64_t{d.groups[1]} * tile[0] - size.rows, tile[0]);
          EXPECT_EQ(d.groups[2], 3U);
          EXPECT_LE(d.constants[0], invocations);
          EXPECT_LE(16 * (tile[0] + 4 + tile[1]) * sizeof(float), shared);
        }
      }
}

TEST(GpuTiles, AreOfMatricesWhereOperandsMayBeRounded) {
  ProductSize size{.rows = 2048, .columns = 2048, .depth = 512, .may_round = true};
  GpuTarget target = large_gpu();
  EXPECT_TRUE(matrix_tiles_of(size, target).candidates.empty()) << "the device has none";
  for (const MatrixUnit unit : {MatrixUnit{16, 16, 16}, MatrixUnit{16, 8, 8}, MatrixUnit{8, 8, 16}})
    for (const std::uint32_t subgroup : {8U, 16U, 32U, 64U}) {
      target.matrices = unit;
      target.subgroup_size = subgroup;
      const Tiling tiling = matrix_tiles_of(size, target);
      ASSERT_FALSE(tiling.candidates.empty());
      for (const Dispatch& d : tiling.candidates) {
        EXPECT_EQ(d.shader, "matmul_cooperative");
        EXPECT_EQ(d.subgroup, subgroup);
        const std::uint32_t subgroups = d.constants[0] / subgroup;
        EXPECT_EQ(d.constants[0] % subgroup, 0U);
        EXPECT_EQ(subgroups / d.constants[1] * d.constants[2] * unit.m * d.groups[1], size.rows);
        EXPECT_EQ(d.constants[1] * d.constants[3] * unit.n * d.groups[0], size.columns);
        EXPECT_EQ(d.constants[4] % unit.k, 0U);
      }
    }
  target.matrices = {24, 16, 16};
  EXPECT_TRUE(matrix_tiles_of(size, target).candidates.empty()) << "no tile is made of these";
  target.matrices = {16, 16, 16};
  size.rows = 7;
  EXPECT_TRUE(matrix_tiles_of(size, target).candidates.empty()) << "most of a tile would be empty";
  size.rows = 2048;
  size.may_round = false;
  EXPECT_TRUE(matrix_tiles_of(size, target).candidates.empty());
}

}  // namespace
}  // namespace quern::gpu
