// SPDX-License-Identifier: Apache-2.0
// The argument types of GraphBuilder's operators: operands, lists of integers, and options with the
// defaults of ONNX.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quern/dtype.h>

namespace quern {

// A value of one GraphBuilder; cheap to copy. A default-constructed Operand is an absent operand.
class Operand {
 public:
  Operand() = default;
  bool present() const { return builder_ != 0; }
  bool operator==(const Operand&) const = default;

 private:
  friend class GraphBuilder;
  Operand(std::uint64_t builder, std::uint32_t value) : builder_(builder), value_(value) {}

  std::uint64_t builder_ = 0;  // the number of the builder, unique in the process
  std::uint32_t value_ = 0;
};

using Operands = std::vector<Operand>;
using IntList = std::vector<std::int64_t>;

// A dimension of an input: a number, -1 (free) or a name (free, and equal wherever the name
// stands).
struct Dimension {
  Dimension(std::integral auto n) : value(static_cast<std::int64_t>(n)) {}  // NOLINT: implicit
  Dimension(const char* n) : name(n) {}                                     // NOLINT
  Dimension(std::string n) : name(std::move(n)) {}                          // NOLINT

  std::int64_t value = -1;
  std::string name;
};

// Integers that an operator takes as an operand (a shape, axes, pads): constants or a computed
// value.
class Integers {
 public:
  Integers() = default;                                                      // left out
  Integers(std::initializer_list<std::int64_t> l) : list(l), given(true) {}  // NOLINT: implicit
  Integers(IntList l) : list(std::move(l)), given(true) {}                   // NOLINT
  Integers(Operand o) : operand(o), given(o.present()) {}                    // NOLINT

  IntList list;
  Operand operand;
  bool given = false;
};

struct IsInfOptions {
  bool detect_negative = true, detect_positive = true;
};
// Also used by argmax and argmin.
struct ReduceOptions {
  bool keepdims = true;  // as dimensions of 1
};
struct CumulativeOptions {
  bool exclusive = false, reverse = false;
};
// Lists over the spatial dimensions; empty: strides and dilations 1, pads 0. pads: all begins, then
// all ends. auto_pad: notset, same_upper, same_lower, valid.
struct ConvOptions {
  IntList strides, pads, dilations;
  std::int64_t group = 1;
  std::string_view auto_pad = "notset";
};
struct ConvTransposeOptions {
  IntList strides, pads, dilations, output_padding, output_shape;
  std::int64_t group = 1;
  std::string_view auto_pad = "notset";
};
struct DeformConvOptions {
  IntList strides, pads, dilations;
  std::int64_t group = 1, offset_group = 1;
};
struct PoolOptions {
  IntList strides, pads, dilations;
  std::string_view auto_pad = "notset";
  bool ceil_mode = false;
  bool count_include_pad = false;  // of an average
};
struct UnpoolOptions {
  IntList strides, pads;
  Integers output_shape;
};
struct RoiAlignOptions {
  std::int64_t height = 1, width = 1, sampling_ratio = 0;
  float spatial_scale = 1;
  bool max = false, half_pixel = true;
};
struct MatMulOptions {
  bool transpose_a = false, transpose_b = false;  // of the last two dimensions
  float alpha = 1;
};
struct AttentionOptions {
  float scale = 1;
  Operand mask;  // added to the scores
};
struct LrnOptions {
  float alpha = 1e-4F, beta = 0.75F, bias = 1;
};
struct ReshapeOptions {
  bool allow_zero = false;  // a 0 in the shape means 0, not "unchanged"
};
struct DepthToSpaceOptions {
  bool column_row_depth = false;  // CRD instead of DCR
};
struct SliceOptions {
  Integers axes, steps;
};
struct PadOptions {
  std::string_view mode = "constant";  // reflect, edge, wrap
  Operand value;
  Integers axes;
};
// Exactly one of scales and sizes must be given.
struct ResizeOptions {
  Operand scales, roi;
  Integers sizes;
  std::string_view mode = "nearest";  // linear, cubic
  // half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric, tf_crop_and_resize,
  // tf_half_pixel_for_nn
  std::string_view coordinates = "half_pixel";
  std::string_view nearest = "round_prefer_floor";  // round_prefer_ceil, floor, ceil
  std::string_view aspect = "stretch";              // not_larger, not_smaller
  float cubic_coeff_a = -0.75F, extrapolation_value = 0;
  bool exclude_outside = false, antialias = false;
  IntList axes;
};
struct GridSampleOptions {
  std::string_view mode = "linear";    // nearest, cubic
  std::string_view padding = "zeros";  // border, reflection
  bool align_corners = false;
};
struct AffineGridOptions {
  bool align_corners = false;
};
struct RnnOptions {
  Operand bias, sequence_lengths, initial_h, initial_c, peepholes;
  std::string_view direction = "forward";  // reverse, bidirectional
  bool linear_before_reset = false;        // of a GRU
  bool batch_first = false;
};
struct TopKOptions {
  bool largest = true, sorted = true;
};
struct UniqueOptions {
  bool sorted = true, flat = true;  // flat: over all elements, not along `axis`
  std::int64_t axis = 0;
};
struct NonMaxSuppressionOptions {
  Operand max_output_boxes, iou_threshold, score_threshold;
  bool center_point_box = false;
};
struct DftOptions {
  bool inverse = false;
  bool onesided = false;  // half of the bins of a real signal
};
struct StftOptions {
  bool onesided = true;
};
struct QuantizeOptions {
  std::int64_t axis = 1, block_size = 0;
  DType to = DType::u8;  // without a zero point
};
struct SplitToSequenceOptions {
  bool keepdims = true;  // of pieces of size 1, if no sizes are given
};
struct ConcatFromSequenceOptions {
  bool new_axis = false;  // stacks
};
// Empty lists mean axis 0 and the forward direction.
struct ScanOptions {
  IntList input_axes, input_directions, output_axes, output_directions;
};

}  // namespace quern
