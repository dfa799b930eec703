// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/copy.h"

#include <cstdint>
#include <dlfcn.h>
#include <vector>

#include <gtest/gtest.h>

#include "graph/ops/conv.h"
#include "tests/kernels/kernel_test.h"

namespace quern {
namespace {

Layout channels_last(const Shape& s) {
  Layout l = Layout::row_major(s);
  std::int64_t step = s[1];
  for (std::size_t d = s.rank(); d-- > 2;) {
    l.strides[d] = step;
    step *= s[d];
  }
  l.strides[1] = 1;
  return l;
}

// Where element (n, c, h, w) lies.
std::int64_t place(const Layout& l, const Shape& at) {
  const std::int64_t block = l.block ? l.block : 1;
  return at[0] * l.strides[0] + at[1] / block * l.strides[1] + at[1] % block +
         at[2] * l.strides[2] + at[3] * l.strides[3];
}

std::vector<std::int64_t> places(const Shape& s, const Layout& l) {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 0; n < s[0]; ++n)
    for (std::int64_t c = 0; c < s[1]; ++c)
      for (std::int64_t h = 0; h < s[2]; ++h)
        for (std::int64_t w = 0; w < s[3]; ++w) all.push_back(place(l, {n, c, h, w}));
  return all;
}

// The padding of the last block must be 0 after a copy, whatever it is in the source.
void expect_copies(const Shape& shape, const std::vector<Layout>& layouts) {
  for (const Layout& from : layouts)
    for (const Layout& to : layouts) {
      const std::vector<std::int64_t> source = places(shape, from);
      const std::vector<std::int64_t> target = places(shape, to);
      const TensorDesc before{DType::f32, shape, from};
      const TensorDesc after{DType::f32, shape, to};
      std::vector<float> src(before.bytes() / sizeof(float), -2);
      std::vector<float> dst(after.bytes() / sizeof(float), -1);
      std::vector<float> want(dst.size(), 0);
      for (std::size_t i = 0; i < source.size(); ++i)
        src[static_cast<std::size_t>(source[i])] = static_cast<float>(i);
      for (std::size_t i = 0; i < target.size(); ++i)
        want[static_cast<std::size_t>(target[i])] = static_cast<float>(i);
      copy_elements(before, reinterpret_cast<const std::byte*>(src.data()), after,
                    reinterpret_cast<std::byte*>(dst.data()));
      ASSERT_EQ(dst, want) << shape.text() << ", " << from.text() << " to " << to.text();
    }
}

// Every pair of layouts that kernels ask for, both ways: a block of 8 into one of 16 as
// well, and channels that fill the last block in part.
TEST(CopyElements, BetweenAllLayouts) {
  for (const std::int64_t channels : {32, 1, 3, 8, 15, 17, 23, 24, 25, 40, 44}) {
    const Shape shape = {2, channels, 3, 5};
    expect_copies(
        shape, {Layout::row_major(shape), channels_last(shape), Layout::channel_blocked(shape, 4),
                Layout::channel_blocked(shape, 8), Layout::channel_blocked(shape, 16)});
  }
}

TEST(CopyElements, PlanesOfAPicture) {
  for (const std::int64_t planes : {1, 2, 3, 4, 5}) {
    const Shape shape = {2, planes, 7, 9};
    expect_copies(shape, {Layout::row_major(shape), channels_last(shape)});
  }
}

// Blocks that are filled in part are left to oneDNN.
// With small cuts, lines are copied in pieces of 64, the last of which is thinner than a tile.
TEST(CopyElements, LinesWhoseLastPieceIsThin) {
  for (const std::int64_t width : {65, 66, 67, 131})
    for (const std::int64_t height : {1, 3}) {
      const Shape shape = {2, 9, height, width};
      expect_copies(shape, {Layout::row_major(shape), channels_last(shape),
                            Layout::permuted(shape, std::vector<std::int64_t>{3, 0, 2, 1})});
    }
}

TEST(SelectCopy, OfPartsOfBlocksIsOneDnns) {
  const Shape shape = {2, 17, 3, 5};
  const TensorDesc rows{DType::f32, shape, Layout::row_major(shape)};
  const TensorDesc blocks{DType::f32, shape, Layout::channel_blocked(shape, 16)};
  const auto is_onednns = [&](const TensorDesc& from, const TensorDesc& to) {
    return select_copy(from, to, {}).value().implementation.starts_with("onednn");
  };
  const bool into_blocks = is_onednns(rows, blocks), out_of_blocks = is_onednns(blocks, rows);
  // Of the second generation; the third loses parts of blocks (kernels/onednn/trust.cpp).
  void* const second = ::dlopen("libdnnl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  const bool has_it = testing::implementation_of(Conv::def(), "onednn") && second;
  EXPECT_EQ(into_blocks, has_it);
  EXPECT_EQ(out_of_blocks, has_it);
  if (second) ::dlclose(second);
  EXPECT_EQ(select_copy(rows, rows, {}).value().implementation, "copy");
}

}  // namespace
}  // namespace quern
