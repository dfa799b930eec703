// SPDX-License-Identifier: Apache-2.0
// CachedAttention: causal attention of new rows to the rows of a cache that count, over (q [B,
// heads, S, width], k [B, key heads, T, width], v [B, key heads, T, value width], before [B],
// bias?, sink?). Query head h reads key head h / (heads / key heads). CachedRow i of sequence b has
// the scores
//   s[j] = cap(scale * q[i] k[j]) + bias[i, j],  cap(x) = softcap * tanh(x / softcap), or x
// for the keys j up to p = before[b] + i, from max(0, p - window + 1) on where there is a window,
// and gives sum_j exp(s[j]) v[j] / (sum_j exp(s[j]) + exp(sink)). Other keys are not looked at.
//
// ONNX: com.microsoft GroupQueryAttention. A row whose bias hides every key and that has no sink
// gives zeros. In double, rounded once. A row beyond the keys is an error.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/operands.h"
#include "graph/ops/attention.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/scalar_math.h"
#include "kernels/cpu/cached_attention_rows.h"
#include "kernels/gpu/caches.h"

namespace quern {
namespace {

constexpr double no_score = -std::numeric_limits<double>::infinity();

// One row of one head, and its keys [first, end).
template <class T, class K>
struct CachedRow {
  const T* q;
  const K *k, *v;  // of key 0
  const T* bias;   // of key 0; null: none
  std::int64_t bias_step;
  std::int64_t first, end;
  double sink;
  T* y;
};

struct CachedSizes {
  std::int64_t width, value_width;
};

template <class T, class K>
void cached_scores(const CachedAttention& op, const CachedSizes& sizes, const CachedRow<T, K>& row,
                   double* scores, StopCheck& check) {
  const auto softcap = static_cast<double>(op.softcap);
  for_each_until(row.end - row.first, 4 + sizes.width, check, [&](std::int64_t i) {
    const std::int64_t j = row.first + i;
    double dot = 0;
    for (std::int64_t d = 0; d < sizes.width; ++d)
      dot += static_cast<double>(row.q[d]) * static_cast<double>(row.k[j * sizes.width + d]);
    double s = dot * static_cast<double>(op.scale);
    if (softcap > 0) s = softcap * std::tanh(s / softcap);
    if (row.bias) s += static_cast<double>(row.bias[j * row.bias_step]);
    scores[i] = s;
  });
}

// Replaces scores by their exponentials_with_sink; returns their sum with the sink's, 0 if there is
// nothing.
double exponentials_with_sink(double* scores, std::int64_t n, double sink, StopCheck& check) {
  double largest = sink;
  for_each_until(n, 2, check, [&](std::int64_t i) { largest = nan_max(largest, scores[i]); });
  if (largest == no_score) return 0;
  double sum = sink == no_score ? 0 : std::exp(sink - largest);
  for_each_until(n, 10, check,
                 [&](std::int64_t i) { sum += scores[i] = std::exp(scores[i] - largest); });
  return sum;
}

template <class T, class K>
void attend(const CachedAttention& op, const CachedSizes& sizes, const CachedRow<T, K>& row,
            double* scores, StopCheck& check) {
  cached_scores(op, sizes, row, scores, check);
  const std::int64_t n = row.end - row.first;
  const double all = exponentials_with_sink(scores, n, row.sink, check);
  for (std::int64_t d = 0; d < sizes.value_width && !check.is_over(); ++d) {
    double sum = 0;
    for_each_until(n, 2, check, [&](std::int64_t i) {
      sum += scores[i] * static_cast<double>(row.v[(row.first + i) * sizes.value_width + d]);
    });
    row.y[d] = T(all == 0 ? 0.0 : sum / all);
  }
}

template <class T, class K>
Status attend_all(const ReferenceCall& call) {
  const auto& op = call.as<CachedAttention>();
  const Shape& q = call.inputs[0].type.shape;
  const Shape& k = call.inputs[1].type.shape;
  const CachedSizes sizes{q[3], call.inputs[2].type.shape[3]};
  const std::int64_t group = q[1] / k[1];
  const Shape scores_shape{q[0], q[1], q[2], k[2]};
  const Shape bias = call.has(4) ? broadcast_strides(call.inputs[4].type.shape, scores_shape)
                                 : Shape::filled(4, 0);
  auto* scores = call.scratch.take<double>(static_cast<std::size_t>(k[2]));
  const T* rows = call.inputs[0].as<T>();
  T* y = call.outputs[0].as<T>();
  StopCheck check(call.stop);
  for (std::int64_t b = 0; b < q[0]; ++b) {
    const std::int64_t before = int_element(call.inputs[3], b);
    QUERN_TRY(check_keys_in_cache({.before = before, .rows = q[2], .all = k[2]}));
    for (std::int64_t h = 0; h < q[1]; ++h) {
      const std::int64_t keys = (b * k[1] + h / group) * k[2];
      for (std::int64_t i = 0; i < q[2]; ++i, rows += sizes.width, y += sizes.value_width) {
        if (check.spend(4)) return {};
        const std::int64_t end = before + i + 1;
        const std::int64_t biases = b * bias[0] + h * bias[1] + i * bias[2];
        const CachedRow<T, K> row{
            .q = rows,
            .k = call.inputs[1].as<K>() + keys * sizes.width,
            .v = call.inputs[2].as<K>() + keys * sizes.value_width,
            .bias = call.has(4) ? call.inputs[4].as<T>() + biases : nullptr,
            .bias_step = bias[3],
            .first = op.window > 0 ? std::max<std::int64_t>(0, end - op.window) : 0,
            .end = end,
            .sink = call.has(5) ? float_element(call.inputs[5], h) : no_score,
            .y = y};
        attend(op, sizes, row, scores, check);
      }
    }
  }
  return {};
}

Status cached_attention_reference(const ReferenceCall& call) {
  Status status;
  if (call.outputs[0].type.shape.elements() == 0) return status;
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    visit_float(call.inputs[1].type.dtype,
                [&]<class K>(TypeTag<K>) { status = attend_all<T, K>(call); });
  });
  return status;
}

std::size_t cached_attention_scratch(const Op&, std::span<const TensorType> inputs,
                                     std::span<const TensorType>) {
  return Scratch::bytes_for<double>(static_cast<std::size_t>(inputs[1].shape[2]));
}

// As if every key counted: how many do is known to a run.
Cost cached_attention_flops(const Op&, std::span<const TensorType> inputs,
                            std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  const Shape& q = inputs[0].shape;
  const Shape& v = inputs[2].shape;
  cost.flops = 2 * static_cast<double>(q.elements(0, 3)) * static_cast<double>(v[2]) *
               static_cast<double>(q[3] + v[3]);
  return cost;
}

constexpr CpuImplementation cached_attention_implementations[] = {
    {"rows", select_cached_attention_rows}};

}  // namespace

const OpKernels& CachedAttention::kernels() {
  static constexpr OpKernels table{
      .reference = {cached_attention_reference, cached_attention_scratch},
      .cpu = cached_attention_implementations,
      .flops = cached_attention_flops,
      .gpu = gpu::select_cached_attention};
  return table;
}

}  // namespace quern
