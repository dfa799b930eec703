// SPDX-License-Identifier: Apache-2.0
// What an operator is: one struct per family, joined in the variant `Op`.
//
// A struct holds attributes only; everything an op *does* (inference, reference, kernels) hangs off
// its OpDef, which the family's file in kernels/ defines. `fields` names the attributes once, for
// the text form, comparison of defaults and hashing. Operands that ONNX moved from attribute to
// input over the opsets are always inputs here (axes, starts, pads, scales, ...): one form.
// "ONNX" in a comment names the operators that import to the family.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <quern/dtype.h>
#include <quern/tensor.h>

namespace quern {

struct OpDef;
using Ints = std::vector<std::int64_t>;

// ---- elementwise -------------------------------------------------------------------------------

enum class UnaryKind : std::uint8_t {
  // clang-format off
  abs, neg, sign, ceil, floor, round, sqrt, reciprocal, exp, log, sin, cos, tan, asin, acos, atan,
  sinh, cosh, tanh, asinh, acosh, atanh, erf, sigmoid, relu, leaky_relu, elu, selu, celu,
  hard_sigmoid, hard_swish, softplus, softsign, mish, gelu, gelu_tanh, swish, thresholded_relu,
  shrink, clip, affine, scaled_tanh, is_nan, is_inf, logical_not, bitwise_not,
  // clang-format on
};
// alpha and beta as ONNX names them: leaky_relu slope; elu, celu, thresholded_relu, swish alpha;
// selu alpha, gamma; hard_sigmoid slope, offset; shrink lambd, bias; clip low, high; affine alpha *
// x
// + beta and scaled_tanh alpha * tanh(beta * x), activations of the recurrent ops; is_inf: alpha
// != 0 detects -inf, beta != 0 detects +inf. round is half to even.
struct Unary {
  UnaryKind kind = UnaryKind::relu;
  double alpha = 0;
  double beta = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("alpha", s.alpha), f("beta", s.beta);
  }
  static const OpDef& def();
  bool operator==(const Unary&) const = default;
};

enum class BinaryKind : std::uint8_t {
  // clang-format off
  add, sub, mul, div, pow, mod, fmod, min, max, prelu, logical_and, logical_or, logical_xor,
  bitwise_and, bitwise_or, bitwise_xor, shift_left, shift_right, equal, less, less_equal, greater,
  greater_equal,
  // clang-format on
};
// numpy broadcasting. prelu(x, slope); comparisons give bool; mod takes the divisor's sign, fmod
// the dividend's. x / 0 and x mod 0 of integers are 0, INT_MIN / -1 wraps (facts: the peers
// disagree or crash). min and max propagate NaN.
struct Binary {
  BinaryKind kind = BinaryKind::add;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind);
  }
  static const OpDef& def();
  bool operator==(const Binary&) const = default;
};

// where(condition, x, y), all three broadcast.
struct Where {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  bool operator==(const Where&) const = default;
};

// ONNX Cast, CastLike. Float to integer truncates and saturates, NaN gives 0.
struct Cast {
  DType to = DType::f32;
  bool saturate = true;  // for the 8-bit floats

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("to", s.to), f("saturate", s.saturate);
  }
  static const OpDef& def();
  bool operator==(const Cast&) const = default;
};

// Reinterprets the bits; the types have one size.
struct BitCast {
  DType to = DType::f32;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("to", s.to);
  }
  static const OpDef& def();
  bool operator==(const BitCast&) const = default;
};

// ---- reduction ---------------------------------------------------------------------------------

enum class ReduceKind : std::uint8_t {
  sum,
  mean,
  max,
  min,
  prod,
  l1,
  l2,
  log_sum,
  log_sum_exp,
  sum_square
};
// (data, axes?). No axes: all of them, or none with noop_with_empty_axes. max and min propagate
// NaN.
struct Reduce {
  ReduceKind kind = ReduceKind::sum;
  bool keepdims = true;
  bool noop_with_empty_axes = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("keepdims", s.keepdims);
    f("noop_with_empty_axes", s.noop_with_empty_axes);
  }
  static const OpDef& def();
  bool operator==(const Reduce&) const = default;
};

// ONNX ArgMax, ArgMin: i64 indices. NaN counts as the greatest (least) element.
struct ArgReduce {
  bool is_max = true;
  std::int64_t axis = 0;
  bool keepdims = true;
  bool select_last_index = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("is_max", s.is_max), f("axis", s.axis), f("keepdims", s.keepdims);
    f("select_last_index", s.select_last_index);
  }
  static const OpDef& def();
  bool operator==(const ArgReduce&) const = default;
};

enum class CumulativeKind : std::uint8_t { sum, prod };
// ONNX CumSum, CumProd: (x, axis).
struct Cumulative {
  CumulativeKind kind = CumulativeKind::sum;
  bool exclusive = false;
  bool reverse = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("exclusive", s.exclusive), f("reverse", s.reverse);
  }
  static const OpDef& def();
  bool operator==(const Cumulative&) const = default;
};

// ---- matrix products ---------------------------------------------------------------------------

// numpy matmul of (a, b), each optionally transposed in its last two dimensions, times alpha.
// ONNX MatMul; Gemm imports as this with a Binary add.
struct MatMul {
  bool transpose_a = false;
  bool transpose_b = false;
  float alpha = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("transpose_a", s.transpose_a), f("transpose_b", s.transpose_b), f("alpha", s.alpha);
  }
  static const OpDef& def();
  bool operator==(const MatMul&) const = default;
};

struct Einsum {
  std::string equation;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("equation", s.equation);
  }
  static const OpDef& def();
  bool operator==(const Einsum&) const = default;
};

// Determinant of the last two dimensions.
struct Det {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  bool operator==(const Det&) const = default;
};

// softmax(scale * q k^T + mask) v over (q, k, v, mask?), each [..., heads, rows, width]; the heads
// of q are a multiple of those of k and v. A fused form that the passes recognise; ONNX Attention.
struct Attention {
  float scale = 1;
  bool k_transposed = false;  // k is [..., heads, width, rows]

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("scale", s.scale), f("k_transposed", s.k_transposed);
  }
  static const OpDef& def();
  bool operator==(const Attention&) const = default;
};

// ---- convolution and pooling -------------------------------------------------------------------

enum class AutoPad : std::uint8_t { notset, same_upper, same_lower, valid };
// Window geometry over the spatial dimensions (all past batch and channel). Empty lists mean 1 for
// strides and dilations, 0 for pads. pads: all begins, then all ends.
struct Window {
  Ints kernel;
  Ints strides;
  Ints pads;
  Ints dilations;
  AutoPad auto_pad = AutoPad::notset;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kernel", s.kernel), f("strides", s.strides), f("pads", s.pads);
    f("dilations", s.dilations), f("auto_pad", s.auto_pad);
  }
  bool operator==(const Window&) const = default;
};

// (x [N, C, spatial...], w [M, C/group, kernel...], bias [M]?) -> [N, M, spatial...]
struct Conv {
  Window window;
  std::int64_t group = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    Window::fields(s.window, f), f("group", s.group);
  }
  static const OpDef& def();
  bool operator==(const Conv&) const = default;
};

// (x [N, C, spatial...], w [C, M/group, kernel...], bias [M]?)
struct ConvTranspose {
  Window window;
  std::int64_t group = 1;
  Ints output_padding;
  Ints output_shape;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    Window::fields(s.window, f), f("group", s.group);
    f("output_padding", s.output_padding), f("output_shape", s.output_shape);
  }
  static const OpDef& def();
  bool operator==(const ConvTranspose&) const = default;
};

// (x, w, offset, bias?, mask?), 2-D; ONNX DeformConv.
struct DeformConv {
  Window window;
  std::int64_t group = 1;
  std::int64_t offset_group = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    Window::fields(s.window, f), f("group", s.group), f("offset_group", s.offset_group);
  }
  static const OpDef& def();
  bool operator==(const DeformConv&) const = default;
};

// (columns [N, C*prod(block), L], image_shape, block_shape) -> [N, C, image...]
struct Col2Im {
  Ints strides;
  Ints pads;
  Ints dilations;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("strides", s.strides), f("pads", s.pads), f("dilations", s.dilations);
  }
  static const OpDef& def();
  bool operator==(const Col2Im&) const = default;
};

enum class PoolKind : std::uint8_t { max, average, lp };
// ONNX MaxPool (second output: indices), AveragePool, LpPool, and the Global* forms (`global`).
// max propagates NaN.
struct Pool {
  PoolKind kind = PoolKind::max;
  Window window;
  bool global = false;
  bool ceil_mode = false;
  bool count_include_pad = false;
  std::int64_t p = 2;                 // of lp
  bool column_major_indices = false;  // storage_order = 1

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), Window::fields(s.window, f), f("global", s.global);
    f("ceil_mode", s.ceil_mode), f("count_include_pad", s.count_include_pad), f("p", s.p);
    f("column_major_indices", s.column_major_indices);
  }
  static const OpDef& def();
  bool operator==(const Pool&) const = default;
};

// (x, indices, output_shape?)
struct MaxUnpool {
  Window window;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    Window::fields(s.window, f);
  }
  static const OpDef& def();
  bool operator==(const MaxUnpool&) const = default;
};

enum class RoiKind : std::uint8_t { align_average, align_max, max };
// ONNX RoiAlign (x, rois, batch_indices) and MaxRoiPool (x, rois with the batch index in front).
struct RoiPool {
  RoiKind kind = RoiKind::align_average;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t sampling_ratio = 0;
  float spatial_scale = 1;
  bool half_pixel = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("height", s.height), f("width", s.width);
    f("sampling_ratio", s.sampling_ratio), f("spatial_scale", s.spatial_scale);
    f("half_pixel", s.half_pixel);
  }
  static const OpDef& def();
  bool operator==(const RoiPool&) const = default;
};

// ---- normalisation -----------------------------------------------------------------------------

// (x, scale, bias, mean, variance); in training mode also gives running mean and variance.
struct BatchNorm {
  float epsilon = 1e-5f;
  float momentum = 0.9f;
  bool training = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("epsilon", s.epsilon), f("momentum", s.momentum), f("training", s.training);
  }
  static const OpDef& def();
  bool operator==(const BatchNorm&) const = default;
};

// Over the dimensions from `axis` on: (x, scale?, bias?) -> y, mean?, inverse standard deviation?
// ONNX LayerNormalization; without `center` RMSNormalization.
struct LayerNorm {
  std::int64_t axis = -1;
  float epsilon = 1e-5f;
  bool center = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("epsilon", s.epsilon), f("center", s.center);
  }
  static const OpDef& def();
  bool operator==(const LayerNorm&) const = default;
};

// Over each group of channels of x [N, C, ...], with per-channel scale and bias [C].
// ONNX GroupNormalization, and InstanceNormalization as groups = 0: one group a channel.
struct GroupNorm {
  std::int64_t groups = 0;
  float epsilon = 1e-5f;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("groups", s.groups), f("epsilon", s.epsilon);
  }
  static const OpDef& def();
  bool operator==(const GroupNorm&) const = default;
};

// Local response normalisation across channels.
struct Lrn {
  std::int64_t size = 1;
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("size", s.size), f("alpha", s.alpha), f("beta", s.beta), f("bias", s.bias);
  }
  static const OpDef& def();
  bool operator==(const Lrn&) const = default;
};

// x / max(|x|_p, epsilon) along one axis; 0 where the norm is 0. ONNX's has no epsilon.
struct LpNorm {
  std::int64_t axis = -1;
  std::int64_t p = 2;
  float epsilon = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("p", s.p), f("epsilon", s.epsilon);
  }
  static const OpDef& def();
  bool operator==(const LpNorm&) const = default;
};

enum class SoftmaxKind : std::uint8_t { softmax, log_softmax, hardmax };
// Along one axis, or with `flatten` (opsets below 13) over all dimensions from it on.
struct Softmax {
  SoftmaxKind kind = SoftmaxKind::softmax;
  std::int64_t axis = -1;
  bool flatten = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("axis", s.axis), f("flatten", s.flatten);
  }
  static const OpDef& def();
  bool operator==(const Softmax&) const = default;
};

// ---- quantised ---------------------------------------------------------------------------------

// (x, scale, zero_point?). scale: scalar, per axis, or blocked along it.
struct Quantize {
  std::int64_t axis = 1;
  std::int64_t block_size = 0;
  DType to = DType::u8;
  bool saturate = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("block_size", s.block_size), f("to", s.to), f("saturate", s.saturate);
  }
  static const OpDef& def();
  bool operator==(const Quantize&) const = default;
};

// (x, scale, zero_point?) -> the type of scale
struct Dequantize {
  std::int64_t axis = 1;
  std::int64_t block_size = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("block_size", s.block_size);
  }
  static const OpDef& def();
  bool operator==(const Dequantize&) const = default;
};

// x -> (u8 y, scale, zero_point)
struct DynamicQuantize {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  bool operator==(const DynamicQuantize&) const = default;
};

// (x, w, x_zero_point?, w_zero_point?) -> i32
struct ConvInteger {
  Window window;
  std::int64_t group = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    Window::fields(s.window, f), f("group", s.group);
  }
  static const OpDef& def();
  bool operator==(const ConvInteger&) const = default;
};

// (a, b, a_zero_point?, b_zero_point?) -> i32
struct MatMulInteger {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  bool operator==(const MatMulInteger&) const = default;
};

// (x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias i32?)
struct QLinearConv {
  Window window;
  std::int64_t group = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    Window::fields(s.window, f), f("group", s.group);
  }
  static const OpDef& def();
  bool operator==(const QLinearConv&) const = default;
};

// (a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point)
struct QLinearMatMul {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  bool operator==(const QLinearMatMul&) const = default;
};

// ---- shape and movement ------------------------------------------------------------------------

// The same value. With a rank, a check: a tensor of another rank is an error.
struct Identity {
  std::int64_t rank = -1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("rank", s.rank);
  }
  static const OpDef& def();
  bool operator==(const Identity&) const = default;
};

// (x, shape): 0 copies the dimension (unless allow_zero), -1 is what is left.
struct Reshape {
  bool allow_zero = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("allow_zero", s.allow_zero);
  }
  static const OpDef& def();
  bool operator==(const Reshape&) const = default;
};

// (x, axes?)
struct Squeeze {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  bool operator==(const Squeeze&) const = default;
};

// (x, axes)
struct Unsqueeze {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  bool operator==(const Unsqueeze&) const = default;
};

// To two dimensions, cut before `axis`.
struct Flatten {
  std::int64_t axis = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
  static const OpDef& def();
  bool operator==(const Flatten&) const = default;
};

// Dimensions [start, end) of x as i64.
struct ShapeOf {
  std::int64_t start = 0;
  std::optional<std::int64_t> end;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("start", s.start), f("end", s.end);
  }
  static const OpDef& def();
  bool operator==(const ShapeOf&) const = default;
};

// Number of elements of x as an i64 scalar.
struct SizeOf {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  bool operator==(const SizeOf&) const = default;
};

// (shape) -> a tensor filled with `value`, given as raw bits of one element of `dtype`.
struct ConstantOfShape {
  DType dtype = DType::f32;
  std::uint64_t bits = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("dtype", s.dtype), f("bits", s.bits);
  }
  static const OpDef& def();
  bool operator==(const ConstantOfShape&) const = default;
};

// (start, limit, delta) scalars
struct Range {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  bool operator==(const Range&) const = default;
};

// Permutation of the dimensions; empty: reversed.
struct Transpose {
  Ints perm;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("perm", s.perm);
  }
  static const OpDef& def();
  bool operator==(const Transpose&) const = default;
};

struct Concat {
  std::int64_t axis = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
  static const OpDef& def();
  bool operator==(const Concat&) const = default;
};

// (x, sizes?): without sizes into as many parts as there are outputs, the last one smaller.
struct Split {
  std::int64_t axis = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
  static const OpDef& def();
  bool operator==(const Split&) const = default;
};

// (x, starts, ends, axes?, steps?)
struct Slice {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  bool operator==(const Slice&) const = default;
};

enum class PadMode : std::uint8_t { constant, reflect, edge, wrap };
// (x, pads, value?, axes?): pads may be negative (they crop).
struct Pad {
  PadMode mode = PadMode::constant;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("mode", s.mode);
  }
  static const OpDef& def();
  bool operator==(const Pad&) const = default;
};

// (x, shape): numpy broadcast to the larger of both.
struct Expand {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  bool operator==(const Expand&) const = default;
};

// (x, repeats)
struct Tile {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  bool operator==(const Tile&) const = default;
};

enum class GatherKind : std::uint8_t { axis, elements, nd };
// ONNX Gather, GatherElements, GatherND: (data, indices). Negative indices count from the end; one
// out of range is an error of the run.
struct Gather {
  GatherKind kind = GatherKind::axis;
  std::int64_t axis = 0;
  std::int64_t batch_dims = 0;  // of nd

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("axis", s.axis), f("batch_dims", s.batch_dims);
  }
  static const OpDef& def();
  bool operator==(const Gather&) const = default;
};

enum class ScatterKind : std::uint8_t { elements, nd };
enum class ScatterReduction : std::uint8_t { none, add, mul, max, min };
// ONNX ScatterElements (and Scatter), ScatterND: (data, indices, updates).
struct Scatter {
  ScatterKind kind = ScatterKind::elements;
  std::int64_t axis = 0;
  ScatterReduction reduction = ScatterReduction::none;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("axis", s.axis), f("reduction", s.reduction);
  }
  static const OpDef& def();
  bool operator==(const Scatter&) const = default;
};

enum class DepthSpaceKind : std::uint8_t { depth_to_space_dcr, depth_to_space_crd, space_to_depth };
struct DepthSpace {
  DepthSpaceKind kind = DepthSpaceKind::depth_to_space_dcr;
  std::int64_t block = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("block", s.block);
  }
  static const OpDef& def();
  bool operator==(const DepthSpace&) const = default;
};

// (x): ones on the k-th diagonal of a matrix of x's shape.
struct EyeLike {
  std::int64_t k = 0;
  std::optional<DType> dtype;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("k", s.k), f("dtype", s.dtype);
  }
  static const OpDef& def();
  bool operator==(const EyeLike&) const = default;
};

// (indices, depth, values [off, on])
struct OneHot {
  std::int64_t axis = -1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
  static const OpDef& def();
  bool operator==(const OneHot&) const = default;
};

// (x, k?): keeps the upper or the lower triangle.
struct Trilu {
  bool upper = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("upper", s.upper);
  }
  static const OpDef& def();
  bool operator==(const Trilu&) const = default;
};

// (x, lengths)
struct ReverseSequence {
  std::int64_t batch_axis = 1;
  std::int64_t time_axis = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("batch_axis", s.batch_axis), f("time_axis", s.time_axis);
  }
  static const OpDef& def();
  bool operator==(const ReverseSequence&) const = default;
};

// ---- resampling --------------------------------------------------------------------------------

enum class ResizeMode : std::uint8_t { nearest, linear, cubic };
enum class CoordinateMode : std::uint8_t {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_crop_and_resize,
  tf_half_pixel_for_nn
};
enum class NearestMode : std::uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };
enum class AspectPolicy : std::uint8_t { stretch, not_larger, not_smaller };
// (x, roi?, scales?, sizes?); ONNX Resize and Upsample.
struct Resize {
  ResizeMode mode = ResizeMode::nearest;
  CoordinateMode coordinates = CoordinateMode::half_pixel;
  NearestMode nearest = NearestMode::round_prefer_floor;
  AspectPolicy aspect = AspectPolicy::stretch;
  float cubic_coeff_a = -0.75f;
  float extrapolation_value = 0;
  bool exclude_outside = false;
  bool antialias = false;
  Ints axes;  // empty: all

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("mode", s.mode), f("coordinates", s.coordinates), f("nearest", s.nearest);
    f("aspect", s.aspect), f("cubic_coeff_a", s.cubic_coeff_a);
    f("extrapolation_value", s.extrapolation_value), f("exclude_outside", s.exclude_outside);
    f("antialias", s.antialias), f("axes", s.axes);
  }
  static const OpDef& def();
  bool operator==(const Resize&) const = default;
};

enum class GridPadding : std::uint8_t { zeros, border, reflection };
// (x, grid)
struct GridSample {
  ResizeMode mode = ResizeMode::linear;
  GridPadding padding = GridPadding::zeros;
  bool align_corners = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("mode", s.mode), f("padding", s.padding), f("align_corners", s.align_corners);
  }
  static const OpDef& def();
  bool operator==(const GridSample&) const = default;
};

// (theta, size)
struct AffineGrid {
  bool align_corners = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("align_corners", s.align_corners);
  }
  static const OpDef& def();
  bool operator==(const AffineGrid&) const = default;
};

// ---- recurrent ---------------------------------------------------------------------------------

enum class RnnKind : std::uint8_t { rnn, gru, lstm };
enum class Direction : std::uint8_t { forward, reverse, bidirectional };
// ONNX RNN, GRU, LSTM with their inputs (x, w, r, b?, sequence_lens?, initial_h?, initial_c?, p?)
// and outputs (y?, y_h?, y_c?). `activations` are per direction in ONNX's order.
struct Rnn {
  RnnKind kind = RnnKind::lstm;
  Direction direction = Direction::forward;
  std::int64_t hidden_size = 0;
  std::vector<Unary> activations;
  float clip = 0;  // 0: none
  bool input_forget = false;
  bool linear_before_reset = false;
  bool batch_first = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("direction", s.direction), f("hidden_size", s.hidden_size);
    f("activations", s.activations), f("clip", s.clip), f("input_forget", s.input_forget);
    f("linear_before_reset", s.linear_before_reset), f("batch_first", s.batch_first);
  }
  static const OpDef& def();
  bool operator==(const Rnn&) const = default;
};

// ---- shapes that depend on data ----------------------------------------------------------------

// (x, k) -> values, i64 indices. NaN counts as the greatest.
struct TopK {
  std::int64_t axis = -1;
  bool largest = true;
  bool sorted = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("largest", s.largest), f("sorted", s.sorted);
  }
  static const OpDef& def();
  bool operator==(const TopK&) const = default;
};

struct NonZero {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  bool operator==(const NonZero&) const = default;
};

// -> values, first indices?, inverse indices?, counts?
struct Unique {
  std::optional<std::int64_t> axis;
  bool sorted = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("sorted", s.sorted);
  }
  static const OpDef& def();
  bool operator==(const Unique&) const = default;
};

// (x, condition)
struct Compress {
  std::optional<std::int64_t> axis;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
  static const OpDef& def();
  bool operator==(const Compress&) const = default;
};

// (boxes, scores, max_output_boxes?, iou_threshold?, score_threshold?) -> i64 [n, 3]
struct NonMaxSuppression {
  bool center_point_box = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("center_point_box", s.center_point_box);
  }
  static const OpDef& def();
  bool operator==(const NonMaxSuppression&) const = default;
};

// ---- random, spectral --------------------------------------------------------------------------

enum class RandomKind : std::uint8_t { uniform, normal };
// (shape) -> samples of our counter-based generator: a seed gives the same values on every run.
struct Random {
  RandomKind kind = RandomKind::uniform;
  DType dtype = DType::f32;
  float low_or_mean = 0;
  float high_or_scale = 1;
  std::uint64_t seed = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("dtype", s.dtype), f("low_or_mean", s.low_or_mean);
    f("high_or_scale", s.high_or_scale), f("seed", s.seed);
  }
  static const OpDef& def();
  bool operator==(const Random&) const = default;
};

// (log probabilities [batch, classes]) -> drawn class indices [batch, samples]
struct Multinomial {
  DType dtype = DType::i32;
  std::int64_t sample_size = 1;
  std::uint64_t seed = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("dtype", s.dtype), f("sample_size", s.sample_size), f("seed", s.seed);
  }
  static const OpDef& def();
  bool operator==(const Multinomial&) const = default;
};

// (x, dft_length?, axis?)
struct Dft {
  bool inverse = false;
  bool onesided = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("inverse", s.inverse), f("onesided", s.onesided);
  }
  static const OpDef& def();
  bool operator==(const Dft&) const = default;
};

// (signal, frame_step, window?, frame_length?)
struct Stft {
  bool onesided = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("onesided", s.onesided);
  }
  static const OpDef& def();
  bool operator==(const Stft&) const = default;
};

// (num_mel_bins, dft_length, sample_rate, lower_edge, upper_edge)
struct MelWeightMatrix {
  DType dtype = DType::f32;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("dtype", s.dtype);
  }
  static const OpDef& def();
  bool operator==(const MelWeightMatrix&) const = default;
};

// ---- strings -----------------------------------------------------------------------------------

enum class CaseAction : std::uint8_t { none, lower, upper };
struct StringNormalizer {
  CaseAction case_change = CaseAction::none;
  bool case_sensitive = false;
  std::vector<std::string> stopwords;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("case_change", s.case_change), f("case_sensitive", s.case_sensitive);
    f("stopwords", s.stopwords);
  }
  static const OpDef& def();
  bool operator==(const StringNormalizer&) const = default;
};

enum class TfIdfMode : std::uint8_t { tf, idf, tfidf };
struct TfIdfVectorizer {
  TfIdfMode mode = TfIdfMode::tf;
  std::int64_t min_gram_length = 1;
  std::int64_t max_gram_length = 1;
  std::int64_t max_skip_count = 0;
  Ints ngram_counts;
  Ints ngram_indexes;
  Ints pool_int64s;
  std::vector<std::string> pool_strings;
  std::vector<float> weights;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("mode", s.mode), f("min_gram_length", s.min_gram_length);
    f("max_gram_length", s.max_gram_length), f("max_skip_count", s.max_skip_count);
    f("ngram_counts", s.ngram_counts), f("ngram_indexes", s.ngram_indexes);
    f("pool_int64s", s.pool_int64s), f("pool_strings", s.pool_strings), f("weights", s.weights);
  }
  static const OpDef& def();
  bool operator==(const TfIdfVectorizer&) const = default;
};

// ---- control flow ------------------------------------------------------------------------------
// Bodies are graphs of the node. What a body reads of the outer scope is an explicit input of the
// node, after the op's own ones, and an input of the body, after its own ones.

// (condition, captures...); bodies: then, else, each with the captures as inputs.
struct If {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  bool operator==(const If&) const = default;
};

// (trip count?, condition?, carried..., captures...); body: (iteration, condition, carried...,
// captures...) -> (condition, carried..., scanned...)
struct Loop {
  std::int64_t carried = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("carried", s.carried);
  }
  static const OpDef& def();
  bool operator==(const Loop&) const = default;
};

// (states..., scanned inputs..., captures...); body: (states..., elements..., captures...) ->
// (states..., elements...). axes and directions as in opset 9 and later.
struct Scan {
  std::int64_t states = 0;
  std::int64_t scanned_inputs = 0;
  Ints input_axes;
  Ints input_directions;
  Ints output_axes;
  Ints output_directions;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("states", s.states), f("scanned_inputs", s.scanned_inputs), f("input_axes", s.input_axes);
    f("input_directions", s.input_directions), f("output_axes", s.output_axes);
    f("output_directions", s.output_directions);
  }
  static const OpDef& def();
  bool operator==(const Scan&) const = default;
};

// ---- sequences and optionals -------------------------------------------------------------------
// A sequence is a tuple of tensors: planning knows its length and resolves these to aliases.

enum class SequenceKind : std::uint8_t { construct, empty, at, insert, erase, length };
// construct(x...), empty(), at(s, i), insert(s, x, i?), erase(s, i?), length(s)
struct Sequence {
  SequenceKind kind = SequenceKind::construct;
  DType dtype = DType::f32;  // of empty

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("dtype", s.dtype);
  }
  static const OpDef& def();
  bool operator==(const Sequence&) const = default;
};

// (x, split?): parts of one size or of given sizes along `axis`.
struct SplitToSequence {
  std::int64_t axis = 0;
  bool keepdims = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("keepdims", s.keepdims);
  }
  static const OpDef& def();
  bool operator==(const SplitToSequence&) const = default;
};

struct ConcatFromSequence {
  std::int64_t axis = 0;
  bool new_axis = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("new_axis", s.new_axis);
  }
  static const OpDef& def();
  bool operator==(const ConcatFromSequence&) const = default;
};

// (sequence, more sequences or tensors..., captures...); body: (elements..., captures...).
struct SequenceMap {
  std::int64_t inputs = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("inputs", s.inputs);
  }
  static const OpDef& def();
  bool operator==(const SequenceMap&) const = default;
};

enum class OptionalKind : std::uint8_t { make, has_element, get_element };
struct Optional {
  OptionalKind kind = OptionalKind::make;
  DType dtype = DType::f32;  // of an empty make
  bool of_sequence = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("dtype", s.dtype), f("of_sequence", s.of_sequence);
  }
  static const OpDef& def();
  bool operator==(const Optional&) const = default;
};

// The order is part of nothing but error messages of the linker: add at the end of a section.
using OpVariant = std::variant<
    // elementwise
    Unary, Binary, Where, Cast, BitCast,
    // reduction
    Reduce, ArgReduce, Cumulative,
    // matrix products
    MatMul, Einsum, Det, Attention,
    // convolution and pooling
    Conv, ConvTranspose, DeformConv, Col2Im, Pool, MaxUnpool, RoiPool,
    // normalisation
    BatchNorm, LayerNorm, GroupNorm, Lrn, LpNorm, Softmax,
    // quantised
    Quantize, Dequantize, DynamicQuantize, ConvInteger, MatMulInteger, QLinearConv, QLinearMatMul,
    // shape and movement
    Identity, Reshape, Squeeze, Unsqueeze, Flatten, ShapeOf, SizeOf, ConstantOfShape, Range,
    Transpose, Concat, Split, Slice, Pad, Expand, Tile, Gather, Scatter, DepthSpace, EyeLike,
    OneHot, Trilu, ReverseSequence,
    // resampling
    Resize, GridSample, AffineGrid,
    // recurrent
    Rnn,
    // shapes that depend on data
    TopK, NonZero, Unique, Compress, NonMaxSuppression,
    // random, spectral
    Random, Multinomial, Dft, Stft, MelWeightMatrix,
    // strings
    StringNormalizer, TfIdfVectorizer,
    // control flow
    If, Loop, Scan,
    // sequences and optionals
    Sequence, SplitToSequence, ConcatFromSequence, SequenceMap, Optional>;

// What copies, moves, compares and destroys so many alternatives is made once, in ops.cpp: in every
// file that includes this, it took half of the time to compile.
class Op : public OpVariant {
 public:
  Op();
  Op(const Op& other);
  Op(Op&& other) noexcept;
  Op& operator=(const Op& other);
  Op& operator=(Op&& other) noexcept;
  ~Op();
  template <class T>
  requires requires { T::def(); }
  Op(T op)  // every alternative is an Op
      : OpVariant(std::in_place_type<T>, std::move(op)) {}
  bool operator==(const Op& other) const;
};

// ---- post-ops ----------------------------------------------------------------------------------

// A binary step after the op itself: with the node's input `operand`, which must broadcast to the
// result without changing its shape. `swapped`: the operand stands on the left.
struct BinaryPostOp {
  BinaryKind kind = BinaryKind::add;
  std::uint32_t operand = 0;
  bool swapped = false;

  bool operator==(const BinaryPostOp&) const = default;
};

// What a node does to its first output after the op itself, in order.
using PostOp = std::variant<Unary, BinaryPostOp>;
using PostOps = std::vector<PostOp>;

}  // namespace quern
