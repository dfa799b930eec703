// SPDX-License-Identifier: Apache-2.0
// Pictures as inputs of models: decode, resize, cut out the middle, order channels, scale values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/model.h>
#include <quern/status.h>
#include <quern/tensor.h>

namespace quern::tools {

// Interleaved channels, 0..255, rows from the top.
struct Image {
  int width = 0;
  int height = 0;
  int channels = 3;  // 1 gray, 3 RGB, 4 RGBA
  std::vector<float> pixels;

  float at(int x, int y, int c) const {
    return pixels[(static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                   static_cast<std::size_t>(x)) *
                      static_cast<std::size_t>(channels) +
                  static_cast<std::size_t>(c)];
  }
};

// PNG or JPEG, converted to `channels`. Errors: invalid_argument; more than 100 million
// pixels are refused before they take memory.
Result<Image> decode_image(std::span<const std::byte> bytes, int channels);
Result<Image> read_image(const std::string& path, int channels);

// The picture scaled to cover width x height (divided by `crop`, 0..1], then its middle: as
// classifiers are fed, with 0.875. Bilinear where it grows; where it shrinks Mitchell's filter, as
// wide as the step between two samples, so that nothing aliases. Width and height of the whole are
// rounded.
Image resize_middle(const Image& image, int width, int height, double crop);

// The image preprocessing of a model; options given by neither flags nor the model's metadata are
// unset.
struct ImageOptions {
  std::optional<bool> bgr;
  std::optional<std::array<double, 2>> range;  // of a value before mean and std
  std::optional<double> crop;
  std::vector<double> mean, std;  // one a channel or one for all; (v - mean) / std
};
// Texts as on the command line: "rgb" or "bgr"; "0..1"; "0.5,0.5,0.5".
struct ImageTexts {
  std::string order, range, crop, mean, std;
};
Result<ImageOptions> parse_image_options(const ImageTexts& texts);
// Gaps of `flags` filled from metadata_props quern.input.{order,range,crop,mean,std}.
ImageTexts with_metadata(ImageTexts flags, const ModelMetadata& metadata);

// The axes of a tensor's height, width and channels.
struct ImageLayout {
  std::size_t height_axis = 2;
  std::size_t width_axis = 3;
  std::optional<std::size_t> channel_axis = 1;
  int channels = 3;
};
// Reads it off dimensions (-1: free) of [N,C,H,W], [N,H,W,C], [C,H,W], [H,W,C] or [H,W].
// Errors: invalid_argument when they are none of these.
Result<ImageLayout> image_layout(std::string_view input, std::span<const std::int64_t> dims);

// `image` must have the layout's channels and the type's height and width; every batch element is
// it.
Result<Tensor> image_tensor(const Image& image, const TensorType& type, const ImageLayout& layout,
                            const ImageOptions& options);

}  // namespace quern::tools
