// SPDX-License-Identifier: Apache-2.0
// Pictures for the examples: files, sizes, lines drawn on them, and the way into a tensor.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

namespace examples {

struct Color {
  std::uint8_t r = 0, g = 0, b = 0;
};

// In pixels, x to the right, y down; (0, 0) is the corner of the first pixel, (0.5, 0.5) its
// middle.
struct Point {
  float x = 0, y = 0;
};

struct Image {
  Image() = default;
  Image(int width, int height, Color fill = {});

  int width = 0, height = 0;
  std::vector<Color> pixels;  // row by row

  const Color& at(int x, int y) const { return pixels[index(x, y)]; }
  Color& at(int x, int y) { return pixels[index(x, y)]; }
  bool has(int x, int y) const { return x >= 0 && y >= 0 && x < width && y < height; }

 private:
  std::size_t index(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
           static_cast<std::size_t>(x);
  }
};

// PNG, JPEG, BMP, TGA, GIF, PNM. Errors: not_found, invalid_argument (not a picture).
quern::Result<Image> load_image(const std::string& path);
quern::Status save_png(const std::string& path, const Image& image);

// The whole picture in another size; its proportions may change.
Image resize(const Image& image, int width, int height);
// The picture at the upper left of a larger canvas.
Image pad(const Image& image, int width, int height, Color fill = {});
// This cuts out a rectangle that may be turned. The corners go clockwise, and the first one becomes
// the upper left.
Image cut(const Image& image, const std::array<Point, 4>& corners);

// `thickness` in pixels. What lies outside of the picture is left out, and so is a line of more
// than 100,000 pixels.
void draw_line(Image& image, Point from, Point to, Color color, float thickness = 2);
// Lines through all points and back to the first.
void draw_loop(Image& image, std::span<const Point> points, Color color, float thickness = 2);

// How a model wants its picture: channel c becomes (value - mean[c]) / deviation[c], values 0..255.
struct PixelFormat {
  enum class Order : std::uint8_t { rgb, bgr };
  enum class Layout : std::uint8_t { nchw, nhwc };

  Order order = Order::rgb;  // of the tensor, mean and deviation
  Layout layout = Layout::nchw;
  std::array<float, 3> mean = {0, 0, 0};
  std::array<float, 3> deviation = {255, 255, 255};
};
// f32 [1,3,height,width] or [1,height,width,3]. Errors: out_of_memory.
quern::Result<quern::Tensor> to_tensor(const Image& image, const PixelFormat& format);

}  // namespace examples
