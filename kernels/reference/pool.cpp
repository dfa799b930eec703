// SPDX-License-Identifier: Apache-2.0
// Pool: the maximum, the average or the p-norm of the elements under a window, padding left out.
//
// ONNX MaxPool (opsets 1 to 22), AveragePool (1 to 22), LpPool (1 to 22), GlobalMaxPool,
// GlobalAveragePool and GlobalLpPool. max takes any number, lets NaN through and gives the index of
// the first largest element (of the first NaN) in the whole tensor, or -1 under a window that holds
// padding alone; its value is then -inf or the lowest integer, as the average is NaN and the norm
// 0. Sums in double, rounded once.
#include "kernels/contract/pool.h"

#include <cmath>
#include <limits>

#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/pool.h"
#include "graph/ops/windows.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/window.h"
#include "kernels/cpu/pool_rows.h"
#include "kernels/gpu/kernels.h"
#include "kernels/onednn/select.h"
namespace quern {
namespace {

// ---- reference

// The largest element under a window, as an offset into the channel; -1 if there is none.
template <class T>
std::int64_t largest_under(const T* x, const ResolvedWindow& w, const Shape& in,
                           const Shape& position, StopCheck& check) {
  using C = ComputeType<T>;
  std::int64_t best = -1;
  for_each_tap(w, in, position, check, [&](std::int64_t e, std::int64_t) {
    const C v = x[e];
    bool better = best < 0 || v > C(x[best]);
    if constexpr (is_float_type<T>) better = better || (std::isnan(v) && !std::isnan(C(x[best])));
    if (better) best = e;
  });
  return best;
}

template <class T>
T nothing_under() {
  if constexpr (is_float_type<T>) return T(-std::numeric_limits<ComputeType<T>>::infinity());
  return std::numeric_limits<T>::lowest();
}

// The offset of an element in its channel, counted with the first spatial dimension innermost.
std::int64_t column_major(std::int64_t element, const Shape& in) {
  std::int64_t offset = 0;
  std::int64_t stride = in.elements();
  for (std::size_t d = in.rank(); d-- > 0;) {
    stride /= in[d];
    offset += element % in[d] * stride;
    element /= in[d];
  }
  return offset;
}

template <class T>
void max_pool(const ReferenceCall& call, const ResolvedWindow& w) {
  const auto& op = call.as<Pool>();
  const Shape& ys = call.outputs[0].type.shape;
  const Shape in = spatial_of(call.inputs[0].type.shape);
  const T* x = call.inputs[0].as<T>();
  T* y = call.outputs[0].as<T>();
  std::int64_t* indices = call.wants(1) ? call.outputs[1].as<std::int64_t>() : nullptr;
  StopCheck check(call.stop);
  for (std::int64_t channel = 0; channel < ys[0] * ys[1] && !check.spend(8);
       ++channel, x += in.elements())
    for_each_index(spatial_of(ys), 8, check, [&](const Shape& at) {
      const std::int64_t best = largest_under(x, w, in, at, check);
      if (y) *y++ = best < 0 ? nothing_under<T>() : x[best];
      if (!indices) return;
      *indices++ = best < 0 ? -1
                            : channel * in.elements() +
                                  (op.column_major_indices ? column_major(best, in) : best);
    });
}

double divisor_at(const Pool& op, const ResolvedWindow& w, const Shape& in, const Shape& position) {
  double count = 1;
  for (std::size_t d = 0; d < in.rank(); ++d)
    count *= static_cast<double>(counted_taps(op, w, in, d, position[d]));
  return count;
}

double power(double x, std::int64_t p) {
  return p == 1 ? std::fabs(x) : p == 2 ? x * x : std::pow(std::fabs(x), static_cast<double>(p));
}
double root(double x, std::int64_t p) {
  return p == 1 ? x : p == 2 ? std::sqrt(x) : std::pow(x, 1 / static_cast<double>(p));
}

template <class T>
void sum_pool(const ReferenceCall& call, const ResolvedWindow& w) {
  const auto& op = call.as<Pool>();
  const Shape& ys = call.outputs[0].type.shape;
  const Shape in = spatial_of(call.inputs[0].type.shape);
  const bool average = op.kind == PoolKind::average;
  const T* x = call.inputs[0].as<T>();
  T* y = call.outputs[0].as<T>();
  StopCheck check(call.stop);
  for (std::int64_t channel = 0; channel < ys[0] * ys[1] && !check.spend(8);
       ++channel, x += in.elements())
    for_each_index(spatial_of(ys), 8, check, [&](const Shape& at) {
      double sum = 0;
      for_each_tap(w, in, at, check, [&](std::int64_t e, std::int64_t) {
        const auto v = static_cast<double>(x[e]);
        sum += average ? v : power(v, op.p);
      });
      *y++ = T(average ? sum / divisor_at(op, w, in, at) : root(sum, op.p));
    });
}

Status pool_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  const auto& op = call.as<Pool>();
  const ResolvedWindow w = resolve_pool_window(op, spatial_of(call.inputs[0].type.shape));
  const DType dtype = call.inputs[0].type.dtype;
  if (op.kind == PoolKind::max) {
    visit_number(dtype, [&]<class T>(TypeTag<T>) { max_pool<T>(call, w); });
  } else {
    visit_float(dtype, [&]<class T>(TypeTag<T>) { sum_pool<T>(call, w); });
  }
  return {};
}

Cost pool_flops(const Op& op, std::span<const TensorType> inputs,
                std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  const ResolvedWindow w = resolve_pool_window(*op.as<Pool>(), spatial_of(inputs[0].shape));
  cost.flops = static_cast<double>(outputs[0].shape.elements());
  for (std::int64_t taps : w.kernel) cost.flops *= static_cast<double>(taps);
  return cost;
}

#ifdef QUERN_ONEDNN
// Maxima, of which oneDNN's lose NaN, and averages but those at which oneDNN may be faster: over
// channels side by side in windows that overlap, or (channels last) that cover all.
Selection select_fast_rows(const KernelRequest& r) {
  const auto& op = r.as<Pool>();
  const TensorDesc& x = r.inputs[0].desc;
  if (op.kind == PoolKind::max || is_row_major(x)) return select_pool_rows(r);
  const ResolvedWindow w = resolve_pool_window(op, x.shape.dims().subspan(2));
  const bool overlaps = w.strides.back() < w.extent(w.rank() - 1);
  return (op.global ? !x.layout.block : overlaps) ? unsupported() : select_pool_rows(r);
}

constexpr CpuImplementation pool_implementations[] = {
    {"rows", select_fast_rows}, {"onednn", select_pool_onednn}, {"rows", select_pool_rows}};
#else
constexpr CpuImplementation pool_implementations[] = {{"rows", select_pool_rows}};
#endif

}  // namespace

ResolvedWindow resolve_pool_window(const Pool& op, std::span<const std::int64_t> in) {
  return op.global ? explicit_window(in, {}, {}, {})
                   : resolve_window(op.window, in, op.window.kernel);
}

std::int64_t counted_taps(const Pool& op, const ResolvedWindow& w, const Shape& in, std::size_t d,
                          std::int64_t position) {
  const std::int64_t low = op.count_include_pad ? -w.pads_begin[d] : 0;
  const std::int64_t high = op.count_include_pad ? in[d] + w.pads_end[d] : in[d];
  return taps_between(w, d, position, low, high).size();
}

const OpKernels& Pool::kernels() {
  static constexpr OpKernels table{.reference = {pool_reference},
                                   .cpu = pool_implementations,
                                   .flops = pool_flops,
                                   .gpu = gpu::select_pool};
  return table;
}

}  // namespace quern
