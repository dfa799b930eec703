// SPDX-License-Identifier: Apache-2.0
// Attention: softmax(scale * q k^T + mask) v for each head, over (q, k, v, mask?) of one rank: q
// [..., heads, rows, width], k [..., key heads, keys, width] (or [..., width, keys]), v [..., key
// heads, keys, value width]. Query head h reads key head h / (heads / key heads). Leading
// dimensions broadcast, and so does the mask to [..., heads, rows, keys]: floats are added, a bool
// keeps the keys where it is true.
//
// ONNX: the core of Attention, opsets 23 to 25, and what the passes fuse. A row whose mask is -inf
// (or false) everywhere gives zeros, as the operator of opset 25 has it, where Softmax alone gives
// NaN. In double, rounded once.
#include "graph/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/numeric.h"
#include "graph/operands.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/scalar_math.h"
#include "kernels/cpu/attention_rows.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

// Sizes of one call; offsets of a head are its number times the product of the last two dimensions.
struct Sizes {
  Shape leading;
  std::array<Shape, 4> strides;  // over `leading`: of q, k, v, mask
  std::int64_t heads, group, rows, keys, width, value_width;
  Shape mask_strides;                 // over [..., heads, rows, keys]
  std::int64_t key_step, width_step;  // in k
};

Sizes sizes_of(const ReferenceCall& call) {
  const Shape& q = call.inputs[0].type.shape;
  const Shape& k = call.inputs[1].type.shape;
  const Shape& v = call.inputs[2].type.shape;
  const Shape& y = call.outputs[0].type.shape;
  const std::size_t outer = q.rank() - 3;
  const bool turned = call.as<Attention>().k_transposed;
  const auto leading = [&](const Shape& s) { return Shape(s.dims().first(outer)); };
  Sizes s;
  s.leading = leading(y);
  s.heads = q[outer];
  s.group = k[outer] ? q[outer] / k[outer] : 1;
  s.rows = q[outer + 1];
  s.width = q[outer + 2];
  s.keys = v[outer + 1];
  s.value_width = v[outer + 2];
  s.key_step = turned ? 1 : s.width;
  s.width_step = turned ? s.keys : 1;
  Shape scores = y;
  scores[outer + 2] = s.keys;
  s.mask_strides = call.has(3) ? broadcast_strides(call.inputs[3].type.shape, scores)
                               : Shape::filled(y.rank(), 0);
  const auto strides = [&](const Shape& x) {
    return broadcast_strides(leading(x), row_major_strides(x), s.leading);
  };
  s.strides = {strides(q), strides(k), strides(v), leading(s.mask_strides)};
  return s;
}

double mask_at(const TensorView& mask, std::int64_t i) {
  if (mask.type.dtype != DType::boolean) return float_element(mask, i);
  return mask.as<bool>()[i] ? 0 : -std::numeric_limits<double>::infinity();
}

// Adds the mask to a row of scores; false when it leaves no key.
bool add_mask(const ReferenceCall& call, const Sizes& s, std::int64_t at, double* scores,
              StopCheck& check) {
  bool any = s.keys == 0;
  for_each_until(s.keys, 4, check, [&](std::int64_t j) {
    const double m = mask_at(call.inputs[3], at + j * s.mask_strides.back());
    any |= m != -std::numeric_limits<double>::infinity();
    scores[j] += m;
  });
  return any;
}

void softmax(double* scores, std::int64_t n, StopCheck& check) {
  double largest = -std::numeric_limits<double>::infinity();
  double sum = 0;
  for_each_until(n, 2, check, [&](std::int64_t j) { largest = nan_max(largest, scores[j]); });
  for_each_until(n, 10, check,
                 [&](std::int64_t j) { sum += scores[j] = std::exp(scores[j] - largest); });
  for_each_until(n, 2, check, [&](std::int64_t j) { scores[j] /= sum; });
}

// One row of one head.
template <class T>
struct Row {
  const T *q, *k, *v;
  std::int64_t mask;  // offset
  T* y;
};

template <class T>
void attend(const ReferenceCall& call, const Sizes& s, const Row<T>& row, double* scores,
            StopCheck& check) {
  const auto scale = static_cast<double>(call.as<Attention>().scale);
  for_each_until(s.keys, 1 + s.width, check, [&](std::int64_t j) {
    double dot = 0;
    for (std::int64_t d = 0; d < s.width; ++d)
      dot += static_cast<double>(row.q[d]) *
             static_cast<double>(row.k[j * s.key_step + d * s.width_step]);
    scores[j] = dot * scale;
  });
  if (call.has(3) && !add_mask(call, s, row.mask, scores, check)) {
    std::fill(row.y, row.y + s.value_width, T(0.0));
    return;
  }
  softmax(scores, s.keys, check);
  for (std::int64_t d = 0; d < s.value_width && !check.is_over(); ++d) {
    double sum = 0;
    for_each_until(s.keys, 2, check, [&](std::int64_t j) {
      sum += scores[j] * static_cast<double>(row.v[j * s.value_width + d]);
    });
    row.y[d] = T(sum);
  }
}

template <class T>
void attend_all(const ReferenceCall& call, const Sizes& s, double* scores) {
  const std::size_t outer = s.leading.rank();
  T* y = call.outputs[0].as<T>();
  StopCheck check(call.stop);
  for_each_offset(s.leading, s.strides, 1, check, [&](const auto& at) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const std::int64_t key_rows = h / s.group * s.keys;
      for (std::int64_t i = 0; i < s.rows; ++i, y += s.value_width) {
        if (check.spend(1)) return;
        attend<T>(call, s,
                  {.q = call.inputs[0].as<T>() + at[0] + (h * s.rows + i) * s.width,
                   .k = call.inputs[1].as<T>() + at[1] + key_rows * s.width,
                   .v = call.inputs[2].as<T>() + at[2] + key_rows * s.value_width,
                   .mask = at[3] + h * s.mask_strides[outer] + i * s.mask_strides[outer + 1],
                   .y = y},
                  scores, check);
      }
    }
  });
}

Status attention_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  const Sizes s = sizes_of(call);
  auto* scores = call.scratch.take<double>(static_cast<std::size_t>(s.keys));
  visit_float(call.inputs[0].type.dtype,
              [&]<class T>(TypeTag<T>) { attend_all<T>(call, s, scores); });
  return {};
}

std::size_t attention_scratch(const Op&, std::span<const TensorType> inputs,
                              std::span<const TensorType> outputs) {
  if (outputs[0].shape.elements() == 0) return 0;
  const Shape& v = inputs[2].shape;
  return Scratch::bytes_for<double>(static_cast<std::size_t>(v[v.rank() - 2]));
}

Cost attention_flops(const Op&, std::span<const TensorType> inputs,
                     std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  const Shape& q = inputs[0].shape;
  const Shape& v = inputs[2].shape;
  const auto rows = static_cast<double>(outputs[0].shape.elements(0, q.rank() - 1));
  cost.flops =
      2 * rows * static_cast<double>(v[v.rank() - 2]) * static_cast<double>(q.back() + v.back());
  return cost;
}

constexpr CpuImplementation attention_implementations[] = {{"rows", select_attention_rows}};

}  // namespace

const OpKernels& Attention::kernels() {
  static constexpr OpKernels table{.reference = {attention_reference, attention_scratch},
                                   .cpu = attention_implementations,
                                   .flops = attention_flops,
                                   .gpu = gpu::select_attention};
  return table;
}

}  // namespace quern
