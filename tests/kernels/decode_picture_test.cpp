// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "graph/ops/pictures.h"
#include "kernels/pictures/picture.h"
#include "tests/expect.h"
#include "tests/kernels/spatial_test.h"

namespace quern::testing {
namespace {

using pictures::Extent;
using ::testing::ElementsAre;
using Pixels = std::vector<std::uint8_t>;

// The squares of ONNX's cases of ImageDecoder, as Pillow wrote them to files and read them.
Pixels read_file(const std::string& name) {
  std::ifstream file(QUERN_SOURCE_DIR "/tests/kernels/pictures/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Pixels bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

// None where the file is broken.
std::optional<Pixels> decoded(const Pixels& file, Extent* extent = nullptr) {
  const auto found = pictures::extent_of(file);
  if (!found || found->is_empty()) return std::nullopt;
  if (extent) *extent = *found;
  Pixels pixels(static_cast<std::size_t>(4 * found->pixels()));
  const auto done = pictures::decode(file, *found, pixels.data());
  EXPECT_TRUE(done) << done.error().message();
  if (!done || !*done) return std::nullopt;
  pixels.resize(static_cast<std::size_t>(3 * found->pixels()));
  return pixels;
}

struct PictureFile {
  std::string file, pixels, package;
};
const PictureFile squares[] = {{"squares.bmp", "squares.rgb", ""},
                               {"squares.ppm", "squares.rgb", ""},
                               {"squares.png", "squares.rgb", "libstb0 or libstb0t64"},
                               {"squares.jpg", "squares.jpg.rgb", "libturbojpeg0"},
                               {"squares.jp2", "squares.rgb", "libopenjp2-7"},
                               {"squares.tif", "squares.rgb", "libtiff6"},
                               {"squares.webp", "squares.webp.rgb", "libwebp7"}};

bool is_switched_off() {
  const char* text = std::getenv("QUERN_PICTURES");
  return text && std::string_view(text) == "off";
}

TEST(Pictures, OfEveryFormatAsPillowReadsThem) {
  for (const PictureFile& row : squares) {
    const Pixels file = read_file(row.file);
    ASSERT_FALSE(file.empty()) << row.file;
    const auto extent = pictures::extent_of(file);
    if (!extent) {  // a machine without the library
      EXPECT_EQ(extent.error().code(), Code::unsupported);
      EXPECT_CONTAINS(extent.error().message(), "(Debian: " + row.package + ")");
      std::cout << "left out: " << extent.error().message() << "\n";
      continue;
    }
    EXPECT_EQ(*extent, (Extent{32, 32}));
    const auto pixels = decoded(file);
    ASSERT_TRUE(pixels) << row.file;
    EXPECT_EQ(*pixels, read_file(row.pixels)) << row.file;
  }
}

TEST(Pictures, WithoutLibrariesBmpAndPnmRemain) {
  if (!is_switched_off()) GTEST_SKIP() << "QUERN_PICTURES is not off";
  for (const PictureFile& row : squares) {
    const auto extent = pictures::extent_of(read_file(row.file));
    EXPECT_EQ(extent.has_value(), row.package.empty()) << row.file;
    if (!extent) {
      EXPECT_CONTAINS(extent.error().message(), "QUERN_PICTURES is off");
    }
  }
}

// Every beginning of a file, and files with bytes changed: whatever comes, in bounds.
TEST(Pictures, BrokenFilesAreEmptyOrDecoded) {
  std::uint32_t seed = 1;
  const auto random = [&] { return (seed = seed * 1664525 + 1013904223) >> 8; };
  for (const PictureFile& row : squares) {
    const Pixels file = read_file(row.file);
    for (std::size_t n = 0; n < file.size(); n += n < 100 ? 1 : 61)
      (void)decoded({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n)});
    for (int i = 0; i < 200; ++i) {
      Pixels changed = file;
      for (std::uint32_t k = random() % 4 + 1; k > 0; --k)
        changed[random() % (i % 2 ? 64 : changed.size())] = static_cast<std::uint8_t>(random());
      const auto extent = pictures::extent_of(changed);
      if (extent && extent->pixels() < 1 << 16) (void)decoded(changed);
    }
  }
  for (const PictureFile& row : {squares[0], squares[1]}) {
    Pixels file = read_file(row.file);
    file.pop_back();
    EXPECT_FALSE(decoded(file)) << row.file;
  }
}

TEST(Pictures, PortableMaps) {
  const Pixels bits = {0, 0, 0, 255, 255, 255, 0, 0, 0, 255, 255, 255, 0, 0, 0, 255, 255, 255};
  EXPECT_EQ(decoded(bytes_of("P1\n# width\n3 2\n101\n0 1 0\n")), bits);
  EXPECT_EQ(decoded(bytes_of("P4 3\t2\n\xa0\x40")), bits);
  EXPECT_EQ(decoded(bytes_of("P2#\n4 1 3 0 1 2 3")),
            (Pixels{0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255}));
  EXPECT_EQ(decoded(bytes_of("P3\n1 1\n255\n1 2 300\n")), (Pixels{1, 2, 255}));
  EXPECT_EQ(decoded(bytes_of("P5 1 1 65535\n\x80\x7f")), (Pixels{128, 128, 128}));
  EXPECT_EQ(decoded(bytes_of("P6 1 1 255\nabc")), (Pixels{'a', 'b', 'c'}));
  for (const char* text :
       {"P6 1 1 255\nab", "P5 1 1 65536\na", "P5 0 1 255\n", "P5 1 1 0\na", "P5 1 1",
        "P2 1 1 255\n", "P7\n", "P1 2 1\n1", "P3 1 1 255 1 x 3", "P5 -1 1 255\na"})
    EXPECT_FALSE(decoded(bytes_of(text))) << text;
}

// A header of 40 bytes, 2 x 2 pixels; what is behind it is palette, masks and rows.
Pixels bmp(int bits, int compression, int colours, int height, std::string_view rest,
           int masks_and_palette) {
  Pixels b(54);
  const auto put = [&](std::size_t at, int v) {
    for (int i = 0; i < 4; ++i)
      b[at + static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(static_cast<std::uint32_t>(v) >> (8 * i));
  };
  b[0] = 'B', b[1] = 'M';
  put(10, 54 + masks_and_palette), put(14, 40), put(18, 2), put(22, height);
  b[26] = 1, b[28] = static_cast<std::uint8_t>(bits);
  put(30, compression), put(46, colours);
  b.insert(b.end(), rest.begin(), rest.end());
  return b;
}

TEST(Pictures, BitmapsOfAllDepths) {
  using namespace std::string_view_literals;
  // Rows from below: black and white above red and blue.
  const std::string_view palette = "\0\0\0\0\xff\xff\xff\0\0\0\xff\0\xff\0\0\0"sv;
  const Pixels wanted = {0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 255};
  const auto with = [&](std::string_view rows) { return std::string(palette).append(rows); };
  EXPECT_EQ(decoded(bmp(8, 0, 4, 2, with("\2\3\0\0\0\1\0\0"sv), 16)), wanted);
  EXPECT_EQ(decoded(bmp(8, 0, 4, -2, with("\0\1\0\0\2\3\0\0"sv), 16)), wanted);
  EXPECT_EQ(decoded(bmp(4, 0, 4, 2, with("\x23\0\0\0\x01\0\0\0"sv), 16)), wanted);
  EXPECT_EQ(decoded(bmp(1, 0, 2, 2, "\0\0\0\0\xff\xff\xff\0\x80\0\0\0\x40\0\0\0"sv, 8)),
            (Pixels{0, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 0}));
  EXPECT_EQ(decoded(bmp(16, 0, 0, 2, "\x00\x7c\x1f\x00\x00\x00\xff\x7f"sv, 0)), wanted);
  EXPECT_EQ(
      decoded(bmp(16, 3, 0, 2, "\0\xf8\0\0\xe0\7\0\0\x1f\0\0\0\x00\xf8\x1f\x00\0\0\xff\xff"sv, 12)),
      wanted);
  EXPECT_EQ(decoded(bmp(24, 0, 0, 2, "\0\0\xff\xff\0\0\0\0\0\0\0\xff\xff\xff\0\0"sv, 0)), wanted);
  EXPECT_EQ(decoded(bmp(32, 0, 0, 2, "\0\0\xff\0\xff\0\0\0\0\0\0\0\xff\xff\xff\0"sv, 0)), wanted);
  // A colour that the palette does not have; a compression; no such depth; too short.
  EXPECT_EQ(decoded(bmp(8, 0, 4, 2, with("\x2\x9\0\0\0\1\0\0"sv), 16))->at(9), 0);
  EXPECT_FALSE(decoded(bmp(8, 1, 4, 2, with("\2\3\0\0\0\1\0\0"sv), 16)));
  EXPECT_FALSE(decoded(bmp(2, 0, 4, 2, with("\2\3\0\0\0\1\0\0"sv), 16)));
  EXPECT_FALSE(decoded(bmp(8, 0, 4, 2, with("\2\3\0\0\0\1\0"sv), 16)));
  EXPECT_FALSE(decoded(bmp(8, 0, 4, std::numeric_limits<int>::min(), with(""), 16)));
}

TEST(Pictures, AHeaderMayPromiseNoMoreThanALimit) {
  const auto large = pictures::extent_of(bytes_of("P5 20000 20000 255\n"));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), Code::invalid_argument);
  EXPECT_CONTAINS(large.error().message(), "20000 x 20000 pixels");
  const Pixels tall = bmp(24, 0, 0, 0x7fffffff, "", 0);
  EXPECT_FALSE(pictures::extent_of(tall));
}

Tensor file_tensor(const Pixels& bytes) {
  const Shape shape{static_cast<std::int64_t>(bytes.size())};
  return Tensor::copy_of({DType::u8, shape}, std::as_bytes(std::span(bytes))).value();
}

TEST(DecodePicture, FormatsOfPixels) {
  const Tensor file = file_tensor(bytes_of("P6 2 1 255\n\xff\x01\x02\x0a\xff\x14"));
  const Tensor extent = run(PictureExtent{}, {file});
  EXPECT_THAT(values<std::int64_t>(extent), ElementsAre(1, 2));
  const auto pixels = [&](PixelFormat format) {
    const Tensor y = run(DecodePicture{format}, {file, extent});
    EXPECT_EQ(y.shape(), (Shape{1, 2, channels_of(format)}));
    return values<std::uint8_t>(y);
  };
  EXPECT_THAT(pixels(PixelFormat::rgb), ElementsAre(255, 1, 2, 10, 255, 20));
  EXPECT_THAT(pixels(PixelFormat::bgr), ElementsAre(2, 1, 255, 20, 255, 10));
  EXPECT_THAT(pixels(PixelFormat::grey), ElementsAre(77, 155));
}

TEST(DecodePicture, WhatIsNoPictureIsEmpty) {
  const Tensor none = file_tensor(bytes_of("no picture"));
  EXPECT_THAT(values<std::int64_t>(run(PictureExtent{}, {none})), ElementsAre(0, 0));
  EXPECT_THAT(values<std::int64_t>(run(PictureExtent{}, {file_tensor({})})), ElementsAre(0, 0));
  const Tensor extent = tensor<std::int64_t>({2}, {1, 2});
  EXPECT_EQ(run(DecodePicture{}, {none, extent}).shape(), (Shape{0, 0, 3}));
  // The header is right and the pixels are missing; the extent is another.
  EXPECT_EQ(run(DecodePicture{}, {file_tensor(bytes_of("P6 2 1 255\n")), extent}).shape(),
            (Shape{0, 0, 3}));
  EXPECT_EQ(run(DecodePicture{PixelFormat::grey}, {file_tensor(bytes_of("P5 1 1 255\na")), extent})
                .shape(),
            (Shape{0, 0, 1}));
}

TEST(DecodePicture, RefusesWhatDoesNotFit) {
  const Tensor file = file_tensor(bytes_of("P5"));
  EXPECT_CONTAINS(error_of(PictureExtent{}, {counting<float>({2})}), "u8");
  EXPECT_CONTAINS(error_of(PictureExtent{}, {filled<std::uint8_t>({2, 2}, 0)}), "rank 1");
  EXPECT_CONTAINS(error_of(DecodePicture{}, {file, counting<std::int64_t>({3})}),
                  "the extent has 3 elements");
  EXPECT_CONTAINS(error_of(DecodePicture{}, {file, tensor<std::int64_t>({2}, {1, -1})}),
                  "the extent holds -1");
}

}  // namespace
}  // namespace quern::testing
