// SPDX-License-Identifier: Apache-2.0
// Convolutions of 8-bit integers, geometry as in conv.cpp.
// ConvInteger: y = sum of (x - x_zero) * (w - w_zero), in i32, which wraps.
// QLinearConv: y = saturate(round((that + bias) * (x_scale * w_scale / y_scale)) + y_zero).
//
// ONNX: ConvInteger, QLinearConv, opset 10. Scale and zero point of the weights are one for all or
// one for each output channel. Elements outside of x count as its zero point: they add nothing.
#include "graph/numeric.h"
#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/infer.h"
#include "kernels/int8_conv.h"
#include "kernels/kernel.h"
#include "kernels/operands.h"
#include "kernels/quantized.h"
#include "kernels/window.h"

namespace quern {
namespace {

// Which operand is which.
struct Roles {
  std::size_t w, x_zero, w_zero;
};
constexpr Roles integer_roles = {1, 2, 3};
constexpr Roles qlinear_roles = {3, 2, 5};

// ---- inference

Status check_channels(const InferContext& c, const Dims& x, const Dims& w, std::int64_t group) {
  if (group < 1) return c.error(cat("group is ", group, ", wants at least 1"));
  const Dim wanted = w[1] * group;
  if (x[1].known() && wanted.known() && x[1] != wanted)
    return c.error(cat("weight has ", w[1].value(), " input channels for each of ", group,
                       " groups, input has ", x[1].value()));
  if (w[0].known() && w[0].value() % group != 0)
    return c.error(cat(w[0].value(), " output channels do not fall into ", group, " groups"));
  return {};
}

// The output's shape; nothing while the rank is unknown.
Result<std::optional<Dims>> infer_dims(const InferContext& c, const Window& window,
                                       std::int64_t group, const Roles& r) {
  for (std::size_t i : {std::size_t{0}, r.w}) QUERN_TRY(want_8bit(c, i));
  QUERN_TRY(c.want_same_dtype(0, r.x_zero));
  QUERN_TRY(c.want_same_dtype(r.w, r.w_zero));
  QUERN_TRY(want_parameter(c, r.x_zero));
  if (!c.dims(0) && !c.dims(r.w)) return std::optional<Dims>();
  const std::size_t rank = (c.dims(0) ? c.dims(0) : c.dims(r.w))->size();
  const Dims x = c.dims(0) ? *c.dims(0) : Dims(rank);
  const Dims w = c.dims(r.w) ? *c.dims(r.w) : Dims(rank);
  if (rank < 3 || w.size() != rank)
    return c.error(cat(c.describe(0), " and ", c.describe(r.w),
                       " must have one rank: batch, channels and at least one spatial dimension"));
  QUERN_TRY(check_channels(c, x, w, group));
  QUERN_TRY(want_parameter(c, r.w_zero, &w[0]));
  QUERN_ASSIGN(const Dims spatial,
               infer_window(c, window, std::span(x).subspan(2), std::span(w).subspan(2)));
  Dims y = {x[0], w[0]};
  y.insert(y.end(), spatial.begin(), spatial.end());
  return std::optional(std::move(y));
}

Status infer_integer(InferContext& c) {
  const auto& op = c.op<ConvInteger>();
  QUERN_ASSIGN(auto dims, infer_dims(c, op.window, op.group, integer_roles));
  c.set(0, DType::i32, std::move(dims));
  return {};
}

Status infer_qlinear(InferContext& c) {
  const auto& op = c.op<QLinearConv>();
  for (std::size_t i : {1, 4, 6}) QUERN_TRY(c.want_dtype(i, DType::f32));
  QUERN_TRY(want_8bit(c, 7));
  QUERN_TRY(c.want_dtype(8, DType::i32));
  for (std::size_t i : {1, 6, 7}) QUERN_TRY(want_parameter(c, i));
  QUERN_ASSIGN(auto dims, infer_dims(c, op.window, op.group, qlinear_roles));
  const Dim channels = dims ? (*dims)[1] : Dim();
  QUERN_TRY(want_parameter(c, 4, &channels));
  if (c.dims(8) && !meet(*c.dims(8), {channels}))
    return c.error(cat(c.describe(8), " must have one element for each output channel"));
  c.set(0, c.dtype(7), std::move(dims));
  return {};
}

// ---- references

// Element `channel` of a list, or the one that stands for all.
std::int64_t channel_index(const TensorView& t, std::int64_t channel) {
  return t.type.shape.elements() == 1 ? 0 : channel;
}
std::int64_t zero_point(const ReferenceCall& call, std::size_t i, std::int64_t channel) {
  return call.has(i) ? int_element(call.inputs[i], channel_index(call.inputs[i], channel)) : 0;
}

// finish(m, sum) for every element of the output, in order.
template <class X, class W, class F>
void convolve(const ReferenceCall& call, const Roles& r, const Window& attributes,
              std::int64_t group, F finish) {
  const Shape& xs = call.inputs[0].type.shape;
  const Shape& ys = call.outputs[0].type.shape;
  const Shape in = spatial_of(xs);
  const Shape kernel = spatial_of(call.inputs[r.w].type.shape);
  const ResolvedWindow window = resolve_window(attributes, in, kernel);
  const std::int64_t channels = call.inputs[r.w].type.shape[1];
  const std::int64_t x_zero = zero_point(call, r.x_zero, 0);
  for (std::int64_t n = 0; n < ys[0]; ++n)
    for (std::int64_t m = 0; m < ys[1]; ++m) {
      const std::int64_t first = m / (ys[1] / group) * channels;
      const X* x = call.inputs[0].as<X>() + (n * xs[1] + first) * in.elements();
      const W* w = call.inputs[r.w].as<W>() + m * channels * kernel.elements();
      const std::int64_t w_zero = zero_point(call, r.w_zero, m);
      for_each_index(spatial_of(ys), [&](const Shape& at) {
        std::int64_t sum = 0;
        for (std::int64_t c = 0; c < channels; ++c)
          for_each_tap(window, in, at, [&](std::int64_t e, std::int64_t t) {
            sum += (x[c * in.elements() + e] - x_zero) * (w[c * kernel.elements() + t] - w_zero);
          });
        finish(m, sum);
      });
    }
}

template <class F>
void convolve_8bit(const ReferenceCall& call, const Roles& r, const Window& window,
                   std::int64_t group, F finish) {
  if (call.outputs[0].type.shape.elements() == 0) return;
  visit_8bit(call.inputs[0].type.dtype, [&]<class X>(TypeTag<X>) {
    visit_8bit(call.inputs[r.w].type.dtype,
               [&]<class W>(TypeTag<W>) { convolve<X, W>(call, r, window, group, finish); });
  });
}

Status reference_integer(const ReferenceCall& call) {
  const auto& op = call.as<ConvInteger>();
  auto* y = call.outputs[0].as<std::int32_t>();
  convolve_8bit(call, integer_roles, op.window, op.group,
                [&](std::int64_t, std::int64_t sum) { *y++ = static_cast<std::int32_t>(sum); });
  return {};
}

float scale_of(const ReferenceCall& call, std::size_t i, std::int64_t channel) {
  return call.inputs[i].as<float>()[channel_index(call.inputs[i], channel)];
}

Status reference_qlinear(const ReferenceCall& call) {
  const auto& op = call.as<QLinearConv>();
  const std::int64_t y_zero = zero_point(call, 7, 0);
  visit_8bit(call.outputs[0].type.dtype, [&]<class Y>(TypeTag<Y>) {
    Y* y = call.outputs[0].as<Y>();
    convolve_8bit(call, qlinear_roles, op.window, op.group, [&](std::int64_t m, std::int64_t sum) {
      const float multiplier = scale_of(call, 1, 0) * scale_of(call, 4, m) / scale_of(call, 6, 0);
      if (call.has(8)) sum += call.inputs[8].as<std::int32_t>()[m];
      *y++ = requantized<Y>(static_cast<std::int32_t>(sum), multiplier, y_zero);
    });
  });
  return {};
}

template <std::size_t WeightInput>
Cost flops(const Op&, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = 2 * static_cast<double>(outputs[0].shape.elements()) *
               static_cast<double>(inputs[WeightInput].shape.elements(1));
  return cost;
}

// ---- channels last, see int8_conv.cpp

// A table of the taps of every position is made: not for absurd windows.
bool has_small_window(const ResolvedWindow& w, const Shape& out) {
  for (std::size_t d = 0; d < w.rank(); ++d)
    if (out[d] > (std::int64_t{1} << 22) / w.kernel[d]) return false;
  return true;
}

Selection select_channels_last(const KernelRequest& r, const Int8Operands& operands,
                               const Window& window, std::int64_t group) {
  const Shape& x = r.shape(0);
  const Shape& w = r.shape(operands.w);
  const Shape& y = r.outputs[0].shape;
  if (x.rank() > 5 || x.elements() == 0 || w.elements() == 0 || y.elements() == 0)
    return not_for_me();
  Int8Conv c{.operands = operands, .images = x[0], .groups = group};
  c.columns = w[0] / group;
  c.depth = w[1];
  c.in = spatial_of(x);
  c.out = spatial_of(y);
  c.window = resolve_window(window, c.in, spatial_of(w));
  c.column_stride = w.elements(1);
  c.depth_stride = w.elements(2);
  if (!has_small_window(c.window, c.out)) return not_for_me();
  QUERN_ASSIGN(KernelChoice choice, make_int8_conv(r, c));
  choice.input_layouts[0] = Layout::channels_last(x);
  choice.output_layouts[0] = Layout::channels_last(y);
  return std::optional<KernelChoice>(std::move(choice));
}

Selection select_integer(const KernelRequest& r) {
  const auto& op = r.as<ConvInteger>();
  return select_channels_last(r, conv_integer_operands, op.window, op.group);
}

Selection select_qlinear(const KernelRequest& r) {
  const auto& op = r.as<QLinearConv>();
  return select_channels_last(r, qlinear_conv_operands, op.window, op.group);
}

constexpr CpuImplementation integer_implementations[] = {{"int8", select_integer}};
constexpr CpuImplementation qlinear_implementations[] = {{"int8", select_qlinear}};
constexpr OpKernels integer_kernels{.cpu = integer_implementations,
                                    .flops = flops<integer_roles.w>,
                                    .gpu = gpu::select_conv_integer};
constexpr OpKernels qlinear_kernels{.cpu = qlinear_implementations,
                                    .flops = flops<qlinear_roles.w>,
                                    .gpu = gpu::select_qlinear_conv};

}  // namespace

const OpDef& ConvInteger::def() {
  static constexpr OpDef def{.name = "ConvInteger",
                             .inputs = {2, 4},
                             .outputs = {1, 1},
                             .infer = infer_integer,
                             .reference = reference_integer,
                             .kernels = &integer_kernels};
  return def;
}

const OpDef& QLinearConv::def() {
  static constexpr OpDef def{.name = "QLinearConv",
                             .inputs = {8, 9},
                             .outputs = {1, 1},
                             .infer = infer_qlinear,
                             .reference = reference_qlinear,
                             .kernels = &qlinear_kernels};
  return def;
}

}  // namespace quern
