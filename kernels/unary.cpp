// SPDX-License-Identifier: Apache-2.0
// Unary: y[i] = f(x[i]).
//
// ONNX: the 43 operators of one input that work element by element, opsets 1 to 24, as enumerators
// of UnaryKind. Floats of 16 bits compute in float and round once. Fast form: elementwise.cpp.
#include "graph/text.h"
#include "graph/text_util.h"
#include "kernels/elementwise.h"
#include "kernels/gpu/kernels.h"
#include "kernels/infer.h"
#include "kernels/kernel.h"
#include "kernels/scalar_math.h"

namespace quern {
namespace {

bool takes_integers(UnaryKind k) {
  switch (k) {
    case UnaryKind::abs:
    case UnaryKind::neg:
    case UnaryKind::sign:
    case UnaryKind::relu:
    case UnaryKind::clip:
    case UnaryKind::shrink:
    case UnaryKind::bitwise_not:
    case UnaryKind::reciprocal: return true;
    default: return false;
  }
}

bool takes_floats(UnaryKind k) {
  return k != UnaryKind::logical_not && k != UnaryKind::bitwise_not;
}

Status infer(InferContext& c) {
  const auto& op = c.op<Unary>();
  const DType t = c.dtype(0);
  const bool ok = op.kind == UnaryKind::logical_not ? t == DType::boolean
                  : is_number_float(t)              ? takes_floats(op.kind)
                  : is_number_integer(t)            ? takes_integers(op.kind)
                                                    : false;
  if (!ok) return c.error(cat(unary_text(op), " does not take ", name_of(t)));
  const bool is_predicate = op.kind == UnaryKind::is_nan || op.kind == UnaryKind::is_inf;
  c.set(0, is_predicate ? DType::boolean : t, c.type(0).dims);
  return {};
}

// ---- reference

bool is_inf_of(const Unary& u, double x) {
  return std::isinf(x) && (x < 0 ? u.alpha != 0 : u.beta != 0);
}

Status reference(const ReferenceCall& call) {
  const auto& op = call.as<Unary>();
  const TensorView& x = call.inputs[0];
  const std::int64_t n = x.type.shape.elements();
  return visit_dtype(x.type.dtype, [&]<class T>(TypeTag<T>) -> Status {
    const T* in = x.as<T>();
    if constexpr (std::is_same_v<T, bool>) {
      bool* out = call.outputs[0].as<bool>();
      for (std::int64_t i = 0; i < n; ++i) out[i] = !in[i];
    } else if constexpr (is_float_type<T>) {
      if (call.outputs[0].type.dtype == DType::boolean) {
        bool* out = call.outputs[0].as<bool>();
        for (std::int64_t i = 0; i < n; ++i)
          out[i] = op.kind == UnaryKind::is_nan ? std::isnan(ComputeType<T>(in[i]))
                                                : is_inf_of(op, ComputeType<T>(in[i]));
        return {};
      }
      T* out = call.outputs[0].as<T>();
      for (std::int64_t i = 0; i < n; ++i)
        out[i] = T(apply_float<ComputeType<T>>(op, ComputeType<T>(in[i])));
    } else if constexpr (is_integer_type<T>) {
      T* out = call.outputs[0].as<T>();
      for (std::int64_t i = 0; i < n; ++i) out[i] = apply_integer(op, in[i]);
    }
    return {};
  });
}

constexpr CpuImplementation cpu[] = {{"elementwise", select_elementwise}};
constexpr OpKernels kernels{.cpu = cpu, .gpu = gpu::select_unary};

}  // namespace

const OpDef& Unary::def() {
  static constexpr OpDef def{.name = "Unary",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .traits = OpTrait::elementwise | OpTrait::post_ops,
                             .infer = infer,
                             .reference = reference,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
