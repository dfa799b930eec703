// SPDX-License-Identifier: Apache-2.0
// Convolutions of 8-bit integers, geometry as in conv.cpp.
// ConvInteger: y = sum of (x - x_zero) * (w - w_zero), in i32, which wraps.
// ConvIntegerToFloat: y = that * (x_scale * w_scale) + bias, in f32.
// QLinearConv: y = saturate(round((that + bias) * (x_scale * w_scale / y_scale)) + y_zero).
//
// ONNX: ConvInteger, QLinearConv, opset 10. Scale and zero point of the weights are one for all or
// one for each output channel. Elements outside of x count as its zero point: they add nothing.
#include "graph/numeric.h"
#include "graph/operands.h"
#include "graph/ops/quantised_products.h"
#include "graph/ops/windows.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/quantized.h"
#include "kernels/contract/window.h"
#include "kernels/cpu/int8_conv.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

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
void convolve(const ReferenceCall& call, const ConvRoles& r, const Window& attributes,
              std::int64_t group, F finish) {
  const Shape& xs = call.inputs[0].type.shape;
  const Shape& ys = call.outputs[0].type.shape;
  const Shape in = spatial_of(xs);
  const Shape kernel = spatial_of(call.inputs[r.w].type.shape);
  const ResolvedWindow window = resolve_window(attributes, in, kernel);
  const std::int64_t channels = call.inputs[r.w].type.shape[1];
  const std::int64_t x_zero = zero_point(call, r.x_zero, 0);
  StopCheck check(call.stop);
  for (std::int64_t n = 0; n < ys[0]; ++n)
    for (std::int64_t m = 0; m < ys[1] && !check.spend(8); ++m) {
      const std::int64_t first = m / (ys[1] / group) * channels;
      const X* x = call.inputs[0].as<X>() + (n * xs[1] + first) * in.elements();
      const W* w = call.inputs[r.w].as<W>() + m * channels * kernel.elements();
      const std::int64_t w_zero = zero_point(call, r.w_zero, m);
      for_each_index(spatial_of(ys), 8, check, [&](const Shape& at) {
        std::int64_t sum = 0;
        for (std::int64_t c = 0; c < channels && !check.spend(4); ++c)
          for_each_tap(window, in, at, check, [&](std::int64_t e, std::int64_t t) {
            sum += (x[c * in.elements() + e] - x_zero) * (w[c * kernel.elements() + t] - w_zero);
          });
        finish(m, sum);
      });
    }
}

template <class F>
void convolve_8bit(const ReferenceCall& call, const ConvRoles& r, const Window& window,
                   std::int64_t group, F finish) {
  if (call.outputs[0].type.shape.elements() == 0) return;
  visit_8bit(call.inputs[0].type.dtype, [&]<class X>(TypeTag<X>) {
    visit_8bit(call.inputs[r.w].type.dtype,
               [&]<class W>(TypeTag<W>) { convolve<X, W>(call, r, window, group, finish); });
  });
}

Status quantized_conv_reference_integer(const ReferenceCall& call) {
  const auto& op = call.as<ConvInteger>();
  auto* y = call.outputs[0].as<std::int32_t>();
  convolve_8bit(call, conv_integer_roles, op.window, op.group,
                [&](std::int64_t, std::int64_t sum) { *y++ = static_cast<std::int32_t>(sum); });
  return {};
}

float scale_of(const ReferenceCall& call, std::size_t i, std::int64_t channel) {
  return call.inputs[i].as<float>()[channel_index(call.inputs[i], channel)];
}

Status quantized_conv_reference_float(const ReferenceCall& call) {
  const auto& op = call.as<ConvIntegerToFloat>();
  auto* y = call.outputs[0].as<float>();
  convolve_8bit(call, conv_qlinear_roles, op.window, op.group,
                [&](std::int64_t m, std::int64_t sum) {
                  const float scale = scale_of(call, 1, 0) * scale_of(call, 4, m);
                  const float bias = call.has(6) ? call.inputs[6].as<float>()[m] : 0;
                  *y++ = static_cast<float>(static_cast<std::int32_t>(sum)) * scale + bias;
                });
  return {};
}

Status quantized_conv_reference_qlinear(const ReferenceCall& call) {
  const auto& op = call.as<QLinearConv>();
  const std::int64_t y_zero = zero_point(call, 7, 0);
  visit_8bit(call.outputs[0].type.dtype, [&]<class Y>(TypeTag<Y>) {
    Y* y = call.outputs[0].as<Y>();
    convolve_8bit(call, conv_qlinear_roles, op.window, op.group,
                  [&](std::int64_t m, std::int64_t sum) {
                    const float multiplier =
                        scale_of(call, 1, 0) * scale_of(call, 4, m) / scale_of(call, 6, 0);
                    if (call.has(8)) sum += call.inputs[8].as<std::int32_t>()[m];
                    *y++ = requantized<Y>(static_cast<std::int32_t>(sum), multiplier, y_zero);
                  });
  });
  return {};
}

template <std::size_t WeightInput>
Cost quantized_conv_flops(const Op&, std::span<const TensorType> inputs,
                          std::span<const TensorType> outputs) {
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
    return unsupported();
  Int8Conv c{.operands = operands, .images = x[0], .groups = group};
  c.columns = w[0] / group;
  c.depth = w[1];
  c.in = spatial_of(x);
  c.out = spatial_of(y);
  c.window = resolve_window(window, c.in, spatial_of(w));
  c.column_stride = w.elements(1);
  c.depth_stride = w.elements(2);
  if (!has_small_window(c.window, c.out)) return unsupported();
  QUERN_ASSIGN(KernelChoice choice, make_int8_conv(r, c));
  choice.input_layouts[0] = Layout::channels_last(x);
  choice.output_layouts[0] = Layout::channels_last(y);
  return std::optional<KernelChoice>(std::move(choice));
}

Selection quantized_conv_select_integer(const KernelRequest& r) {
  const auto& op = r.as<ConvInteger>();
  return select_channels_last(r, conv_integer_operands, op.window, op.group);
}

Selection quantized_conv_select_float(const KernelRequest& r) {
  const auto& op = r.as<ConvIntegerToFloat>();
  return select_channels_last(r, conv_integer_to_float_operands, op.window, op.group);
}

Selection quantized_conv_select_qlinear(const KernelRequest& r) {
  const auto& op = r.as<QLinearConv>();
  return select_channels_last(r, qlinear_conv_operands, op.window, op.group);
}

constexpr CpuImplementation quantized_conv_integer_implementations[] = {
    {"int8", quantized_conv_select_integer}};
constexpr CpuImplementation quantized_conv_float_implementations[] = {
    {"int8", quantized_conv_select_float}};
constexpr CpuImplementation quantized_conv_qlinear_implementations[] = {
    {"int8", quantized_conv_select_qlinear}};

}  // namespace

const OpKernels& ConvInteger::kernels() {
  static constexpr OpKernels table{.reference = {quantized_conv_reference_integer},
                                   .cpu = quantized_conv_integer_implementations,
                                   .flops = quantized_conv_flops<conv_integer_roles.w>,
                                   .gpu = gpu::select_conv_integer};
  return table;
}

const OpKernels& ConvIntegerToFloat::kernels() {
  static constexpr OpKernels table{.reference = {quantized_conv_reference_float},
                                   .cpu = quantized_conv_float_implementations,
                                   .flops = quantized_conv_flops<conv_qlinear_roles.w>};
  return table;
}

const OpKernels& QLinearConv::kernels() {
  static constexpr OpKernels table{.reference = {quantized_conv_reference_qlinear},
                                   .cpu = quantized_conv_qlinear_implementations,
                                   .flops = quantized_conv_flops<conv_qlinear_roles.w>,
                                   .gpu = gpu::select_qlinear_conv};
  return table;
}

}  // namespace quern
