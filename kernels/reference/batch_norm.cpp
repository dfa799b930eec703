// SPDX-License-Identifier: Apache-2.0
// BatchNorm: y = (x - mean) / sqrt(variance + epsilon) * scale + bias for each channel of x [N, C,
// ...] (a vector has one channel). In training mode mean and variance are those of the batch
// (divided by the count, not by one less), and the running ones come out too: running * momentum +
// batch * (1 - momentum).
//
// ONNX: BatchNormalization, opsets 1 to 15; parameters may have another float type than x. In
// double, rounded once.
#include "graph/ops/batch_norm.h"

#include <cmath>

#include "graph/numeric.h"
#include "graph/operands.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

// x[outer][channel][inner]; nothing to walk over when x is empty.
struct Channels {
  std::int64_t outer, count, inner;
  explicit Channels(const Shape& x)
      : outer(x.elements() ? x[0] : 0), count(x.rank() == 1 ? 1 : x[1]), inner(x.elements(2)) {}
};

// f(offset) for the elements of one channel, counted from its first.
template <class F>
void for_each_of_channel(const Channels& s, StopCheck& check, const F& f) {
  for (std::int64_t o = 0; o < s.outer && !check.spend(4); ++o)
    for_each_until(s.inner, 2, check, [&](std::int64_t i) { f(o * s.count * s.inner + i); });
}

struct ChannelMoments {
  double mean = 0;
  double variance = 0;
};

template <class T>
ChannelMoments moments(const Channels& s, const T* x, StopCheck& check) {
  ChannelMoments m;
  const auto n = static_cast<double>(s.outer * s.inner);
  for_each_of_channel(s, check, [&](std::int64_t at) { m.mean += static_cast<double>(x[at]); });
  m.mean /= n;
  for_each_of_channel(s, check, [&](std::int64_t at) {
    const double d = static_cast<double>(x[at]) - m.mean;
    m.variance += d * d;
  });
  m.variance /= n;
  return m;
}

void set_running(const ReferenceCall& call, std::size_t output, std::int64_t channel,
                 double batch) {
  if (!call.wants(output)) return;
  const double momentum = call.as<BatchNorm>().momentum;
  const double running = float_element(call.inputs[output + 2], channel);
  visit_float(call.outputs[output].type.dtype, [&]<class T>(TypeTag<T>) {
    call.outputs[output].as<T>()[channel] = T(running * momentum + batch * (1 - momentum));
  });
}

template <class T>
void normalise(const ReferenceCall& call) {
  const auto& op = call.as<BatchNorm>();
  const Channels s(call.inputs[0].type.shape);
  StopCheck check(call.stop);
  for (std::int64_t c = 0; c < s.count && !check.spend(16); ++c) {
    const T* x = call.inputs[0].as<T>() + c * s.inner;
    ChannelMoments m = {float_element(call.inputs[3], c), float_element(call.inputs[4], c)};
    if (op.training) {
      m = moments(s, x, check);
      set_running(call, 1, c, m.mean);
      set_running(call, 2, c, m.variance);
    }
    if (!call.wants(0)) continue;
    T* y = call.outputs[0].as<T>() + c * s.inner;
    const double factor =
        float_element(call.inputs[1], c) / std::sqrt(m.variance + static_cast<double>(op.epsilon));
    const double bias = float_element(call.inputs[2], c);
    for_each_of_channel(s, check, [&](std::int64_t at) {
      y[at] = T((static_cast<double>(x[at]) - m.mean) * factor + bias);
    });
  }
}

Status batch_norm_reference(const ReferenceCall& call) {
  const bool is_empty = call.inputs[0].type.shape.elements() == 0;
  if (is_empty && !call.wants(1) && !call.wants(2)) return {};
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) { normalise<T>(call); });
  return {};
}

Cost batch_norm_flops(const Op&, std::span<const TensorType> inputs,
                      std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = 2 * static_cast<double>(inputs[0].shape.elements());
  return cost;
}

}  // namespace

const OpKernels& BatchNorm::kernels() {
  static constexpr OpKernels table{.reference = {batch_norm_reference},
                                   .flops = batch_norm_flops,
                                   .gpu = gpu::select_batch_norm};
  return table;
}

}  // namespace quern
