// SPDX-License-Identifier: Apache-2.0
// The operators of GraphBuilder: each makes the struct of its family and hands it on.
#include <bit>
#include <cstring>

#include "engine/builder/graph_builder_impl.h"
#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/control_flow.h"
#include "graph/ops/convolution.h"
#include "graph/ops/data_dependent.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/indexing.h"
#include "graph/ops/matrix.h"
#include "graph/ops/movement.h"
#include "graph/ops/normalisation.h"
#include "graph/ops/quantised.h"
#include "graph/ops/random.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/reduction.h"
#include "graph/ops/resampling.h"
#include "graph/ops/sequences.h"
#include "graph/ops/shape.h"

namespace quern {
namespace {

// The enumerator of this name; an error that lists them.
template <class E>
E named_kind(GraphBuilder::Impl& g, std::string_view operation, std::string_view name) {
  const auto names = enum_names(E());
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<E>(i);
    all += cat(i ? ", " : "", names[i]);
  }
  g.fail(operation, cat("no '", printable(name), "'; there is: ", all));
  return E();
}

struct ElementBits {
  double value;

  template <class T>
  std::uint64_t operator()(TypeTag<T>) const {
    std::uint64_t bits = 0;
    if constexpr (!std::is_same_v<T, StringRef>) {
      const T element = convert<T>(value);
      std::memcpy(&bits, &element, sizeof element);
    }
    return bits;
  }
};

template <class Options>
Window window_of(GraphBuilder::Impl& g, std::string_view operation, const Options& o,
                 IntList kernel = {}) {
  Window w{.kernel = std::move(kernel), .strides = o.strides, .pads = o.pads};
  if constexpr (requires { o.dilations; }) w.dilations = o.dilations;
  if constexpr (requires { o.auto_pad; })
    w.auto_pad = named_kind<AutoPad>(g, operation, o.auto_pad);
  return w;
}

}  // namespace

Operand GraphBuilder::scalar(double value, DType dtype) {
  if (dtype == DType::string) impl_->fail("scalar", "a string is no number");
  const std::uint64_t bits = visit_dtype(dtype, ElementBits{value});
  auto tensor =
      Tensor::copy_of({dtype, {}}, std::as_bytes(std::span(&bits, 1)).first(quern::size_of(dtype)));
  return impl_->constant(tensor ? *std::move(tensor) : Tensor());
}

// ---- elementwise -------------------------------------------------------------------------------

#define QUERN_UNARY(kind)                            \
  Operand GraphBuilder::kind(Operand x) {            \
    return impl_->emit(Unary{UnaryKind::kind}, {x}); \
  }
#define QUERN_UNARY_ALPHA(kind)                             \
  Operand GraphBuilder::kind(Operand x, double alpha) {     \
    return impl_->emit(Unary{UnaryKind::kind, alpha}, {x}); \
  }
#define QUERN_BINARY(kind)                                \
  Operand GraphBuilder::kind(Operand a, Operand b) {      \
    return impl_->emit(Binary{BinaryKind::kind}, {a, b}); \
  }

// clang-format off
QUERN_UNARY(abs) QUERN_UNARY(neg) QUERN_UNARY(sign) QUERN_UNARY(ceil) QUERN_UNARY(floor)
QUERN_UNARY(round) QUERN_UNARY(sqrt) QUERN_UNARY(reciprocal) QUERN_UNARY(exp) QUERN_UNARY(log)
QUERN_UNARY(sin) QUERN_UNARY(cos) QUERN_UNARY(tan) QUERN_UNARY(asin) QUERN_UNARY(acos)
QUERN_UNARY(atan) QUERN_UNARY(sinh) QUERN_UNARY(cosh) QUERN_UNARY(tanh) QUERN_UNARY(asinh)
QUERN_UNARY(acosh) QUERN_UNARY(atanh) QUERN_UNARY(erf) QUERN_UNARY(sigmoid) QUERN_UNARY(relu)
QUERN_UNARY(hard_swish) QUERN_UNARY(softplus) QUERN_UNARY(softsign) QUERN_UNARY(mish)
QUERN_UNARY(gelu) QUERN_UNARY(gelu_tanh) QUERN_UNARY(is_nan) QUERN_UNARY(logical_not)
QUERN_UNARY(bitwise_not)

QUERN_UNARY_ALPHA(leaky_relu) QUERN_UNARY_ALPHA(elu) QUERN_UNARY_ALPHA(celu)
QUERN_UNARY_ALPHA(swish) QUERN_UNARY_ALPHA(thresholded_relu)

QUERN_BINARY(add) QUERN_BINARY(sub) QUERN_BINARY(mul) QUERN_BINARY(div) QUERN_BINARY(pow)
QUERN_BINARY(mod) QUERN_BINARY(fmod) QUERN_BINARY(min) QUERN_BINARY(max) QUERN_BINARY(prelu)
QUERN_BINARY(logical_and) QUERN_BINARY(logical_or) QUERN_BINARY(logical_xor)
QUERN_BINARY(bitwise_and) QUERN_BINARY(bitwise_or) QUERN_BINARY(bitwise_xor)
QUERN_BINARY(shift_left) QUERN_BINARY(shift_right) QUERN_BINARY(equal) QUERN_BINARY(less)
QUERN_BINARY(less_equal) QUERN_BINARY(greater) QUERN_BINARY(greater_equal)
// clang-format on

#undef QUERN_UNARY
#undef QUERN_UNARY_ALPHA
#undef QUERN_BINARY

                                                                            Operand
    GraphBuilder::selu(Operand x, double alpha, double gamma) {
  return impl_->emit(Unary{UnaryKind::selu, alpha, gamma}, {x});
}
Operand GraphBuilder::hard_sigmoid(Operand x, double slope, double offset) {
  return impl_->emit(Unary{UnaryKind::hard_sigmoid, slope, offset}, {x});
}
Operand GraphBuilder::shrink(Operand x, double lambd, double bias) {
  return impl_->emit(Unary{UnaryKind::shrink, lambd, bias}, {x});
}
Operand GraphBuilder::clip(Operand x, double low, double high) {
  return impl_->emit(Unary{UnaryKind::clip, low, high}, {x});
}
Operand GraphBuilder::is_inf(Operand x, const IsInfOptions& o) {
  return impl_->emit(
      Unary{UnaryKind::is_inf, o.detect_negative ? 1.0 : 0.0, o.detect_positive ? 1.0 : 0.0}, {x});
}
Operand GraphBuilder::where(Operand condition, Operand x, Operand y) {
  return impl_->emit(Where{}, {condition, x, y});
}
Operand GraphBuilder::cast(Operand x, DType to) {
  return impl_->emit(Cast{.to = to}, {x});
}
Operand GraphBuilder::bit_cast(Operand x, DType to) {
  return impl_->emit(BitCast{.to = to}, {x});
}

// ---- reduction ---------------------------------------------------------------------------------

Operand GraphBuilder::reduce(std::string_view kind, Operand x, Integers axes,
                             const ReduceOptions& o) {
  const auto k = named_kind<ReduceKind>(*impl_, "reduce", kind);
  return impl_->emit(Reduce{.kind = k, .keepdims = o.keepdims}, {x, impl_->integers(axes)});
}
Operand GraphBuilder::argmax(Operand x, std::int64_t axis, const ReduceOptions& o) {
  return impl_->emit(ArgReduce{.is_max = true, .axis = axis, .keepdims = o.keepdims}, {x});
}
Operand GraphBuilder::argmin(Operand x, std::int64_t axis, const ReduceOptions& o) {
  return impl_->emit(ArgReduce{.is_max = false, .axis = axis, .keepdims = o.keepdims}, {x});
}
Operand GraphBuilder::cumsum(Operand x, std::int64_t axis, const CumulativeOptions& o) {
  return impl_->emit(Cumulative{CumulativeKind::sum, o.exclusive, o.reverse},
                     {x, scalar(static_cast<double>(axis), DType::i64)});
}
Operand GraphBuilder::cumprod(Operand x, std::int64_t axis, const CumulativeOptions& o) {
  return impl_->emit(Cumulative{CumulativeKind::prod, o.exclusive, o.reverse},
                     {x, scalar(static_cast<double>(axis), DType::i64)});
}

// ---- matrix products ---------------------------------------------------------------------------

Operand GraphBuilder::matmul(Operand a, Operand b, const MatMulOptions& o) {
  return impl_->emit(MatMul{o.transpose_a, o.transpose_b, o.alpha}, {a, b});
}
Operand GraphBuilder::einsum(std::string equation, Operands operands) {
  return impl_->emit(Einsum{std::move(equation)}, operands);
}
Operand GraphBuilder::det(Operand x) {
  return impl_->emit(Det{}, {x});
}
Operand GraphBuilder::attention(Operand q, Operand k, Operand v, const AttentionOptions& o) {
  return impl_->emit(Attention{.scale = o.scale}, {q, k, v, o.mask});
}

// ---- convolution and pooling -------------------------------------------------------------------

Operand GraphBuilder::conv(Operand x, Operand w, Operand bias, const ConvOptions& o) {
  return impl_->emit(Conv{window_of(*impl_, "conv", o), o.group}, {x, w, bias});
}
Operand GraphBuilder::conv_transpose(Operand x, Operand w, Operand bias,
                                     const ConvTransposeOptions& o) {
  return impl_->emit(ConvTranspose{window_of(*impl_, "conv_transpose", o), o.group,
                                   o.output_padding, o.output_shape},
                     {x, w, bias});
}
Operand GraphBuilder::deform_conv(Operand x, Operand w, Operand offset, Operand bias, Operand mask,
                                  const DeformConvOptions& o) {
  return impl_->emit(DeformConv{window_of(*impl_, "deform_conv", o), o.group, o.offset_group},
                     {x, w, offset, bias, mask});
}
Operand GraphBuilder::col2im(Operand columns, Integers image_shape, Integers block_shape,
                             const ConvOptions& o) {
  return impl_->emit(Col2Im{o.strides, o.pads, o.dilations},
                     {columns, impl_->integers(image_shape), impl_->integers(block_shape)});
}

namespace {

Pool pool_of(GraphBuilder::Impl& g, PoolKind kind, IntList kernel, const PoolOptions& o) {
  return {.kind = kind,
          .window = window_of(g, "pool", o, std::move(kernel)),
          .ceil_mode = o.ceil_mode,
          .count_include_pad = o.count_include_pad};
}

}  // namespace

Operand GraphBuilder::max_pool(Operand x, IntList kernel, const PoolOptions& o) {
  return impl_->emit(pool_of(*impl_, PoolKind::max, std::move(kernel), o), {x});
}
Operands GraphBuilder::max_pool_indices(Operand x, IntList kernel, const PoolOptions& o) {
  return impl_->emit(pool_of(*impl_, PoolKind::max, std::move(kernel), o), {x}, 2);
}
Operand GraphBuilder::average_pool(Operand x, IntList kernel, const PoolOptions& o) {
  return impl_->emit(pool_of(*impl_, PoolKind::average, std::move(kernel), o), {x});
}
Operand GraphBuilder::lp_pool(Operand x, IntList kernel, std::int64_t p, const PoolOptions& o) {
  Pool op = pool_of(*impl_, PoolKind::lp, std::move(kernel), o);
  op.p = p;
  return impl_->emit(std::move(op), {x});
}
Operand GraphBuilder::global_max_pool(Operand x) {
  return impl_->emit(Pool{.kind = PoolKind::max, .global = true}, {x});
}
Operand GraphBuilder::global_average_pool(Operand x) {
  return impl_->emit(Pool{.kind = PoolKind::average, .global = true}, {x});
}
Operand GraphBuilder::max_unpool(Operand x, Operand indices, IntList kernel,
                                 const UnpoolOptions& o) {
  return impl_->emit(MaxUnpool{window_of(*impl_, "max_unpool", o, std::move(kernel))},
                     {x, indices, impl_->integers(o.output_shape)});
}
Operand GraphBuilder::roi_align(Operand x, Operand rois, Operand batch_indices,
                                const RoiAlignOptions& o) {
  return impl_->emit(RoiPool{.kind = o.max ? RoiKind::align_max : RoiKind::align_average,
                             .height = o.height,
                             .width = o.width,
                             .sampling_ratio = o.sampling_ratio,
                             .spatial_scale = o.spatial_scale,
                             .half_pixel = o.half_pixel},
                     {x, rois, batch_indices});
}
Operand GraphBuilder::max_roi_pool(Operand x, Operand rois, std::int64_t height, std::int64_t width,
                                   float spatial_scale) {
  return impl_->emit(
      RoiPool{
          .kind = RoiKind::max, .height = height, .width = width, .spatial_scale = spatial_scale},
      {x, rois});
}

// ---- normalisation -----------------------------------------------------------------------------

Operand GraphBuilder::batch_norm(Operand x, Operand scale, Operand bias, Operand mean,
                                 Operand variance, float epsilon) {
  return impl_->emit(BatchNorm{.epsilon = epsilon}, {x, scale, bias, mean, variance});
}
Operand GraphBuilder::layer_norm(Operand x, Operand scale, Operand bias, std::int64_t axis,
                                 float epsilon) {
  return impl_->emit(LayerNorm{axis, epsilon, true}, {x, scale, bias});
}
Operand GraphBuilder::rms_norm(Operand x, Operand scale, std::int64_t axis, float epsilon) {
  return impl_->emit(LayerNorm{axis, epsilon, false}, {x, scale});
}
Operand GraphBuilder::group_norm(Operand x, Operand scale, Operand bias, std::int64_t groups,
                                 float epsilon) {
  if (groups < 1) impl_->fail("group_norm", cat("has ", groups, " groups"));
  return impl_->emit(GroupNorm{groups, epsilon}, {x, scale, bias});
}
Operand GraphBuilder::instance_norm(Operand x, Operand scale, Operand bias, float epsilon) {
  return impl_->emit(GroupNorm{0, epsilon}, {x, scale, bias});
}
Operand GraphBuilder::lrn(Operand x, std::int64_t size, const LrnOptions& o) {
  return impl_->emit(Lrn{size, o.alpha, o.beta, o.bias}, {x});
}
Operand GraphBuilder::lp_norm(Operand x, std::int64_t axis, std::int64_t p) {
  return impl_->emit(LpNorm{.axis = axis, .p = p}, {x});
}
Operand GraphBuilder::softmax(Operand x, std::int64_t axis) {
  return impl_->emit(Softmax{SoftmaxKind::softmax, axis}, {x});
}
Operand GraphBuilder::log_softmax(Operand x, std::int64_t axis) {
  return impl_->emit(Softmax{SoftmaxKind::log_softmax, axis}, {x});
}
Operand GraphBuilder::hardmax(Operand x, std::int64_t axis) {
  return impl_->emit(Softmax{SoftmaxKind::hardmax, axis}, {x});
}

// ---- quantised ---------------------------------------------------------------------------------

Operand GraphBuilder::quantize(Operand x, Operand scale, Operand zero_point,
                               const QuantizeOptions& o) {
  Quantize op{.axis = o.axis, .block_size = o.block_size, .to = o.to};
  const auto zero = impl_->value("quantize", zero_point);
  if (zero && *zero != no_value) op.to = impl_->graph.type(*zero).dtype;
  return impl_->emit(op, {x, scale, zero_point});
}
Operand GraphBuilder::dequantize(Operand x, Operand scale, Operand zero_point, std::int64_t axis,
                                 std::int64_t block_size) {
  return impl_->emit(Dequantize{axis, block_size}, {x, scale, zero_point});
}
std::array<Operand, 3> GraphBuilder::dynamic_quantize(Operand x) {
  const Operands y = impl_->emit(DynamicQuantize{}, {x}, 3);
  return {y[0], y[1], y[2]};
}
Operand GraphBuilder::conv_integer(Operand x, Operand w, Operand x_zero_point, Operand w_zero_point,
                                   const ConvOptions& o) {
  return impl_->emit(ConvInteger{window_of(*impl_, "conv_integer", o), o.group},
                     {x, w, x_zero_point, w_zero_point});
}
Operand GraphBuilder::matmul_integer(Operand a, Operand b, Operand a_zero_point,
                                     Operand b_zero_point) {
  return impl_->emit(MatMulInteger{}, {a, b, a_zero_point, b_zero_point});
}
Operand GraphBuilder::qlinear_conv(Operands operands, const ConvOptions& o) {
  return impl_->emit(QLinearConv{window_of(*impl_, "qlinear_conv", o), o.group}, operands);
}
Operand GraphBuilder::qlinear_matmul(Operands operands) {
  return impl_->emit(QLinearMatMul{}, operands);
}

// ---- shape and movement ------------------------------------------------------------------------

Operand GraphBuilder::identity(Operand x) {
  return impl_->emit(Identity{}, {x});
}
Operand GraphBuilder::reshape(Operand x, Integers shape, const ReshapeOptions& o) {
  shape.given = true;
  return impl_->emit(Reshape{o.allow_zero}, {x, impl_->integers(shape)});
}
Operand GraphBuilder::squeeze(Operand x, Integers axes) {
  return impl_->emit(Squeeze{}, {x, impl_->integers(axes)});
}
Operand GraphBuilder::unsqueeze(Operand x, Integers axes) {
  return impl_->emit(Unsqueeze{}, {x, impl_->integers(axes)});
}
Operand GraphBuilder::flatten(Operand x, std::int64_t axis) {
  return impl_->emit(Flatten{axis}, {x});
}
Operand GraphBuilder::shape_of(Operand x) {
  return impl_->emit(ShapeOf{}, {x});
}
Operand GraphBuilder::size_of(Operand x) {
  return impl_->emit(SizeOf{}, {x});
}
Operand GraphBuilder::fill(Integers shape, double value, DType dtype) {
  shape.given = true;
  if (dtype == DType::string) impl_->fail("fill", "a string is no number");
  return impl_->emit(ConstantOfShape{dtype, visit_dtype(dtype, ElementBits{value})},
                     {impl_->integers(shape)});
}
Operand GraphBuilder::range(Operand start, Operand limit, Operand delta) {
  return impl_->emit(Range{}, {start, limit, delta});
}
Operand GraphBuilder::transpose(Operand x, IntList perm) {
  return impl_->emit(Transpose{std::move(perm)}, {x});
}
Operand GraphBuilder::concat(Operands parts, std::int64_t axis) {
  return impl_->emit(Concat{axis}, parts);
}
Operands GraphBuilder::split(Operand x, IntList sizes, std::int64_t axis) {
  return impl_->emit(Split{axis}, {x, impl_->integers(sizes)}, sizes.size());
}
Operands GraphBuilder::split_equal(Operand x, std::size_t parts, std::int64_t axis) {
  return impl_->emit(Split{axis}, {x}, parts);
}
Operand GraphBuilder::slice(Operand x, Integers starts, Integers ends, const SliceOptions& o) {
  return impl_->emit(Slice{}, {x, impl_->integers(starts), impl_->integers(ends),
                               impl_->integers(o.axes), impl_->integers(o.steps)});
}
Operand GraphBuilder::pad(Operand x, Integers pads, const PadOptions& o) {
  return impl_->emit(Pad{named_kind<PadMode>(*impl_, "pad", o.mode)},
                     {x, impl_->integers(pads), o.value, impl_->integers(o.axes)});
}
Operand GraphBuilder::expand(Operand x, Integers shape) {
  return impl_->emit(Expand{}, {x, impl_->integers(shape)});
}
Operand GraphBuilder::tile(Operand x, Integers repeats) {
  return impl_->emit(Tile{}, {x, impl_->integers(repeats)});
}
Operand GraphBuilder::gather(Operand x, Operand indices, std::int64_t axis) {
  return impl_->emit(Gather{.kind = GatherKind::axis, .axis = axis}, {x, indices});
}
Operand GraphBuilder::gather_elements(Operand x, Operand indices, std::int64_t axis) {
  return impl_->emit(Gather{.kind = GatherKind::elements, .axis = axis}, {x, indices});
}
Operand GraphBuilder::gather_nd(Operand x, Operand indices, std::int64_t batch_dims) {
  return impl_->emit(Gather{.kind = GatherKind::nd, .batch_dims = batch_dims}, {x, indices});
}
Operand GraphBuilder::scatter_elements(Operand x, Operand indices, Operand updates,
                                       std::int64_t axis, std::string_view reduction) {
  const auto r = named_kind<ScatterReduction>(*impl_, "scatter_elements", reduction);
  return impl_->emit(Scatter{ScatterKind::elements, axis, r}, {x, indices, updates});
}
Operand GraphBuilder::scatter_nd(Operand x, Operand indices, Operand updates,
                                 std::string_view reduction) {
  const auto r = named_kind<ScatterReduction>(*impl_, "scatter_nd", reduction);
  return impl_->emit(Scatter{ScatterKind::nd, 0, r}, {x, indices, updates});
}
Operand GraphBuilder::depth_to_space(Operand x, std::int64_t block, const DepthToSpaceOptions& o) {
  return impl_->emit(DepthSpace{o.column_row_depth ? DepthSpaceKind::depth_to_space_crd
                                                   : DepthSpaceKind::depth_to_space_dcr,
                                block},
                     {x});
}
Operand GraphBuilder::space_to_depth(Operand x, std::int64_t block) {
  return impl_->emit(DepthSpace{DepthSpaceKind::space_to_depth, block}, {x});
}
Operand GraphBuilder::eye_like(Operand x, std::int64_t k) {
  return impl_->emit(EyeLike{.k = k}, {x});
}
Operand GraphBuilder::one_hot(Operand indices, Operand depth, Operand off_on, std::int64_t axis) {
  return impl_->emit(OneHot{axis}, {indices, depth, off_on});
}
Operand GraphBuilder::triu(Operand x, std::int64_t k) {
  return impl_->emit(Trilu{true}, {x, scalar(static_cast<double>(k), DType::i64)});
}
Operand GraphBuilder::tril(Operand x, std::int64_t k) {
  return impl_->emit(Trilu{false}, {x, scalar(static_cast<double>(k), DType::i64)});
}
Operand GraphBuilder::reverse_sequence(Operand x, Operand lengths, std::int64_t batch_axis,
                                       std::int64_t time_axis) {
  return impl_->emit(ReverseSequence{batch_axis, time_axis}, {x, lengths});
}

// ---- resampling --------------------------------------------------------------------------------

Operand GraphBuilder::resize(Operand x, const ResizeOptions& o) {
  if (o.scales.present() == o.sizes.given)
    impl_->fail("resize", "takes exactly one of scales and sizes");
  Impl& g = *impl_;
  return g.emit(Resize{.mode = named_kind<ResizeMode>(g, "resize", o.mode),
                       .coordinates = named_kind<CoordinateMode>(g, "resize", o.coordinates),
                       .nearest = named_kind<NearestMode>(g, "resize", o.nearest),
                       .aspect = named_kind<AspectPolicy>(g, "resize", o.aspect),
                       .cubic_coeff_a = o.cubic_coeff_a,
                       .extrapolation_value = o.extrapolation_value,
                       .exclude_outside = o.exclude_outside,
                       .antialias = o.antialias,
                       .axes = o.axes},
                {x, o.roi, o.scales, g.integers(o.sizes)});
}
Operand GraphBuilder::grid_sample(Operand x, Operand grid, const GridSampleOptions& o) {
  return impl_->emit(
      GridSample{named_kind<ResizeMode>(*impl_, "grid_sample", o.mode),
                 named_kind<GridPadding>(*impl_, "grid_sample", o.padding), o.align_corners},
      {x, grid});
}
Operand GraphBuilder::affine_grid(Operand theta, Integers size, const AffineGridOptions& o) {
  return impl_->emit(AffineGrid{o.align_corners}, {theta, impl_->integers(size)});
}

// ---- recurrent ---------------------------------------------------------------------------------

namespace {

Operands recurrent(GraphBuilder::Impl& g, RnnKind kind, const Operands& xwr, std::int64_t hidden,
                   const RnnOptions& o) {
  return g.emit(
      Rnn{.kind = kind,
          .direction = named_kind<Direction>(g, enum_name(kind), o.direction),
          .hidden_size = hidden,
          .linear_before_reset = o.linear_before_reset,
          .batch_first = o.batch_first},
      {xwr[0], xwr[1], xwr[2], o.bias, o.sequence_lengths, o.initial_h, o.initial_c, o.peepholes},
      kind == RnnKind::lstm ? 3 : 2);
}

}  // namespace

std::array<Operand, 2> GraphBuilder::rnn(Operand x, Operand w, Operand r, std::int64_t hidden_size,
                                         const RnnOptions& o) {
  const Operands y = recurrent(*impl_, RnnKind::rnn, {x, w, r}, hidden_size, o);
  return {y[0], y[1]};
}
std::array<Operand, 2> GraphBuilder::gru(Operand x, Operand w, Operand r, std::int64_t hidden_size,
                                         const RnnOptions& o) {
  const Operands y = recurrent(*impl_, RnnKind::gru, {x, w, r}, hidden_size, o);
  return {y[0], y[1]};
}
std::array<Operand, 3> GraphBuilder::lstm(Operand x, Operand w, Operand r, std::int64_t hidden_size,
                                          const RnnOptions& o) {
  const Operands y = recurrent(*impl_, RnnKind::lstm, {x, w, r}, hidden_size, o);
  return {y[0], y[1], y[2]};
}

// ---- search, random, spectral ------------------------------------------------------------------

std::array<Operand, 2> GraphBuilder::top_k(Operand x, Integers k, std::int64_t axis,
                                           const TopKOptions& o) {
  const Operands y = impl_->emit(TopK{axis, o.largest, o.sorted}, {x, impl_->integers(k)}, 2);
  return {y[0], y[1]};
}
Operand GraphBuilder::non_zero(Operand x) {
  return impl_->emit(NonZero{}, {x});
}
std::array<Operand, 4> GraphBuilder::unique(Operand x, const UniqueOptions& o) {
  Unique op{.sorted = o.sorted};
  if (!o.flat) op.axis = o.axis;
  const Operands y = impl_->emit(op, {x}, 4);
  return {y[0], y[1], y[2], y[3]};
}
Operand GraphBuilder::compress(Operand x, Operand condition) {
  return impl_->emit(Compress{}, {x, condition});
}
Operand GraphBuilder::compress(Operand x, Operand condition, std::int64_t axis) {
  return impl_->emit(Compress{axis}, {x, condition});
}
Operand GraphBuilder::non_max_suppression(Operand boxes, Operand scores,
                                          const NonMaxSuppressionOptions& o) {
  return impl_->emit(NonMaxSuppression{o.center_point_box},
                     {boxes, scores, o.max_output_boxes, o.iou_threshold, o.score_threshold});
}
Operand GraphBuilder::random_uniform(Integers shape, float low, float high, std::uint64_t seed) {
  shape.given = true;
  return impl_->emit(Random{RandomKind::uniform, DType::f32, low, high, seed},
                     {impl_->integers(shape)});
}
Operand GraphBuilder::random_normal(Integers shape, float mean, float scale, std::uint64_t seed) {
  shape.given = true;
  return impl_->emit(Random{RandomKind::normal, DType::f32, mean, scale, seed},
                     {impl_->integers(shape)});
}
Operand GraphBuilder::multinomial(Operand log_probabilities, std::int64_t samples,
                                  std::uint64_t seed) {
  return impl_->emit(Multinomial{.sample_size = samples, .seed = seed}, {log_probabilities});
}
Operand GraphBuilder::dft(Operand x, Integers length, std::int64_t axis, const DftOptions& o) {
  // ONNX wants the length as a scalar.
  const Operand n = length.operand.present() || length.list.size() != 1
                        ? impl_->integers(length)
                        : scalar(static_cast<double>(length.list[0]), DType::i64);
  return impl_->emit(Dft{o.inverse, o.onesided},
                     {x, n, scalar(static_cast<double>(axis), DType::i64)});
}
Operand GraphBuilder::stft(Operand signal, Operand frame_step, Operand window, Operand frame_length,
                           const StftOptions& o) {
  return impl_->emit(Stft{o.onesided}, {signal, frame_step, window, frame_length});
}
Operand GraphBuilder::mel_weight_matrix(Operand bins, Operand dft_length, Operand sample_rate,
                                        Operand lower_hertz, Operand upper_hertz) {
  return impl_->emit(MelWeightMatrix{}, {bins, dft_length, sample_rate, lower_hertz, upper_hertz});
}

// ---- control flow ------------------------------------------------------------------------------

namespace {

Operands joined(std::initializer_list<const Operands*> lists) {
  Operands all;
  for (const Operands* l : lists) all.insert(all.end(), l->begin(), l->end());
  return all;
}

std::vector<Graph> bodies(Graph first) {
  std::vector<Graph> list;
  list.push_back(std::move(first));
  return list;
}

// What is known before the first iteration and after each. False: `known` already said no more.
bool weaken(ValueType& known, const ValueType& after) {
  if (!known.dims) return false;
  if (!after.dims || after.dims->size() != known.dims->size()) {
    known.dims.reset();
    return true;
  }
  bool changed = false;
  for (std::size_t i = 0; i < known.dims->size(); ++i) {
    Dim& d = (*known.dims)[i];
    if (d.unknown() || d.same((*after.dims)[i])) continue;
    d = Dim();
    changed = true;
  }
  return changed;
}

// A body whose inputs from `first` on get what its outputs from `first_output` on give: built again
// until what it says of their shapes holds for every iteration.
std::optional<Graph> iterated_body(GraphBuilder::Impl& g, std::string_view operation,
                                   const GraphBuilder::Body& body, std::vector<ValueType> inputs,
                                   std::size_t first, std::size_t first_output, std::size_t count) {
  for (;;) {
    std::optional<Graph> graph = g.body(operation, body, inputs);
    if (!graph) return graph;
    if (graph->outputs().size() < first_output + count) {
      g.fail(operation, cat("the body gives ", graph->outputs().size(), " results, wants at least ",
                            first_output + count));
      return std::nullopt;
    }
    bool changed = false;
    for (std::size_t i = 0; i < count; ++i) {
      const ValueType after =
          g.graph.adopt(graph->type(graph->outputs()[first_output + i]), *graph);
      changed |= weaken(inputs[first + i], after);
    }
    if (!changed) return graph;
  }
}

}  // namespace

Operands GraphBuilder::if_(Operand condition, const Body& then_body, const Body& else_body,
                           Operands captures) {
  const auto types = impl_->types("if", captures);
  auto then_graph = impl_->body("if, then", then_body, types);
  auto else_graph = impl_->body("if, else", else_body, types);
  if (!then_graph || !else_graph) return {};
  const std::size_t outputs = then_graph->outputs().size();
  std::vector<Graph> both = bodies(*std::move(then_graph));
  both.push_back(*std::move(else_graph));
  const Operands own = {condition};
  return impl_->emit(If{}, joined({&own, &captures}), outputs, std::move(both));
}

Operands GraphBuilder::loop(Operand trips, Operand condition, Operands carried, const Body& body,
                            Operands captures) {
  std::vector<ValueType> types = {ValueType(DType::i64, Dims()), ValueType(DType::boolean, Dims())};
  for (const Operands* list : {&carried, &captures})
    for (ValueType& t : impl_->types("loop", *list)) types.push_back(std::move(t));
  auto graph = iterated_body(*impl_, "loop", body, std::move(types), 2, 1, carried.size());
  if (!graph) return {};
  const std::size_t outputs = graph->outputs().size() - 1;
  const Operands own = {trips, condition};
  return impl_->emit(Loop{static_cast<std::int64_t>(carried.size())},
                     joined({&own, &carried, &captures}), outputs, bodies(*std::move(graph)));
}

namespace {

// The type of the slices of `type` along `axis`.
std::optional<ValueType> slice_type(ValueType type, std::int64_t axis) {
  if (!type.dims) return type;
  const auto rank = static_cast<std::int64_t>(type.dims->size());
  if (axis < -rank || axis >= rank) return std::nullopt;
  type.dims->erase(type.dims->begin() + (axis < 0 ? axis + rank : axis));
  return type;
}

}  // namespace

Operands GraphBuilder::scan(Operands states, Operands scanned, const Body& body,
                            const ScanOptions& o, Operands captures) {
  std::vector<ValueType> types = impl_->types("scan", states);
  for (const ValueType& whole : impl_->types("scan", scanned)) {
    const std::size_t i = types.size() - states.size();
    const std::int64_t axis = i < o.input_axes.size() ? o.input_axes[i] : 0;
    const auto slice = slice_type(whole, axis);
    if (!slice) impl_->fail("scan", cat("axis ", axis, " is outside of rank ", whole.dims->size()));
    if (!status().ok()) return {};
    types.push_back(*slice);
  }
  for (ValueType& t : impl_->types("scan", captures)) types.push_back(std::move(t));
  auto graph = iterated_body(*impl_, "scan", body, std::move(types), 0, 0, states.size());
  if (!graph) return {};
  const std::size_t outputs = graph->outputs().size();
  return impl_->emit(Scan{.states = static_cast<std::int64_t>(states.size()),
                          .scanned_inputs = static_cast<std::int64_t>(scanned.size()),
                          .input_axes = o.input_axes,
                          .input_directions = o.input_directions,
                          .output_axes = o.output_axes,
                          .output_directions = o.output_directions},
                     joined({&states, &scanned, &captures}), outputs, bodies(*std::move(graph)));
}

// ---- sequences, optionals ----------------------------------------------------------------------

Operand GraphBuilder::sequence(Operands elements) {
  return impl_->emit(Sequence{SequenceKind::construct}, elements);
}
Operand GraphBuilder::sequence_empty(DType dtype) {
  return impl_->emit(Sequence{SequenceKind::empty, dtype}, {});
}
Operand GraphBuilder::sequence_at(Operand sequence, Operand position) {
  return impl_->emit(Sequence{SequenceKind::at}, {sequence, position});
}
Operand GraphBuilder::sequence_insert(Operand sequence, Operand element, Operand position) {
  return impl_->emit(Sequence{SequenceKind::insert}, {sequence, element, position});
}
Operand GraphBuilder::sequence_erase(Operand sequence, Operand position) {
  return impl_->emit(Sequence{SequenceKind::erase}, {sequence, position});
}
Operand GraphBuilder::sequence_length(Operand sequence) {
  return impl_->emit(Sequence{SequenceKind::length}, {sequence});
}
Operand GraphBuilder::split_to_sequence(Operand x, Operand split, std::int64_t axis,
                                        const SplitToSequenceOptions& o) {
  return impl_->emit(SplitToSequence{axis, o.keepdims}, {x, split});
}
Operand GraphBuilder::concat_from_sequence(Operand sequence, std::int64_t axis,
                                           const ConcatFromSequenceOptions& o) {
  return impl_->emit(ConcatFromSequence{axis, o.new_axis}, {sequence});
}
Operands GraphBuilder::sequence_map(Operands inputs, const Body& body, Operands captures) {
  std::vector<ValueType> types = impl_->types("sequence_map", inputs);
  for (ValueType& t : types)
    if (t.kind == ValueType::Kind::sequence) t.kind = ValueType::Kind::tensor;
  for (ValueType& t : impl_->types("sequence_map", captures)) types.push_back(std::move(t));
  auto graph = impl_->body("sequence_map", body, types);
  if (!graph) return {};
  const std::size_t outputs = graph->outputs().size();
  return impl_->emit(SequenceMap{static_cast<std::int64_t>(inputs.size())},
                     joined({&inputs, &captures}), outputs, bodies(*std::move(graph)));
}
Operand GraphBuilder::optional(Operand x) {
  return impl_->emit(Optional{OptionalKind::make}, {x});
}
Operand GraphBuilder::optional_has_element(Operand x) {
  return impl_->emit(Optional{OptionalKind::has_element}, {x});
}
Operand GraphBuilder::optional_get_element(Operand x) {
  return impl_->emit(Optional{OptionalKind::get_element}, {x});
}

}  // namespace quern
