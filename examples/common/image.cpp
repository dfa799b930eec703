// SPDX-License-Identifier: Apache-2.0
#include "examples/common/image.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <memory>
#include <utility>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image.h>
#include <stb/stb_image_resize.h>
#include <stb/stb_image_write.h>

namespace examples {
namespace {

constexpr float longest_line = 100'000;

static_assert(sizeof(Color) == 3, "stb reads and writes Color as three bytes");

// The picture at a point between pixels, mixed from the four around it; the edge goes on for ever.
Color sample(const Image& image, Point p) {
  const float x = std::clamp(p.x - 0.5F, 0.0F, static_cast<float>(image.width - 1));
  const float y = std::clamp(p.y - 0.5F, 0.0F, static_cast<float>(image.height - 1));
  const int x0 = static_cast<int>(x), x1 = std::min(x0 + 1, image.width - 1);
  const int y0 = static_cast<int>(y), y1 = std::min(y0 + 1, image.height - 1);
  const float right = x - static_cast<float>(x0), down = y - static_cast<float>(y0);
  const auto mix = [&](std::uint8_t Color::*c) {
    const auto value = [&](int at_x, int at_y) {
      return static_cast<float>(image.at(at_x, at_y).*c);
    };
    const float upper = std::lerp(value(x0, y0), value(x1, y0), right);
    const float lower = std::lerp(value(x0, y1), value(x1, y1), right);
    return static_cast<std::uint8_t>(std::lround(std::lerp(upper, lower, down)));
  };
  return {mix(&Color::r), mix(&Color::g), mix(&Color::b)};
}

float distance(Point a, Point b) {
  return std::hypot(b.x - a.x, b.y - a.y);
}

Point between(Point a, Point b, float share) {
  return {std::lerp(a.x, b.x, share), std::lerp(a.y, b.y, share)};
}

}  // namespace

Image::Image(int width, int height, Color fill)
    : width(width),
      height(height),
      pixels(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), fill) {}

quern::Result<Image> load_image(const std::string& path) {
  if (!std::ifstream(path)) return quern::Status(quern::Code::not_found, path + ": cannot be read");
  int width = 0, height = 0, channels = 0;
  const std::unique_ptr<stbi_uc, void (*)(void*)> bytes(
      stbi_load(path.c_str(), &width, &height, &channels, 3), stbi_image_free);
  if (!bytes) {
    return quern::Status(quern::Code::invalid_argument,
                         path + ": no picture (" + stbi_failure_reason() + ")");
  }
  Image image(width, height);
  std::copy_n(bytes.get(), image.pixels.size() * 3, &image.pixels[0].r);
  return image;
}

quern::Status save_png(const std::string& path, const Image& image) {
  if (stbi_write_png(path.c_str(), image.width, image.height, 3, image.pixels.data(), 0) == 0) {
    return quern::Status(quern::Code::invalid_argument, path + ": cannot be written");
  }
  return {};
}

Image resize(const Image& image, int width, int height) {
  Image result(width, height);
  stbir_resize_uint8(&image.pixels[0].r, image.width, image.height, 0, &result.pixels[0].r, width,
                     height, 0, 3);
  return result;
}

Image pad(const Image& image, int width, int height, Color fill) {
  Image result(width, height, fill);
  for (int y = 0; y < std::min(image.height, height); ++y) {
    std::copy_n(&image.at(0, y), std::min(image.width, width), &result.at(0, y));
  }
  return result;
}

Image cut(const Image& image, const std::array<Point, 4>& corners) {
  const auto length = [](Point a, Point b) {
    return std::max(1, static_cast<int>(std::lround(distance(a, b))));
  };
  Image result(length(corners[0], corners[1]), length(corners[0], corners[3]));
  for (int y = 0; y < result.height; ++y) {
    const float down = (static_cast<float>(y) + 0.5F) / static_cast<float>(result.height);
    const Point left = between(corners[0], corners[3], down);
    const Point right = between(corners[1], corners[2], down);
    for (int x = 0; x < result.width; ++x) {
      const float along = (static_cast<float>(x) + 0.5F) / static_cast<float>(result.width);
      result.at(x, y) = sample(image, between(left, right, along));
    }
  }
  return result;
}

void draw_line(Image& image, Point from, Point to, Color color, float thickness) {
  if (!(distance(from, to) < longest_line)) return;  // false for NaN, too
  // A round brush, moved by half a pixel at a time.
  const int steps = 1 + static_cast<int>(2 * distance(from, to));
  const float radius = thickness / 2;
  for (int i = 0; i <= steps; ++i) {
    const Point p = between(from, to, static_cast<float>(i) / static_cast<float>(steps));
    for (int y = static_cast<int>(p.y - radius); y <= static_cast<int>(p.y + radius); ++y) {
      for (int x = static_cast<int>(p.x - radius); x <= static_cast<int>(p.x + radius); ++x) {
        const Point middle{static_cast<float>(x) + 0.5F, static_cast<float>(y) + 0.5F};
        if (image.has(x, y) && distance(p, middle) <= radius) image.at(x, y) = color;
      }
    }
  }
}

void draw_loop(Image& image, std::span<const Point> points, Color color, float thickness) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    draw_line(image, points[i], points[(i + 1) % points.size()], color, thickness);
  }
}

quern::Result<quern::Tensor> to_tensor(const Image& image, const PixelFormat& format) {
  const bool planes = format.layout == PixelFormat::Layout::nchw;
  const quern::Shape shape = planes ? quern::Shape{1, 3, image.height, image.width}
                                    : quern::Shape{1, image.height, image.width, 3};
  QUERN_ASSIGN(quern::Tensor tensor, quern::Tensor::zeros({quern::DType::f32, shape}));
  auto* out = reinterpret_cast<float*>(tensor.mutable_data());
  const std::size_t count = image.pixels.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::array<std::uint8_t, 3> values = {image.pixels[i].r, image.pixels[i].g, image.pixels[i].b};
    if (format.order == PixelFormat::Order::bgr) std::swap(values[0], values[2]);
    for (std::size_t c = 0; c < 3; ++c) {
      const float value = (static_cast<float>(values[c]) - format.mean[c]) / format.deviation[c];
      out[planes ? c * count + i : i * 3 + c] = value;
    }
  }
  return tensor;
}

}  // namespace examples
