// SPDX-License-Identifier: Apache-2.0
// Quantize: y = saturate(round(x / scale) + zero), halves to even. Dequantize: y = (x - zero) *
// scale. Scale and zero point are one for the tensor, one for each index along `axis`, or, with a
// block size, one for each block of that many indices along it.
//
// ONNX: QuantizeLinear and DequantizeLinear, opsets 10 to 25. The quotient is rounded to the type
// of scale first, as the specification has it; a small float is not rounded to a whole number. NaN
// gives 0. Dequantising happens in double, rounded once to the type of scale.
#include "graph/ops/quantize.h"

#include "graph/numeric.h"
#include "graph/operands.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/quantized.h"
#include "kernels/cpu/quantize_rows.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- references

// Element i as a double, of any type that is quantised.
double quantized_element(const TensorView& t, std::int64_t i) {
  return visit_dtype(t.type.dtype, [&]<class T>(TypeTag<T>) -> double {
    if constexpr (std::is_same_v<T, StringRef>) {
      return 0;
    } else {
      return static_cast<double>(t.as<T>()[i]);
    }
  });
}

// f(i, k) for every element i of x and the element k of scale that goes with it.
template <class F>
void for_each_scaled(const ReferenceCall& call, const Granularity& g, F f) {
  const Shape& x = call.inputs[0].type.shape;
  const Shape& scale = call.inputs[1].type.shape;
  const std::int64_t n = x.elements();
  if (n == 0) return;
  constexpr std::int64_t cost = 16;
  StopCheck check(call.stop);
  if (scale.elements() == 1) {
    for_each_until(n, cost, check, [&](std::int64_t i) { f(i, std::int64_t{0}); });
    return;
  }
  const AxisSplit s = split_at(x, positive_axis(g.axis, x.rank()));
  const std::int64_t blocks = g.block_size > 0 ? scale[positive_axis(g.axis, x.rank())] : 0;
  std::int64_t i = 0;
  for (std::int64_t o = 0; o < s.outer; ++o)
    for (std::int64_t a = 0; a < s.axis; ++a)
      for_each_until(s.inner, cost, check, [&](std::int64_t inner) {
        f(i++, blocks ? (o * blocks + a / g.block_size) * s.inner + inner : a);
      });
}

// To the precision of the scale's type.
double rounded_like(DType t, double v) {
  switch (t) {
    case DType::f32: return static_cast<double>(static_cast<float>(v));
    case DType::f16: return static_cast<double>(Half(v));
    case DType::bf16: return static_cast<double>(BFloat16(v));
    default: return v;
  }
}

template <class T>
T quantized(double quotient, double zero, Overflow overflow) {
  if constexpr (requires { T::format; }) {
    T y;
    const float v = round_to_odd(quotient + zero);
    y.bits = float_to_small_float(T::format, v, overflow);
    return y;
  } else {
    return saturated<T>(std::nearbyint(quotient) + zero);
  }
}

Status reference_quantize(const ReferenceCall& call) {
  const auto& op = call.as<Quantize>();
  const DType precision = call.inputs[1].type.dtype;
  const Overflow overflow = op.saturate ? Overflow::to_largest : Overflow::to_infinity;
  visit_dtype(call.outputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (sizeof(T) <= 2 && !std::is_same_v<T, bool>) {
      T* y = call.outputs[0].as<T>();
      for_each_scaled(call, {op.axis, op.block_size}, [&](std::int64_t i, std::int64_t k) {
        const double quotient = float_element(call.inputs[0], i) / float_element(call.inputs[1], k);
        const double zero = call.has(2) ? quantized_element(call.inputs[2], k) : 0;
        y[i] = quantized<T>(rounded_like(precision, quotient), zero, overflow);
      });
    }
  });
  return {};
}

Status reference_dequantize(const ReferenceCall& call) {
  const auto& op = call.as<Dequantize>();
  visit_float(call.outputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    T* y = call.outputs[0].as<T>();
    for_each_scaled(call, {op.axis, op.block_size}, [&](std::int64_t i, std::int64_t k) {
      const double zero = call.has(2) ? quantized_element(call.inputs[2], k) : 0;
      y[i] = T((quantized_element(call.inputs[0], i) - zero) * float_element(call.inputs[1], k));
    });
  });
  return {};
}

constexpr CpuImplementation quantize_implementations[] = {{"rows", select_quantize_rows}};
constexpr CpuImplementation dequantize_implementations[] = {{"rows", select_dequantize_rows}};

}  // namespace

const OpKernels& Quantize::kernels() {
  static constexpr OpKernels table{.reference = {reference_quantize},
                                   .cpu = quantize_implementations,
                                   .gpu = gpu::select_quantize};
  return table;
}

const OpKernels& Dequantize::kernels() {
  static constexpr OpKernels table{.reference = {reference_dequantize},
                                   .cpu = dequantize_implementations,
                                   .gpu = gpu::select_dequantize};
  return table;
}

}  // namespace quern
