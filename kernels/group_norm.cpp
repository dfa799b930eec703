// SPDX-License-Identifier: Apache-2.0
// GroupNorm: y = (x - mean) / sqrt(variance + epsilon) * scale + bias on x [N, C, ...], mean and
// variance over each group of neighbouring channels of each sample, scale and bias [C].
//
// ONNX: GroupNormalization, opsets 18 and 21 (18 has scale and bias for each group: imported
// repeated); InstanceNormalization, opsets 1 to 22, where every channel is a group (`groups` = 0).
// In double, rounded once.
#include <cmath>

#include "graph/numeric.h"
#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/infer.h"
#include "kernels/kernel.h"
#include "kernels/operands.h"

namespace quern {
namespace {

Status infer(InferContext& c) {
  const std::int64_t groups = c.op<GroupNorm>().groups;
  QUERN_TRY(want_floats(c, 0));
  const Dims* x = c.dims(0);
  if (x && x->size() < 2) return c.error(cat(c.describe(0), " must have batch and channels"));
  const Dim channels = x ? (*x)[1] : Dim();
  if (groups < 0 || (groups > 0 && channels.known() && channels.value() % groups != 0))
    return c.error(cat(c.describe(0), " cannot be cut into ", groups, " groups of channels"));
  for (std::size_t i : {1, 2}) {
    QUERN_TRY(want_floats(c, i));
    if (c.dims(i) && !meet(*c.dims(i), {channels}))
      return c.error(
          cat(c.describe(i), " must have one element for each channel of ", c.describe(0)));
  }
  return infer_like_input(c);
}

// ---- reference

// One group: `channels` of them from `first` on, `inner` elements each.
template <class T>
void normalise_group(const ReferenceCall& call, const T* x, T* y, std::int64_t first,
                     std::int64_t channels, std::int64_t inner) {
  const std::int64_t n = channels * inner;
  double mean = 0;
  double variance = 0;
  for (std::int64_t i = 0; i < n; ++i) mean += static_cast<double>(x[i]);
  mean /= static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i]) - mean;
    variance += d * d;
  }
  variance /= static_cast<double>(n);
  const double factor = 1 / std::sqrt(variance + static_cast<double>(call.as<GroupNorm>().epsilon));
  for (std::int64_t c = 0; c < channels; ++c) {
    const double scale = float_element(call.inputs[1], first + c);
    const double bias = float_element(call.inputs[2], first + c);
    for (std::int64_t i = c * inner; i < (c + 1) * inner; ++i)
      y[i] = T((static_cast<double>(x[i]) - mean) * factor * scale + bias);
  }
}

Status reference(const ReferenceCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  if (shape.elements() == 0) return {};
  const std::int64_t inner = shape.elements(2);
  const std::int64_t groups = call.as<GroupNorm>().groups ? call.as<GroupNorm>().groups : shape[1];
  const std::int64_t channels = shape[1] / groups;
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    for (std::int64_t g = 0; g < shape[0] * groups; ++g) {
      const std::int64_t at = g * channels * inner;
      normalise_group(call, call.inputs[0].as<T>() + at, call.outputs[0].as<T>() + at,
                      g % groups * channels, channels, inner);
    }
  });
  return {};
}

Cost flops(const Op&, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = 8 * static_cast<double>(inputs[0].shape.elements());
  return cost;
}

constexpr OpKernels kernels{.cpu = {}, .flops = flops, .gpu = gpu::select_group_norm};

}  // namespace

const OpDef& GroupNorm::def() {
  static constexpr OpDef def{.name = "GroupNorm",
                             .inputs = {3, 3},
                             .outputs = {1, 1},
                             .infer = infer,
                             .reference = reference,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
