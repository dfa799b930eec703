// SPDX-License-Identifier: Apache-2.0
// Which copies between layouts are one dispatch.
#include <gtest/gtest.h>

#include "kernels/contract/kernel.h"
#include "kernels/gpu/copy.h"

namespace quern::gpu {
namespace {

TensorDesc rows(const Shape& shape) {
  return TensorDesc::row_major(DType::f32, shape);
}
bool is_one_dispatch(const TensorDesc& from, const TensorDesc& to) {
  const Selection s = select_gpu_copy(from, 0, to, GpuTarget{});
  return s && *s;
}

TEST(GpuCopy, IsBetweenStridesAlone) {
  const Shape shape = {2, 16, 3, 3};
  TensorDesc blocked = rows(shape);
  blocked.layout = Layout::channel_blocked(shape, 8);
  EXPECT_TRUE(is_one_dispatch(rows(shape), rows(shape)));
  EXPECT_FALSE(is_one_dispatch(blocked, rows(shape)));
  EXPECT_FALSE(is_one_dispatch(rows(shape), blocked));
  EXPECT_FALSE(is_one_dispatch(rows({2, 0, 3, 3}), rows({2, 0, 3, 3}))) << "there is nothing";
}

}  // namespace
}  // namespace quern::gpu
