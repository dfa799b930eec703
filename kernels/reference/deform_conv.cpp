// SPDX-License-Identifier: Apache-2.0
// DeformConv: a convolution whose taps are moved by offsets and weighted by a mask:
// y[n, m, o] = bias[m] + sum over c, k of mask[n, g, k, o] * w[m, c, k] *
// x[n, c](o * stride - pad + k * dilation + offset[n, g, k, :, o]), with x read by linear
// interpolation between its elements and 0 outside, g the offset group of channel c.
//
// ONNX DeformConv, opsets 19 and 22, any number of spatial dimensions. The offsets of one tap lie
// one dimension after the other, outermost first. A position that is NaN reads 0. Sums in double.
#include "graph/ops/deform_conv.h"

#include <array>
#include <cmath>

#include "graph/numeric.h"
#include "graph/ops/windows.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/window.h"

namespace quern {
namespace {

// ---- reference

using Position = std::array<double, max_spatial_rank>;

// x between its elements, 0 outside of it.
template <class T>
double interpolate(const T* x, const Shape& in, const Position& at, std::size_t d = 0,
                   std::int64_t offset = 0) {
  if (d == in.rank()) return static_cast<double>(x[offset]);
  if (!(at[d] > -1 && at[d] < static_cast<double>(in[d]))) return 0;
  const double low = std::floor(at[d]);
  const double weight = at[d] - low;
  const std::int64_t i = offset * in[d] + static_cast<std::int64_t>(low);
  double value = 0;
  if (low >= 0) value += (1 - weight) * interpolate(x, in, at, d + 1, i);
  if (weight > 0 && low + 1 < static_cast<double>(in[d]))
    value += weight * interpolate(x, in, at, d + 1, i + 1);
  return value;
}

template <class T>
struct Deformed {
  explicit Deformed(const ReferenceCall& call)
      : op(call.as<DeformConv>()),
        xs(call.inputs[0].type.shape),
        in(spatial_of(xs)),
        kernel(spatial_of(call.inputs[1].type.shape)),
        out(spatial_of(call.outputs[0].type.shape)),
        window(resolve_window(op.window, in, kernel)),
        x(call.inputs[0].as<T>()),
        offset(call.inputs[2].as<T>()),
        mask(call.has(4) ? call.inputs[4].as<T>() : nullptr) {}

  // Channel c of image n under tap k of the window at output `at`, the o-th.
  double tap(std::int64_t n, std::int64_t c, const Shape& k, std::int64_t tap_index,
             const Shape& at, std::int64_t o) const {
    const std::int64_t group = c / (xs[1] / op.offset_group);
    const std::int64_t tap = (n * op.offset_group + group) * kernel.elements() + tap_index;
    Position p{};
    for (std::size_t d = 0; d < in.rank(); ++d) {
      const std::int64_t plane =
          tap * static_cast<std::int64_t>(in.rank()) + static_cast<std::int64_t>(d);
      p[d] = static_cast<double>(at[d] * window.strides[d] - window.pads_begin[d] +
                                 k[d] * window.dilations[d]) +
             static_cast<double>(offset[plane * out.elements() + o]);
    }
    const double value = interpolate(x + (n * xs[1] + c) * in.elements(), in, p);
    return mask ? value * static_cast<double>(mask[tap * out.elements() + o]) : value;
  }

  const DeformConv& op;
  const Shape& xs;
  Shape in, kernel, out;
  ResolvedWindow window;
  const T* x;
  const T* offset;
  const T* mask;
};

template <class T>
void convolve_deformed(const ReferenceCall& call) {
  const Deformed<T> deformed(call);
  const Shape& ys = call.outputs[0].type.shape;
  const std::int64_t channels = call.inputs[1].type.shape[1];
  const std::int64_t group_size = ys[1] / deformed.op.group;
  const T* bias = call.has(3) ? call.inputs[3].as<T>() : nullptr;
  T* y = call.outputs[0].as<T>();
  StopCheck check(call.stop);
  for (std::int64_t n = 0; n < ys[0]; ++n)
    for (std::int64_t m = 0; m < ys[1] && !check.spend(8); ++m) {
      std::int64_t o = 0;
      for_each_index(deformed.out, 8, check, [&](const Shape& at) {
        double sum = bias ? static_cast<double>(bias[m]) : 0;
        const T* w = call.inputs[1].as<T>() + m * call.inputs[1].type.shape.elements(1);
        for (std::int64_t c = 0; c < channels && !check.spend(4); ++c) {
          std::int64_t t = 0;
          for_each_index(deformed.kernel, 16, check, [&](const Shape& k) {
            sum += static_cast<double>(*w++) *
                   deformed.tap(n, m / group_size * channels + c, k, t++, at, o);
          });
        }
        *y++ = T(sum);
        ++o;
      });
    }
}

Status deform_conv_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) { convolve_deformed<T>(call); });
  return {};
}

Cost deform_conv_flops(const Op&, std::span<const TensorType> inputs,
                       std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = 2.0 * static_cast<double>(outputs[0].shape.elements()) *
               static_cast<double>(inputs[1].shape.elements(1));
  return cost;
}

}  // namespace

const OpKernels& DeformConv::kernels() {
  static constexpr OpKernels table{.reference = {deform_conv_reference},
                                   .flops = deform_conv_flops};
  return table;
}

}  // namespace quern
