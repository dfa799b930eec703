// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/pictures.h"

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"
#include "graph/ops/windows.h"

namespace quern {
namespace {

// ---- names of enumerators

constexpr EnumNames<3> pixel_format_names = {"rgb", "bgr", "grey"};

// ---- picture_extent

Status check_file(const InferContext& c) {
  QUERN_TRY(c.want_dtype(0, DType::u8));
  return want_rank(c, 0, 1);
}

Status infer_picture_extent(InferContext& c) {
  QUERN_TRY(check_file(c));
  c.set(0, DType::i64, Dims{2});
  return {};
}

// ---- decode_picture

Status infer_pixels(InferContext& c, Dim height, Dim width) {
  const std::int64_t channels = channels_of(c.op<DecodePicture>().format);
  c.set(0, DType::u8, Dims{height, width, channels});
  return {};
}

// The extent in the second operand, as far as it is known.
Result<Dims> given_extent(InferContext& c) {
  QUERN_TRY(check_file(c));
  QUERN_ASSIGN(const ListOperand extent, list_operand(c, 1));
  if (extent.length && *extent.length != 2)
    return c.error(cat("the extent has ", *extent.length, " elements, wants height and width"));
  Dims dims(2);
  for (std::size_t i = 0; extent.values && i < 2; ++i) {
    const std::int64_t v = (*extent.values)[i];
    if (v < 0 || v > max_extent) return c.error(cat("the extent holds ", v));
    dims[i] = v;
  }
  return dims;
}

Status infer_decode_picture(InferContext& c) {
  QUERN_TRY(given_extent(c).status());
  return infer_pixels(c, Dim(), Dim());
}

Status bound_decode_picture(InferContext& c) {
  QUERN_ASSIGN(const Dims extent, given_extent(c));
  return infer_pixels(c, extent[0], extent[1]);
}

}  // namespace

std::span<const std::string_view> enum_names(PixelFormat) {
  return pixel_format_names;
}

const OpDef& PictureExtent::def() {
  static constexpr OpDef def{.name = "PictureExtent",
                             .infer = infer_picture_extent,
                             .attributes = &op_struct<PictureExtent>};
  return def;
}

const OpDef& DecodePicture::def() {
  static constexpr OpDef def{.name = "DecodePicture",
                             .inputs = {2, 2},
                             .traits = OpTrait::data_dependent,
                             .plan_operands = 1u << 1,
                             .infer = infer_decode_picture,
                             .bound = bound_decode_picture,
                             .attributes = &op_struct<DecodePicture>};
  return def;
}

}  // namespace quern
