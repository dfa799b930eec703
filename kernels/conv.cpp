// SPDX-License-Identifier: Apache-2.0
// Conv: y[n, m, o] = bias[m] + sum over c, k of x[n, c, o * stride - pad + k * dilation] * w[m, c,
// k], over the channels c of m's group; elements outside of x are 0.
//
// ONNX Conv, opsets 1 to 22: one to six spatial dimensions, groups, dilations, asymmetric pads,
// auto_pad. Sums in double, rounded once.
#include "graph/numeric.h"
#include "graph/text_util.h"
#include "kernels/conv_depthwise.h"
#include "kernels/conv_onednn.h"
#include "kernels/conv_rows.h"
#include "kernels/gpu/kernels.h"
#include "kernels/infer.h"
#include "kernels/kernel.h"
#include "kernels/window.h"

namespace quern {
namespace {

// What is known of x and w together: the rank of the one gives the other's.
Status infer_dims(const InferContext& c, Dims& x, Dims& w) {
  const std::size_t rank = c.dims(0) ? c.dims(0)->size() : c.dims(1)->size();
  x = c.dims(0) ? *c.dims(0) : Dims(rank);
  w = c.dims(1) ? *c.dims(1) : Dims(rank);
  if (rank < 3 || w.size() != rank)
    return c.error(cat(c.describe(0), " and ", c.describe(1),
                       " must have one rank: batch, channels and at least one spatial dimension"));
  return {};
}

Status check_channels(const InferContext& c, const Dims& x, const Dims& w, std::int64_t group) {
  if (group < 1) return c.error(cat("group is ", group, ", wants at least 1"));
  if (x[1].known() && w[1].known() && !x[1].is((w[1] * group).value()))
    return c.error(cat("weight has ", w[1].value(), " input channels for each of ", group,
                       " groups, input has ", x[1].value()));
  if (w[0].known() && w[0].value() % group != 0)
    return c.error(cat(w[0].value(), " output channels do not fall into ", group, " groups"));
  const Dims* bias = c.dims(2);
  if (bias && (bias->size() != 1 || !meet(*bias, {w[0]})))
    return c.error(cat(c.describe(2), " must have one element for each output channel"));
  return {};
}

Status infer(InferContext& c) {
  const auto& op = c.op<Conv>();
  QUERN_TRY(want_floats(c, 0));
  QUERN_TRY(c.want_same_dtype(0, 1));
  QUERN_TRY(c.want_same_dtype(0, 2));
  if (!c.dims(0) && !c.dims(1)) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  Dims x;
  Dims w;
  QUERN_TRY(infer_dims(c, x, w));
  QUERN_TRY(check_channels(c, x, w, op.group));
  QUERN_ASSIGN(const Dims spatial,
               infer_window(c, op.window, std::span(x).subspan(2), std::span(w).subspan(2)));
  Dims y = {x[0], w[0]};
  y.insert(y.end(), spatial.begin(), spatial.end());
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

// ---- reference

template <class T>
void convolve(const ReferenceCall& call) {
  const Shape& xs = call.inputs[0].type.shape;
  const Shape& ys = call.outputs[0].type.shape;
  const Shape in = spatial_of(xs);
  const Shape kernel = spatial_of(call.inputs[1].type.shape);
  const ResolvedWindow window = resolve_window(call.as<Conv>().window, in, kernel);
  const std::int64_t channels = call.inputs[1].type.shape[1];
  const std::int64_t group_size = ys[1] / call.as<Conv>().group;
  const T* bias = call.has(2) ? call.inputs[2].as<T>() : nullptr;
  T* y = call.outputs[0].as<T>();
  for (std::int64_t n = 0; n < ys[0]; ++n)
    for (std::int64_t m = 0; m < ys[1]; ++m) {
      const T* x = call.inputs[0].as<T>() + (n * xs[1] + m / group_size * channels) * in.elements();
      const T* w = call.inputs[1].as<T>() + m * channels * kernel.elements();
      for_each_index(spatial_of(ys), [&](const Shape& at) {
        Sum<T> sum = bias ? static_cast<Sum<T>>(bias[m]) : 0;
        for (std::int64_t c = 0; c < channels; ++c)
          for_each_tap(window, in, at, [&](std::int64_t e, std::int64_t t) {
            sum += static_cast<Sum<T>>(x[c * in.elements() + e]) *
                   static_cast<Sum<T>>(w[c * kernel.elements() + t]);
          });
        *y++ = T(sum);
      });
    }
}

Status reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) { convolve<T>(call); });
  return {};
}

Cost flops(const Op&, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = 2.0 * static_cast<double>(outputs[0].shape.elements()) *
               static_cast<double>(inputs[1].shape.elements(1));
  return cost;
}

constexpr CpuImplementation cpu[] = {
#ifdef QUERN_ONEDNN
    {"onednn", select_conv_onednn},
#endif
    {"depthwise", select_conv_depthwise},
    {"rows", select_conv_rows},
};
constexpr OpKernels kernels{.cpu = cpu, .flops = flops, .gpu = gpu::select_conv};

}  // namespace

const OpDef& Conv::def() {
  static constexpr OpDef def{.name = "Conv",
                             .inputs = {2, 3},
                             .outputs = {1, 1},
                             .traits = OpTrait::post_ops,
                             .infer = infer,
                             .reference = reference,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
