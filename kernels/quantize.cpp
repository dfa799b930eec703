// SPDX-License-Identifier: Apache-2.0
// Quantize: y = saturate(round(x / scale) + zero), halves to even. Dequantize: y = (x - zero) *
// scale. Scale and zero point are one for the tensor, one for each index along `axis`, or, with a
// block size, one for each block of so many indices along it.
//
// ONNX: QuantizeLinear and DequantizeLinear, opsets 10 to 25. The quotient is rounded to the type
// of scale first, as the specification has it; an 8-bit float is not rounded to a whole number. NaN
// gives 0. Dequantising happens in double, rounded once to the type of scale.
#include "graph/numeric.h"
#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/infer.h"
#include "kernels/iterate.h"
#include "kernels/kernel.h"
#include "kernels/operands.h"
#include "kernels/quantize_rows.h"
#include "kernels/quantized.h"

namespace quern {
namespace {

// How a scale goes with x[outer][axis][inner].
struct Granularity {
  std::int64_t axis = 1;
  std::int64_t block_size = 0;
};

bool is_small_type(DType t) {
  return is_8bit(t) || t == DType::i16 || t == DType::u16 || t == DType::i4 || t == DType::u4 ||
         t >= DType::f8e4m3fn;
}

// ---- inference

Status check_blocks(const InferContext& c, const Granularity& g) {
  const Dims& x = *c.dims(0);
  const Dims& scale = *c.dims(1);
  QUERN_ASSIGN(const std::size_t axis, c.axis(g.axis, x.size()));
  Dims wanted = x;
  wanted[axis] = ceil_div(wanted[axis], g.block_size);
  if (meet(wanted, scale)) return {};
  return c.error(cat(c.describe(1), " does not fit blocks of ", g.block_size, " along axis ", axis,
                     " of ", c.describe(0)));
}

Status check_scale(const InferContext& c, const Granularity& g) {
  if (g.block_size < 0) return c.error(cat("block_size is ", g.block_size, ", wants at least 0"));
  const Dims* scale = c.dims(1);
  if (c.has(2) && scale && c.dims(2) && !meet(*scale, *c.dims(2)) &&
      !(may_be_one_element(*scale) && may_be_one_element(*c.dims(2))))
    return c.error(cat(c.describe(1), " and ", c.describe(2), " must have one shape"));
  if (!scale || !c.dims(0) || scale->empty()) return {};
  if (g.block_size > 0) return check_blocks(c, g);
  if (scale->size() == 1 && may_be_one_element(*scale)) return {};
  QUERN_ASSIGN(const std::size_t axis, c.axis(g.axis, c.dims(0)->size()));
  return want_parameter(c, 1, &(*c.dims(0))[axis]);
}

Status infer_quantize(InferContext& c) {
  const auto& op = c.op<Quantize>();
  const auto takes = [&](std::size_t i) {
    return is_number_float(c.dtype(i)) || c.dtype(i) == DType::i32;
  };
  for (std::size_t i : {0, 1})
    if (!takes(i)) return c.error(cat(c.describe(i), " must be of floats or i32"));
  const DType to = c.has(2) ? c.dtype(2) : op.to;
  if (!is_small_type(to)) return c.error(cat("cannot quantize to ", name_of(to)));
  QUERN_TRY(check_scale(c, {op.axis, op.block_size}));
  c.set(0, to, c.type(0).dims);
  return {};
}

Status infer_dequantize(InferContext& c) {
  const auto& op = c.op<Dequantize>();
  if (!is_small_type(c.dtype(0)) && c.dtype(0) != DType::i32)
    return c.error(cat(c.describe(0), " is not quantized"));
  QUERN_TRY(want_floats(c, 1));
  QUERN_TRY(c.want_same_dtype(0, 2));
  QUERN_TRY(check_scale(c, {op.axis, op.block_size}));
  c.set(0, c.dtype(1), c.type(0).dims);
  return {};
}

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
  if (scale.elements() == 1) {
    for (std::int64_t i = 0; i < n; ++i) f(i, std::int64_t{0});
    return;
  }
  const AxisSplit s = split_at(x, positive_axis(g.axis, x.rank()));
  const std::int64_t blocks = g.block_size > 0 ? scale[positive_axis(g.axis, x.rank())] : 0;
  std::int64_t i = 0;
  for (std::int64_t o = 0; o < s.outer; ++o)
    for (std::int64_t a = 0; a < s.axis; ++a)
      for (std::int64_t inner = 0; inner < s.inner; ++inner, ++i)
        f(i, blocks ? (o * blocks + a / g.block_size) * s.inner + inner : a);
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
  if constexpr (requires(T t) { t.bits; }) {
    T y;
    const float v = round_to_odd(quotient + zero);
    if constexpr (std::is_same_v<T, Float8Of<Float8::e4m3fn>>)
      y.bits = float_to_float8(Float8::e4m3fn, v, overflow);
    if constexpr (std::is_same_v<T, Float8Of<Float8::e4m3fnuz>>)
      y.bits = float_to_float8(Float8::e4m3fnuz, v, overflow);
    if constexpr (std::is_same_v<T, Float8Of<Float8::e5m2>>)
      y.bits = float_to_float8(Float8::e5m2, v, overflow);
    if constexpr (std::is_same_v<T, Float8Of<Float8::e5m2fnuz>>)
      y.bits = float_to_float8(Float8::e5m2fnuz, v, overflow);
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
constexpr OpKernels quantize_kernels{.cpu = quantize_implementations, .gpu = gpu::select_quantize};
constexpr OpKernels dequantize_kernels{.cpu = dequantize_implementations,
                                       .gpu = gpu::select_dequantize};

}  // namespace

const OpDef& Quantize::def() {
  static constexpr OpDef def{.name = "Quantize",
                             .inputs = {2, 3},
                             .outputs = {1, 1},
                             .infer = infer_quantize,
                             .reference = reference_quantize,
                             .kernels = &quantize_kernels};
  return def;
}

const OpDef& Dequantize::def() {
  static constexpr OpDef def{.name = "Dequantize",
                             .inputs = {2, 3},
                             .outputs = {1, 1},
                             .infer = infer_dequantize,
                             .reference = reference_dequantize,
                             .kernels = &dequantize_kernels};
  return def;
}

}  // namespace quern
