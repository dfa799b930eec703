// SPDX-License-Identifier: Apache-2.0
#include "examples/common/image.h"

#include <array>
#include <filesystem>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"

namespace examples {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;

constexpr Color white = {255, 255, 255};

int count(const Image& image, Color color) {
  int n = 0;
  for (const Color& c : image.pixels) n += c.r == color.r && c.g == color.g && c.b == color.b;
  return n;
}

TEST(Image, SavesAndLoadsTheSamePixels) {
  Image image(5, 3);
  image.at(4, 2) = {1, 2, 3};
  image.at(0, 1) = {200, 100, 0};
  const std::string path =
      (std::filesystem::temp_directory_path() / "quern_image_test.png").string();
  ASSERT_TRUE(save_png(path, image).ok());
  const auto loaded = load_image(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->width, 5);
  EXPECT_EQ(loaded->height, 3);
  EXPECT_EQ(loaded->at(4, 2).b, 3);
  EXPECT_EQ(loaded->at(0, 1).r, 200);
  EXPECT_EQ(count(*loaded, {}), 13);
}

TEST(Image, SaysWhyAFileCannotBeRead) {
  const auto missing = load_image("no/such/picture.png");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), quern::Code::not_found);
  EXPECT_CONTAINS(std::string(missing.error().message()), "no/such/picture.png");
  EXPECT_FALSE(save_png("no/such/folder/picture.png", Image(1, 1)).ok());
}

TEST(Image, ResizeKeepsAnEvenPictureEven) {
  const Image small = resize(Image(40, 30, {10, 20, 30}), 7, 9);
  EXPECT_EQ(small.width, 7);
  EXPECT_EQ(small.height, 9);
  EXPECT_EQ(count(small, {10, 20, 30}), 63);
}

TEST(Image, PadKeepsThePictureAtTheUpperLeft) {
  const Image padded = pad(Image(2, 2, white), 4, 3);
  EXPECT_EQ(count(padded, white), 4);
  EXPECT_EQ(padded.at(1, 1).r, 255);
  EXPECT_EQ(padded.at(2, 1).r, 0);
}

TEST(Image, CutTakesAnUprightRectangleAsItIs) {
  Image image(10, 10);
  image.at(4, 5) = white;
  const Image part = cut(image, {{{3, 4}, {7, 4}, {7, 7}, {3, 7}}});
  EXPECT_EQ(part.width, 4);
  EXPECT_EQ(part.height, 3);
  EXPECT_EQ(part.at(1, 1).r, 255);
  EXPECT_EQ(count(part, white), 1);
}

TEST(Image, CutTurnsARectangleThatStandsOnItsSide) {
  Image image(10, 10);
  image.at(6, 2) = white;  // upper right of the rectangle, where its first corner is
  const Image part = cut(image, {{{7, 2}, {7, 8}, {3, 8}, {3, 2}}});
  EXPECT_EQ(part.width, 6);
  EXPECT_EQ(part.height, 4);
  EXPECT_EQ(part.at(0, 0).r, 255);
}

TEST(Image, DrawsLinesAndLeavesOutWhatIsOutside) {
  Image image(20, 20);
  draw_line(image, {-50, 10}, {50, 10}, white, 2);
  EXPECT_EQ(count(image, white), 40);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  draw_line(image, {nan, 0}, {5, 5}, {9, 9, 9});
  draw_line(image, {0, 0}, {1e30F, 5}, {9, 9, 9});
  EXPECT_EQ(count(image, {9, 9, 9}), 0);
}

TEST(Image, DrawsLoopsAllTheWayRound) {
  Image image(20, 20);
  const std::array<Point, 4> square = {{{5, 5}, {15, 5}, {15, 15}, {5, 15}}};
  draw_loop(image, square, white, 2);
  for (const auto& [x, y] : {std::pair{10, 5}, {15, 10}, {10, 15}, {5, 10}}) {
    EXPECT_EQ(image.at(x, y).r, 255) << x << ' ' << y;
  }
  EXPECT_EQ(image.at(10, 10).r, 0);
}

TEST(ToTensor, PutsColorsInPlanes) {
  Image image(2, 1);
  image.at(0, 0) = {255, 0, 0};
  image.at(1, 0) = {0, 0, 51};
  const auto rgb = to_tensor(image, {});
  ASSERT_TRUE(rgb);
  EXPECT_EQ(rgb->shape(), quern::Shape({1, 3, 1, 2}));
  EXPECT_THAT(rgb->span<float>(), ElementsAre(1, 0, 0, 0, 0, FloatNear(.2F, 1e-6F)));
}

TEST(ToTensor, SwapsAndNormalises) {
  const auto bgr = to_tensor(Image(1, 1, {10, 20, 30}), {.order = PixelFormat::Order::bgr,
                                                         .layout = PixelFormat::Layout::nhwc,
                                                         .mean = {28, 18, 8},
                                                         .deviation = {2, 2, 2}});
  ASSERT_TRUE(bgr);
  EXPECT_EQ(bgr->shape(), quern::Shape({1, 1, 1, 3}));
  EXPECT_THAT(bgr->span<float>(), Each(1));
}

}  // namespace
}  // namespace examples
