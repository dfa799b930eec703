// SPDX-License-Identifier: Apache-2.0
// Binary: y = f(a, b) with numpy broadcasting.
//
// ONNX: Add, Sub, Mul, Div, Pow, Mod, Min, Max, PRelu, the comparisons, logical and bitwise operators,
// BitShift, opsets 1 to 18; Sum, Mean and variadic Min and Max import as chains. Pow takes an
// exponent of another type. Fast form: elementwise.cpp.
#include "graph/op_fields.h"
#include "graph/text_util.h"
#include "kernels/elementwise.h"
#include "kernels/infer.h"
#include "kernels/iterate.h"
#include "kernels/kernel.h"
#include "kernels/scalar_math.h"

namespace quern {
namespace {

bool is_bitwise(BinaryKind k) {
  return k >= BinaryKind::bitwise_and && k <= BinaryKind::shift_right;
}

Status infer(InferContext& c) {
  const BinaryKind kind = c.op<Binary>().kind;
  const DType t = c.dtype(0);
  if (kind != BinaryKind::pow) QUERN_TRY(c.want_same_dtype(0, 1));
  const bool number = is_float(t) || is_integer(t);
  const bool ok = kind == BinaryKind::equal ? true
                  : is_logical(kind)        ? t == DType::boolean
                  : is_bitwise(kind)        ? is_integer(t)
                                            : number;
  if (!ok || (kind == BinaryKind::pow && !is_float(c.dtype(1)) && !is_integer(c.dtype(1))))
    return c.error(cat(enum_name(kind), " does not take ", name_of(t), " and ", name_of(c.dtype(1))));
  return infer_broadcast(c, is_comparison(kind) ? DType::boolean : t);
}

// ---- reference

template <class A, class B, class Y, class F>
void broadcast_loop(const ReferenceCall& call, F f) {
  const Shape& shape = call.outputs[0].type.shape;
  const A* a = call.inputs[0].as<A>();
  const B* b = call.inputs[1].as<B>();
  Y* y = call.outputs[0].as<Y>();
  const std::array<Shape, 2> strides = {broadcast_strides(call.inputs[0].type.shape, shape),
                                        broadcast_strides(call.inputs[1].type.shape, shape)};
  for_each_offset(shape, strides, [&](const auto& at) { *y++ = f(a[at[0]], b[at[1]]); });
}

// Base and exponent of different types: in double, unless both are integers.
Status mixed_pow(const ReferenceCall& call) {
  return visit_dtype(call.inputs[0].type.dtype, [&]<class A>(TypeTag<A>) -> Status {
    return visit_dtype(call.inputs[1].type.dtype, [&]<class B>(TypeTag<B>) -> Status {
      if constexpr (is_integer_type<A> && is_integer_type<B>) {
        broadcast_loop<A, B, A>(call, [](A a, B b) {
          const auto wide = integer_power<std::int64_t>(static_cast<std::int64_t>(a),
                                                        static_cast<std::int64_t>(b));
          return static_cast<A>(wide);
        });
      } else if constexpr (is_number_type<A> && is_number_type<B>) {
        broadcast_loop<A, B, A>(call, [](A a, B b) {
          const double p = std::pow(static_cast<double>(a), static_cast<double>(b));
          return convert<A>(p);
        });
      }
      return {};
    });
  });
}

Status reference(const ReferenceCall& call) {
  const BinaryKind kind = call.as<Binary>().kind;
  const DType t = call.inputs[0].type.dtype;
  if (call.inputs[1].type.dtype != t) return mixed_pow(call);
  return visit_dtype(t, [&]<class T>(TypeTag<T>) -> Status {
    if constexpr (std::is_same_v<T, StringRef>) {
      broadcast_loop<T, T, bool>(call, [](T a, T b) { return a.view() == b.view(); });
    } else if constexpr (std::is_same_v<T, bool>) {
      broadcast_loop<T, T, bool>(call, [&](bool a, bool b) {
        return kind == BinaryKind::logical_and  ? a && b
               : kind == BinaryKind::logical_or ? a || b
               : kind == BinaryKind::equal      ? a == b
                                                : a != b;
      });
    } else if constexpr (is_number_type<T>) {
      using C = ComputeType<T>;
      if (is_comparison(kind)) {
        broadcast_loop<T, T, bool>(call, [&](T a, T b) { return compare(kind, C(a), C(b)); });
      } else if constexpr (is_float_type<T>) {
        broadcast_loop<T, T, T>(call, [&](T a, T b) { return T(apply_float(kind, C(a), C(b))); });
      } else {
        broadcast_loop<T, T, T>(call, [&](T a, T b) { return apply_integer(kind, a, b); });
      }
    }
    return {};
  });
}

constexpr CpuImplementation cpu[] = {{"elementwise", select_elementwise}};
constexpr OpKernels kernels{.cpu = cpu};

}  // namespace

const OpDef& Binary::def() {
  static constexpr OpDef def{.name = "Binary",
                             .inputs = {2, 2},
                             .outputs = {1, 1},
                             .traits = OpTrait::elementwise | OpTrait::post_ops,
                             .infer = infer,
                             .reference = reference,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
