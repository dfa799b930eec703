// SPDX-License-Identifier: Apache-2.0
#include "tools/image.h"

#include <numeric>

#include <gtest/gtest.h>

namespace quern::tools {
namespace {

// value(x, y, c) = 10 y + x + 100 c
Image ramp(int width, int height, int channels) {
  Image image{width, height, channels, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        image.pixels.push_back(static_cast<float>(10 * y + x + 100 * c));
  return image;
}

TEST(ResizeMiddle, SameSizeIsTheSamePicture) {
  const Image image = ramp(5, 4, 3);
  EXPECT_EQ(resize_middle(image, 5, 4, 1).pixels, image.pixels);
}

TEST(ResizeMiddle, ShrinkingKeepsASlope) {
  // Away from the borders a symmetric filter does not change what is linear; results are whole
  // numbers.
  const Image half = resize_middle(ramp(16, 16, 1), 8, 8, 1);
  EXPECT_NEAR(half.at(4, 4, 0), 10 * 8.5 + 8.5, 0.51);
  EXPECT_NEAR(half.at(3, 4, 0), 10 * 8.5 + 6.5, 0.51);
}

TEST(ResizeMiddle, GrowingIsBilinear) {
  const Image twice = resize_middle(ramp(4, 4, 1), 8, 8, 1);
  // Sample 3 lies at 1.75 - 0.5 = 1.25 in pixel centres.
  EXPECT_NEAR(twice.at(3, 3, 0), 10 * 1.25 + 1.25, 0.51);
  EXPECT_EQ(twice.at(0, 0, 0), 0) << "the border repeats";
}

TEST(ResizeMiddle, KeepsProportionsAndTheMiddle) {
  const Image wide = resize_middle(ramp(20, 4, 1), 4, 4, 1);
  EXPECT_EQ(wide.at(0, 0, 0), 8);  // columns 8..11
  EXPECT_EQ(wide.at(3, 3, 0), 30 + 11);
  const Image tall = resize_middle(ramp(4, 20, 1), 4, 4, 1);
  EXPECT_EQ(tall.at(0, 0, 0), 80);
  const Image cropped = resize_middle(ramp(8, 8, 1), 4, 4, 0.5);
  EXPECT_EQ(cropped.at(0, 0, 0), 20 + 2);
}

TEST(ResizeMiddle, ShrinkingKeepsTheMean) {
  Image stripes{256, 256, 1, {}};
  for (int i = 0; i < 256 * 256; ++i) stripes.pixels.push_back(i % 2 ? 255.0F : 0.0F);
  const Image small = resize_middle(stripes, 31, 31, 1);
  for (int x = 2; x < 29; ++x) EXPECT_NEAR(small.at(x, 15, 0), 127.5, 2) << "aliasing";
}

TEST(ImageLayout, IsReadOffTheDimensions) {
  const auto layout = [](std::vector<std::int64_t> dims) { return image_layout("x", dims); };
  const auto first = layout({1, 3, 224, 224});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->channel_axis, 1U);
  EXPECT_EQ(first->height_axis, 2U);
  const auto last = layout({-1, 320, 320, 4});
  ASSERT_TRUE(last);
  EXPECT_EQ(last->channel_axis, 3U);
  EXPECT_EQ(last->channels, 4);
  const auto gray = layout({1, 1, 28, 28});
  ASSERT_TRUE(gray);
  EXPECT_EQ(gray->channels, 1);
  const auto free = layout({-1, -1, -1, -1});
  ASSERT_TRUE(free);
  EXPECT_EQ(free->channel_axis, 1U);
  const auto plane = layout({28, 28});
  ASSERT_TRUE(plane);
  EXPECT_FALSE(plane->channel_axis);
  EXPECT_FALSE(layout({1, 2048}).value().channel_axis) << "a plane";
  EXPECT_FALSE(layout({1, 16, 64, 64}));
  EXPECT_FALSE(layout({1}));
}

TEST(ImageTensor, OrdersScalesAndNormalises) {
  const Image image = ramp(2, 2, 3);
  ImageOptions options;
  options.bgr = true;
  options.range = {0, 255};
  options.mean = {1, 2, 3};
  options.std = {2};
  const auto t = image_tensor(image, {DType::f32, {2, 3, 2, 2}}, {2, 3, 1, 3}, options);
  ASSERT_TRUE(t) << t.error().message();
  const auto v = t->span<float>();
  EXPECT_NEAR(v[0], (200 - 1) / 2.0, 1e-4) << "channel 0 is blue";
  EXPECT_NEAR(v[4 + 3], (100 + 11 - 2) / 2.0, 1e-4);
  EXPECT_NEAR(v[8], (0 - 3) / 2.0, 1e-4);
  EXPECT_EQ(v[0], v[12]) << "every element of the batch is the picture";
}

TEST(ImageTensor, DefaultsFollowTheElementType) {
  Image white{1, 1, 3, {255, 255, 0}};
  const auto f = image_tensor(white, {DType::f16, {1, 1, 1, 3}}, {1, 2, 3, 3}, {});
  ASSERT_TRUE(f);
  EXPECT_EQ(f->span<std::uint16_t>()[0], 0x3c00);
  const auto u = image_tensor(white, {DType::u8, {1, 1, 1, 3}}, {1, 2, 3, 3}, {});
  ASSERT_TRUE(u);
  EXPECT_EQ(u->span<std::uint8_t>()[1], 255);
  ImageOptions wide;
  wide.range = {-200, 1000};
  const auto i = image_tensor(white, {DType::i8, {1, 1, 1, 3}}, {1, 2, 3, 3}, wide);
  ASSERT_TRUE(i);
  EXPECT_EQ(i->span<std::int8_t>()[0], 127) << "saturates";
  EXPECT_EQ(i->span<std::int8_t>()[2], -128);
  EXPECT_FALSE(image_tensor(white, {DType::string, {1, 1, 1, 3}}, {1, 2, 3, 3}, {}));
}

TEST(ImageOptions, ParseAndRefuse) {
  const auto good = parse_image_options({"bgr", "-1..1", "0.5", "0.485,0.456,0.406", "1"});
  ASSERT_TRUE(good) << good.error().message();
  EXPECT_EQ(good->bgr, true);
  EXPECT_EQ((*good->range)[0], -1);
  EXPECT_EQ(good->mean.size(), 3U);
  for (const ImageTexts& bad : std::vector<ImageTexts>{{.order = "grb"},
                                                       {.range = "0-1"},
                                                       {.range = "1..0"},
                                                       {.crop = "0"},
                                                       {.crop = "2"},
                                                       {.mean = "a,b,c"},
                                                       {.std = "0"},
                                                       {.mean = "1,2,3,4,5"}})
    EXPECT_FALSE(parse_image_options(bad));
}

TEST(ImageOptions, FlagsWinOverMetadata) {
  ModelMetadata metadata;
  metadata.properties = {{"quern.input.order", "bgr"}, {"quern.input.range", "0..255"}};
  const ImageTexts texts = with_metadata({.order = "rgb"}, metadata);
  EXPECT_EQ(texts.order, "rgb");
  EXPECT_EQ(texts.range, "0..255");
}

// The start of a PNG of 11000 x 11000.
std::string huge_png() {
  const std::string side("\0\0\x2a\xf8", 4);
  return std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) + side + side +
         std::string("\x08\2\0\0\0crc_", 9);
}

TEST(DecodeImage, ReadsWhatOthersWrote) {
  // 1 x 1, red, as zlib's level 0 writes it.
  const std::string png(
      "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01"
      "\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90\x77\x53\xde\x00\x00\x00\x0f\x49\x44\x41"
      "\x54\x78\x01\x01\x04\x00\xfb\xff\x00\xff\x00\x00\x03\x01\x01\x00\x8d\x1d\xe5\x82"
      "\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82",
      72);
  const auto image = decode_image(std::as_bytes(std::span(png)), 3);
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(image->width, 1);
  EXPECT_EQ(image->at(0, 0, 0), 255);
  EXPECT_EQ(image->at(0, 0, 1), 0);
}

TEST(DecodeImage, RefusesHugeAndBroken) {
  const std::string huge = huge_png();
  const auto image = decode_image(std::as_bytes(std::span(huge)), 3);
  ASSERT_FALSE(image);  // by our limit, or by stb's own, which changed over its releases
  EXPECT_FALSE(image.error().message().empty());
  EXPECT_FALSE(decode_image(std::as_bytes(std::span(huge).first(20)), 3));
  EXPECT_FALSE(decode_image({}, 3));
}

}  // namespace
}  // namespace quern::tools
