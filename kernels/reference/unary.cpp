// SPDX-License-Identifier: Apache-2.0
// Unary: y[i] = f(x[i]).
//
// ONNX: the 43 operators of one input that work element by element, opsets 1 to 24, as enumerators
// of UnaryKind. Floats of 16 bits compute in float and round once. Fast path: elementwise.cpp.
#include "graph/ops/unary.h"

#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/unary_math.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

bool is_inf_of(const Unary& u, double x) {
  return std::isinf(x) && (x < 0 ? u.alpha != 0 : u.beta != 0);
}

Status unary_reference(const ReferenceCall& call) {
  const auto& op = call.as<Unary>();
  const TensorView& x = call.inputs[0];
  const std::int64_t n = x.type.shape.elements();
  StopCheck check(call.stop);
  return visit_dtype(x.type.dtype, [&]<class T>(TypeTag<T>) -> Status {
    const T* in = x.as<T>();
    if constexpr (std::is_same_v<T, bool>) {
      bool* out = call.outputs[0].as<bool>();
      for_each_until(n, 1, check, [&](std::int64_t i) { out[i] = !in[i]; });
    } else if constexpr (is_float_type<T>) {
      if (call.outputs[0].type.dtype == DType::boolean) {
        bool* out = call.outputs[0].as<bool>();
        for_each_until(n, 2, check, [&](std::int64_t i) {
          out[i] = op.kind == UnaryKind::is_nan ? std::isnan(ComputeType<T>(in[i]))
                                                : is_inf_of(op, ComputeType<T>(in[i]));
        });
        return {};
      }
      T* out = call.outputs[0].as<T>();
      for_each_until(n, 16, check, [&](std::int64_t i) {
        out[i] = T(apply_float<ComputeType<T>>(op, ComputeType<T>(in[i])));
      });
    } else if constexpr (is_integer_type<T>) {
      T* out = call.outputs[0].as<T>();
      for_each_until(n, 4, check, [&](std::int64_t i) { out[i] = apply_integer(op, in[i]); });
    }
    return {};
  });
}

constexpr CpuImplementation unary_implementations[] = {{"elementwise", select_elementwise}};

}  // namespace

const OpKernels& Unary::kernels() {
  static constexpr OpKernels table{
      .reference = {unary_reference}, .cpu = unary_implementations, .gpu = gpu::select_unary};
  return table;
}

}  // namespace quern
