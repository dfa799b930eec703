// SPDX-License-Identifier: Apache-2.0
// PictureExtent and DecodePicture: what the header of a file says, and its pixels.
//
// ONNX ImageDecoder (opset 20), whose result is empty where a file cannot be decoded. Grey is the
// luma of ITU-R BT.601 in 16 bits of fraction, as ONNX's reference computes it, from JPEG's
// colours, too. Transparency is dropped, orientation is not applied. Libraries that decode
// allocate; they ask no deadline.
#include "graph/ops/pictures.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/pictures/picture.h"

namespace quern {
namespace {

// ---- reference

pictures::Bytes file_of(const ReferenceCall& call) {
  return call.inputs[0].span<std::uint8_t>();
}

Status picture_extent_reference(const ReferenceCall& call) {
  QUERN_ASSIGN(const pictures::Extent extent, pictures::extent_of(file_of(call)));
  auto* y = call.outputs[0].as<std::int64_t>();
  y[0] = extent.height;
  y[1] = extent.width;
  return {};
}

std::uint8_t grey_of(const std::uint8_t* rgb) {
  const std::uint32_t sum = 19595U * rgb[0] + 38470U * rgb[1] + 7471U * rgb[2];
  return static_cast<std::uint8_t>((sum + 0x8000U) >> 16);
}

void write_pixels(PixelFormat format, const std::uint8_t* rgb, std::int64_t n, std::uint8_t* y,
                  StopCheck& check) {
  for_each_until(n, 4, check, [&](std::int64_t i) {
    const std::uint8_t* pixel = rgb + 3 * i;
    if (format == PixelFormat::grey) {
      y[i] = grey_of(pixel);
      return;
    }
    const bool is_rgb = format == PixelFormat::rgb;
    y[3 * i] = pixel[is_rgb ? 0 : 2];
    y[3 * i + 1] = pixel[1];
    y[3 * i + 2] = pixel[is_rgb ? 2 : 0];
  });
}

constexpr std::size_t bytes_of_pixel = 4;  // that decode() wants room for

Status decode_picture_reference(const ReferenceCall& call) {
  const PixelFormat format = call.as<DecodePicture>().format;
  Shape& shape = call.outputs[0].type.shape;
  const pictures::Extent extent{shape[0], shape[1]};
  bool is_decoded = false;
  if (!extent.is_empty()) {
    const std::int64_t pixels = extent.pixels();
    auto* rgb = call.scratch.take<std::uint8_t>(bytes_of_pixel * static_cast<std::size_t>(pixels));
    QUERN_ASSIGN(is_decoded, pictures::decode(file_of(call), extent, rgb));
    StopCheck check(call.stop);
    if (is_decoded) write_pixels(format, rgb, pixels, call.outputs[0].as<std::uint8_t>(), check);
  }
  if (!is_decoded) shape = Shape{0, 0, channels_of(format)};
  return {};
}

std::size_t decode_picture_scratch(const Op&, std::span<const TensorType>,
                                   std::span<const TensorType> outputs) {
  const Shape& shape = outputs[0].shape;
  const pictures::Extent extent{shape[0], shape[1]};
  return Scratch::bytes_for<std::uint8_t>(bytes_of_pixel *
                                          static_cast<std::size_t>(extent.pixels()));
}

}  // namespace

const OpKernels& PictureExtent::kernels() {
  static constexpr OpKernels table{.reference = {picture_extent_reference}};
  return table;
}

const OpKernels& DecodePicture::kernels() {
  static constexpr OpKernels table{.reference = {decode_picture_reference, decode_picture_scratch}};
  return table;
}

}  // namespace quern
