// SPDX-License-Identifier: Apache-2.0
// Resizing and sampling.
#include <algorithm>

#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/resampling.h"

namespace quern::onnx {
namespace {

ResizeMode resize_mode(NodeImport& n) {
  return n.choice<ResizeMode>("mode", "nearest",
                              {{"nearest", ResizeMode::nearest},
                               {"linear", ResizeMode::linear},
                               {"bilinear", ResizeMode::linear},
                               {"cubic", ResizeMode::cubic}});
}

// True if no dimension grows. Where one stays as it is, each position is whole.
bool shrinks(const NodeImport& n, ValueId scales) {
  const Tensor* t = n.constant(scales);
  if (!t || t->dtype() != DType::f32) return false;
  for (std::int64_t i = 0; i < t->shape().elements(); ++i) {
    float v = 0;
    __builtin_memcpy(&v, t->data() + i * static_cast<std::int64_t>(sizeof v), sizeof v);
    if (v > 1) return false;
  }
  return true;
}

// Before opset 11 output x reads position x / scale. "nearest" meant the lower element for
// upscaling and the upper element for downscaling.
void emit_legacy(NodeImport& n, ValueId scales) {
  n.emit(Resize{.mode = resize_mode(n),
                .coordinates = CoordinateMode::asymmetric,
                .nearest = shrinks(n, scales) ? NearestMode::ceil : NearestMode::floor},
         {n.in(0), no_value, scales});
}

ValueId float_list(NodeImport& n, const std::vector<float>& values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return n.constant(Tensor::from_values<float>(DType::f32, shape, values));
}

void import_upsample_1(NodeImport& n) {
  emit_legacy(n, float_list(n, {1, 1, n.number("height_scale"), n.number("width_scale")}));
}

void import_upsample_7(NodeImport& n) {
  emit_legacy(n, float_list(n, n.numbers("scales")));
}

void import_resize_10(NodeImport& n) {
  emit_legacy(n, n.in(1));
}

Resize resize_op(NodeImport& n) {
  using C = CoordinateMode;
  using N = NearestMode;
  using A = AspectPolicy;
  return {.mode = resize_mode(n),
          .coordinates = n.choice<C>("coordinate_transformation_mode", "half_pixel",
                                     {{"half_pixel", C::half_pixel},
                                      {"half_pixel_symmetric", C::half_pixel_symmetric},
                                      {"pytorch_half_pixel", C::pytorch_half_pixel},
                                      {"align_corners", C::align_corners},
                                      {"asymmetric", C::asymmetric},
                                      {"tf_crop_and_resize", C::tf_crop_and_resize},
                                      {"tf_half_pixel_for_nn", C::tf_half_pixel_for_nn}}),
          .nearest = n.choice<N>("nearest_mode", "round_prefer_floor",
                                 {{"round_prefer_floor", N::round_prefer_floor},
                                  {"round_prefer_ceil", N::round_prefer_ceil},
                                  {"floor", N::floor},
                                  {"ceil", N::ceil}}),
          .aspect = n.choice<A>("keep_aspect_ratio_policy", "stretch",
                                {{"stretch", A::stretch},
                                 {"not_larger", A::not_larger},
                                 {"not_smaller", A::not_smaller}}),
          .cubic_coeff_a = n.number("cubic_coeff_a", -0.75f),
          .extrapolation_value = n.number("extrapolation_value", 0),
          .exclude_outside = n.flag("exclude_outside", Flag::off),
          .antialias = n.flag("antialias", Flag::off),
          .axes = n.ints("axes")};
}

// Exporters write empty tensors for operands that do not apply.
void import_resize(NodeImport& n) {
  const Resize op = resize_op(n);
  const auto operand = [&](std::size_t i) { return n.is_empty(n.in(i)) ? no_value : n.in(i); };
  const bool uses_roi = op.coordinates == CoordinateMode::tf_crop_and_resize;
  const ValueId scales = operand(2);
  const ValueId sizes = operand(3);
  if ((scales == no_value) == (sizes == no_value)) return n.fail("wants either scales or sizes");
  std::vector<ValueId> inputs = {n.in(0), uses_roi ? operand(1) : no_value, scales};
  if (sizes != no_value) inputs.push_back(sizes);
  n.emit(op, std::move(inputs));
}

void import_grid_sample(NodeImport& n) {
  n.emit(GridSample{.mode = n.choice<ResizeMode>("mode", "linear",
                                                 {{"linear", ResizeMode::linear},
                                                  {"bilinear", ResizeMode::linear},
                                                  {"nearest", ResizeMode::nearest},
                                                  {"cubic", ResizeMode::cubic},
                                                  {"bicubic", ResizeMode::cubic}}),
                    .padding = n.choice<GridPadding>("padding_mode", "zeros",
                                                     {{"zeros", GridPadding::zeros},
                                                      {"border", GridPadding::border},
                                                      {"reflection", GridPadding::reflection}}),
                    .align_corners = n.flag("align_corners", Flag::off)},
         {n.in(0), n.in(1)});
}

void import_affine_grid(NodeImport& n) {
  n.emit(AffineGrid{.align_corners = n.flag("align_corners", Flag::off)}, {n.in(0), n.in(1)});
}

constexpr OpRow resample_rows[] = {
    {"AffineGrid", 20, import_affine_grid, two}, {"GridSample", 16, import_grid_sample, two},
    {"Resize", 10, import_resize_10, two},       {"Resize", 11, import_resize, {1, 4}},
    {"Upsample", 1, import_upsample_1},          {"Upsample", 7, import_upsample_7},
    {"Upsample", 9, import_resize_10, two},
};

}  // namespace

OpRows resample_ops() {
  return resample_rows;
}

}  // namespace quern::onnx
