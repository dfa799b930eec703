// SPDX-License-Identifier: Apache-2.0
#include "tools/image.h"

#include <algorithm>
#include <cmath>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "tools/parse.h"

namespace quern::tools {

// ---- resizing ----------------------------------------------------------------------------------

namespace {

// The taps of one output sample: source samples from `first`, with weights that add up to 1.
struct Tap {
  int first = 0;
  std::vector<float> weights;
};

// Mitchell and Netravali, "Reconstruction filters in computer graphics", 1988; B = C = 1/3, |x|
// < 2.
double mitchell(double x) {
  x = std::abs(x);
  if (x >= 2) return 0;
  if (x < 1) return (16 + x * x * (21 * x - 36)) / 18;
  return (32 + x * (-60 + x * (36 - 7 * x))) / 18;
}

// `count` samples, the first of them `skip` steps behind the start of a line of `size` samples. A
// step above 1 shrinks the picture: the filter gets as much wider.
std::vector<Tap> make_taps(int size, double step, int skip, int count) {
  const bool shrinks = step > 1;
  const double reach = shrinks ? 2 * step : 1;
  std::vector<Tap> taps(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const double centre = (skip + i + 0.5) * step;
    const int first = std::clamp(static_cast<int>(std::floor(centre - reach)), 0, size - 1);
    const int end = std::clamp(static_cast<int>(std::ceil(centre + reach)), first + 1, size);
    Tap& tap = taps[static_cast<std::size_t>(i)];
    tap.first = first;
    double sum = 0;
    for (int k = first; k < end; ++k) {
      const double distance = k + 0.5 - centre;
      const double weight =
          shrinks ? mitchell(distance / step) : std::max(1 - std::abs(distance), 0.0);
      tap.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& w : tap.weights) w = static_cast<float>(w / sum);
  }
  return taps;
}

Image resample_rows(const Image& image, const std::vector<Tap>& taps) {
  Image out{static_cast<int>(taps.size()), image.height, image.channels, {}};
  out.pixels.reserve(taps.size() * static_cast<std::size_t>(image.height * image.channels));
  for (int y = 0; y < image.height; ++y) {
    for (const Tap& tap : taps) {
      for (int c = 0; c < image.channels; ++c) {
        float sum = 0;
        for (std::size_t k = 0; k < tap.weights.size(); ++k)
          sum += tap.weights[k] * image.at(tap.first + static_cast<int>(k), y, c);
        out.pixels.push_back(sum);
      }
    }
  }
  return out;
}

Image resample_columns(const Image& image, const std::vector<Tap>& taps) {
  Image out{image.width, static_cast<int>(taps.size()), image.channels, {}};
  const auto row = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
  out.pixels.assign(row * taps.size(), 0);
  for (std::size_t y = 0; y < taps.size(); ++y) {
    float* dst = out.pixels.data() + y * row;
    for (std::size_t k = 0; k < taps[y].weights.size(); ++k) {
      const float* src = image.pixels.data() + (static_cast<std::size_t>(taps[y].first) + k) * row;
      for (std::size_t x = 0; x < row; ++x) dst[x] += taps[y].weights[k] * src[x];
    }
  }
  return out;
}

}  // namespace

Image resize_middle(const Image& image, int width, int height, double crop) {
  const double scale = std::max(width / static_cast<double>(image.width),
                                height / static_cast<double>(image.height)) /
                       crop;
  // The whole picture at that scale, of which only the middle is computed.
  const int whole_width = std::max(static_cast<int>(std::lround(image.width * scale)), width);
  const int whole_height = std::max(static_cast<int>(std::lround(image.height * scale)), height);
  const auto columns = make_taps(image.width, image.width / static_cast<double>(whole_width),
                                 (whole_width - width) / 2, width);
  const auto rows = make_taps(image.height, image.height / static_cast<double>(whole_height),
                              (whole_height - height) / 2, height);
  Image out = resample_columns(resample_rows(image, columns), rows);
  // Pictures that models were trained on came out of resizers as bytes.
  for (float& v : out.pixels) v = std::nearbyint(std::clamp(v, 0.0F, 255.0F));
  return out;
}

// ---- options -----------------------------------------------------------------------------------

namespace {

void fill(std::string& text, const ModelMetadata& metadata, std::string_view key) {
  if (!text.empty()) return;
  for (const auto& [name, value] : metadata.properties)
    if (name == key) text = value;
}

Status parse_order(const std::string& text, ImageOptions& options) {
  if (text.empty()) return {};
  if (text != "rgb" && text != "bgr")
    return {Code::invalid_argument, cat("order '", printable(text), "'; it is rgb or bgr")};
  options.bgr = text == "bgr";
  return {};
}

Status parse_range(const std::string& text, ImageOptions& options) {
  if (text.empty()) return {};
  const std::size_t dots = text.find("..");
  const auto low = parse_number(text.substr(0, dots));
  const auto high = parse_number(dots == std::string::npos ? std::string() : text.substr(dots + 2));
  if (!low || !high || *low >= *high)
    return {Code::invalid_argument,
            cat("range '", printable(text), "'; write it as 0..1, 0..255 or -1..1")};
  options.range = {*low, *high};
  return {};
}

Status parse_channel_values(std::string_view what, const std::string& text,
                            std::vector<double>& into) {
  if (text.empty()) return {};
  const auto values = parse_numbers(text);
  if (!values || values->empty() || values->size() > 4)
    return {Code::invalid_argument,
            cat(what, " '", printable(text), "'; write one number, or one a channel: 0.5,0.5,0.5")};
  into = *values;
  return {};
}

}  // namespace

ImageTexts with_metadata(ImageTexts flags, const ModelMetadata& metadata) {
  fill(flags.order, metadata, "quern.input.order");
  fill(flags.range, metadata, "quern.input.range");
  fill(flags.crop, metadata, "quern.input.crop");
  fill(flags.mean, metadata, "quern.input.mean");
  fill(flags.std, metadata, "quern.input.std");
  return flags;
}

Result<ImageOptions> parse_image_options(const ImageTexts& texts) {
  ImageOptions options;
  QUERN_TRY(parse_order(texts.order, options));
  QUERN_TRY(parse_range(texts.range, options));
  QUERN_TRY(parse_channel_values("mean", texts.mean, options.mean));
  QUERN_TRY(parse_channel_values("std", texts.std, options.std));
  if (std::ranges::count(options.std, 0.0) > 0)
    return Status(Code::invalid_argument, "std is divided by: it cannot be 0");
  if (texts.crop.empty()) return options;
  options.crop = parse_number(texts.crop);
  if (!options.crop || !(*options.crop > 0) || *options.crop > 1)
    return Status(Code::invalid_argument,
                  cat("crop '", printable(texts.crop), "'; it is a share above 0 and up to 1"));
  return options;
}

// ---- tensors -----------------------------------------------------------------------------------

namespace {

bool may_be_channels(std::int64_t dim) {
  return dim == 1 || dim == 3 || dim == 4;
}

std::string dims_text(std::span<const std::int64_t> dims) {
  std::string s = "[";
  for (std::size_t i = 0; i < dims.size(); ++i)
    s += cat(i ? "," : "", dims[i] < 0 ? std::string("?") : cat(dims[i]));
  return s + "]";
}

double channel_value(const std::vector<double>& values, int channel, double otherwise) {
  if (values.empty()) return otherwise;
  return values[std::min(static_cast<std::size_t>(channel), values.size() - 1)];
}

// One channel's values as the model wants them: v * scale + offset.
struct Affine {
  double scale = 1;
  double offset = 0;
};

Affine affine_of(const ImageOptions& options, DType dtype, int channel) {
  const auto range =
      options.range.value_or(is_float(dtype) ? std::array{0.0, 1.0} : std::array{0.0, 255.0});
  const double mean = channel_value(options.mean, channel, 0);
  const double std = channel_value(options.std, channel, 1);
  return {(range[1] - range[0]) / 255 / std, (range[0] - mean) / std};
}

template <class T>
T element(double v) {
  if constexpr (std::is_integral_v<T>) {
    return convert<T>(std::nearbyint(v));
  } else {
    return static_cast<T>(v);
  }
}

// Writes one picture; strides are in elements.
template <class T>
void write_picture(const Image& image, const ImageLayout& layout, const Shape& shape,
                   const ImageOptions& options, DType dtype, T* dst) {
  const auto stride = [&](std::size_t axis) { return shape.elements(axis + 1); };
  const bool bgr = options.bgr.value_or(false) && image.channels >= 3;
  for (int c = 0; c < image.channels; ++c) {
    const Affine affine = affine_of(options, dtype, c);
    const int from = bgr && c < 3 ? 2 - c : c;
    const std::int64_t base = layout.channel_axis ? c * stride(*layout.channel_axis) : 0;
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < image.width; ++x) {
        const std::int64_t at =
            base + y * stride(layout.height_axis) + x * stride(layout.width_axis);
        dst[at] = element<T>(image.at(x, y, from) * affine.scale + affine.offset);
      }
    }
  }
}

}  // namespace

Result<ImageLayout> image_layout(std::string_view input, std::span<const std::int64_t> dims) {
  const std::size_t rank = dims.size();
  if (rank == 2) return ImageLayout{0, 1, std::nullopt, 1};
  if (rank == 3 || rank == 4) {
    const std::size_t first = rank - 3;
    const bool channels_first = may_be_channels(dims[first]);
    if (!channels_first && may_be_channels(dims[rank - 1]))
      return ImageLayout{first, first + 1, rank - 1, static_cast<int>(dims[rank - 1])};
    if (channels_first || dims[first] < 0)
      return ImageLayout{first + 1, first + 2, first,
                         channels_first ? static_cast<int>(dims[first]) : 3};
  }
  return Status(Code::invalid_argument,
                cat("input '", printable(input), "' ", dims_text(dims),
                    " takes no picture: it needs 1, 3 or 4 channels as [N,C,H,W] or [N,H,W,C]"));
}

Result<Tensor> image_tensor(const Image& image, const TensorType& type, const ImageLayout& layout,
                            const ImageOptions& options) {
  for (const auto* values : {&options.mean, &options.std})
    if (values->size() > 1 && values->size() < static_cast<std::size_t>(image.channels))
      return Status(Code::invalid_argument,
                    cat("mean or std has ", values->size(), " numbers, the input ", image.channels,
                        " channels"));
  QUERN_ASSIGN(Tensor t, Tensor::zeros(type));
  const std::size_t first = std::min(
      {layout.height_axis, layout.width_axis, layout.channel_axis.value_or(layout.height_axis)});
  const std::int64_t batch = type.shape.elements(0, first);
  const std::int64_t picture = type.shape.elements(first);
  Status status(Code::unsupported, cat(type.text(), " takes no picture"));
  visit_number(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* data = reinterpret_cast<T*>(t.mutable_data());
    if (batch > 0) write_picture(image, layout, type.shape, options, type.dtype, data);
    for (std::int64_t b = 1; b < batch; ++b) std::copy_n(data, picture, data + b * picture);
    status = Status();
  });
  if (!status.ok()) return status;
  return t;
}

}  // namespace quern::tools
