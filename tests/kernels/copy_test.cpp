// SPDX-License-Identifier: Apache-2.0
#include "kernels/copy.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

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

void expect_copies(const Shape& shape, const std::vector<Layout>& layouts) {
  for (const Layout& from : layouts)
    for (const Layout& to : layouts) {
      const std::vector<std::int64_t> source = places(shape, from);
      const std::vector<std::int64_t> target = places(shape, to);
      const auto room = [&](const Layout& l) {
        return TensorDesc{DType::f32, shape, l}.bytes() / sizeof(float);
      };
      std::vector<float> src(room(from));
      std::vector<float> dst(room(to), -1);
      for (std::size_t i = 0; i < source.size(); ++i)
        src[static_cast<std::size_t>(source[i])] = static_cast<float>(i);
      copy_elements({DType::f32, shape, from}, reinterpret_cast<const std::byte*>(src.data()),
                    {DType::f32, shape, to}, reinterpret_cast<std::byte*>(dst.data()));
      for (std::size_t i = 0; i < target.size(); ++i)
        ASSERT_EQ(dst[static_cast<std::size_t>(target[i])], static_cast<float>(i))
            << shape.text() << ", " << from.text() << " to " << to.text();
      ASSERT_EQ(std::ranges::count(dst, -1.0F), 0) << "padding is not cleared";
    }
}

// Every pair of layouts that kernels ask for, both ways: a block of 8 into one of 16 as well.
TEST(CopyElements, BetweenAllLayouts) {
  const Shape shape = {2, 32, 3, 5};
  expect_copies(shape, {Layout::row_major(shape), channels_last(shape),
                        Layout::channel_blocked(shape, 8), Layout::channel_blocked(shape, 16)});
}

// As constants of full shape behind a convolution are brought to its layout.
TEST(CopyElements, OfChannelsThatBlocksDoNotDivide) {
  for (const std::int64_t channels : {1, 5, 7, 8, 9, 15, 17, 24, 25, 31, 40}) {
    const Shape shape = {2, channels, 3, 5};
    expect_copies(shape, {Layout::row_major(shape), channels_last(shape),
                          Layout::channel_blocked(shape, 8), Layout::channel_blocked(shape, 16)});
  }
}

TEST(CopyElements, PlanesOfAPicture) {
  for (const std::int64_t planes : {1, 2, 3, 4, 5}) {
    const Shape shape = {2, planes, 7, 9};
    expect_copies(shape, {Layout::row_major(shape), channels_last(shape)});
  }
}

}  // namespace
}  // namespace quern
