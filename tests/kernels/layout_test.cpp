// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/layout.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(Layouts, AreDenseWithoutHolesAndOverlaps) {
  const Shape shape{2, 16, 3, 5};
  for (const Layout& layout :
       {Layout::row_major(shape), Layout::channels_last(shape), Layout::channel_blocked(shape, 8)})
    EXPECT_TRUE(is_dense({DType::f32, shape, layout})) << layout.text();
  EXPECT_TRUE(is_dense({DType::f32, {2, 1, 3}, {{3, 77, 1}, 0}})) << "strides of 1 do not count";
  EXPECT_TRUE(is_dense({DType::f32, {}, {}}));
  EXPECT_TRUE(is_dense({DType::f32, {2, 0}, {{7, 5}, 0}})) << "nothing has no holes";
  EXPECT_FALSE(is_dense({DType::f32, {2, 3}, {{4, 1}, 0}})) << "a hole";
  EXPECT_FALSE(is_dense({DType::f32, {2, 3}, {{0, 1}, 0}})) << "a broadcast";
  // As many bytes as elements: 2 * 2 * 3, and 9 + 2 + 1.
  EXPECT_FALSE(is_dense({DType::f32, {2, 2, 1, 3}, {{0, 9, 3, 1}, 0}})) << "both";
}

}  // namespace
}  // namespace quern
