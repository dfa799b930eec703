// SPDX-License-Identifier: Apache-2.0
// Binary: y = f(a, b) with numpy broadcasting.
//
// ONNX: Add, Sub, Mul, Div, Pow, Mod, Min, Max, PRelu, the comparisons, logical and bitwise
// operators, BitShift, opsets 1 to 18; Sum, Mean and variadic Min and Max import as chains. Pow
// takes an exponent of another type. Fast form: elementwise.cpp.
#include "graph/op_fields.h"
#include "graph/text_util.h"
#include "kernels/elementwise.h"
#include "kernels/infer.h"
#include "kernels/iterate.h"
#include "kernels/kernel.h"
#include "kernels/operands.h"
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
  const bool equatable = is_number(t) || t == DType::boolean || t == DType::string;
  const bool ok = kind == BinaryKind::equal ? equatable
                  : is_logical(kind)        ? t == DType::boolean
                  : is_bitwise(kind)        ? is_number_integer(t)
                                            : is_number(t);
  if (!ok || (kind == BinaryKind::pow && !is_number(c.dtype(1))))
    return c.error(
        cat(enum_name(kind), " does not take ", name_of(t), " and ", name_of(c.dtype(1))));
  return infer_broadcast(c, is_comparison(kind) ? DType::boolean : t);
}

// ---- reference

// f(i, j) for each element of the output: the elements of a and b that go with it.
template <class Y, class F>
void broadcast_loop(const ReferenceCall& call, F f) {
  const Shape& shape = call.outputs[0].type.shape;
  Y* y = call.outputs[0].as<Y>();
  const std::array<Shape, 2> strides = {broadcast_strides(call.inputs[0].type.shape, shape),
                                        broadcast_strides(call.inputs[1].type.shape, shape)};
  for_each_offset(shape, strides, [&](const auto& at) { *y++ = f(at[0], at[1]); });
}

// Base and exponent of different types: in double, unless both are integers.
void mixed_pow(const ReferenceCall& call) {
  const TensorView& exponent = call.inputs[1];
  const DType e = exponent.type.dtype;
  visit_number(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    const T* a = call.inputs[0].as<T>();
    if constexpr (is_integer_type<T>) {
      if (is_number_integer(e) && is_unsigned(e))
        return broadcast_loop<T>(call, [&](auto i, auto j) {
          return integer_power(a[i], element_as<std::uint64_t>(exponent, j));
        });
      if (is_number_integer(e))
        return broadcast_loop<T>(
            call, [&](auto i, auto j) { return integer_power(a[i], int_element(exponent, j)); });
    }
    broadcast_loop<T>(call, [&](auto i, auto j) {
      return convert<T>(std::pow(static_cast<double>(a[i]), float_element(exponent, j)));
    });
  });
}

template <class T, class Y, class F>
void typed_loop(const ReferenceCall& call, F f) {
  const T* a = call.inputs[0].as<T>();
  const T* b = call.inputs[1].as<T>();
  broadcast_loop<Y>(call, [&](std::int64_t i, std::int64_t j) { return f(a[i], b[j]); });
}

Status reference(const ReferenceCall& call) {
  const BinaryKind kind = call.as<Binary>().kind;
  const DType t = call.inputs[0].type.dtype;
  if (call.inputs[1].type.dtype != t) {
    mixed_pow(call);
  } else if (t == DType::string) {
    typed_loop<StringRef, bool>(call, [](auto a, auto b) { return a.view() == b.view(); });
  } else if (t == DType::boolean) {
    typed_loop<bool, bool>(call, [&](bool a, bool b) {
      return kind == BinaryKind::logical_and  ? a && b
             : kind == BinaryKind::logical_or ? a || b
             : kind == BinaryKind::equal      ? a == b
                                              : a != b;
    });
  } else {
    visit_number(t, [&]<class T>(TypeTag<T>) {
      using C = ComputeType<T>;
      if (is_comparison(kind)) {
        typed_loop<T, bool>(call, [&](T a, T b) { return compare(kind, C(a), C(b)); });
      } else if constexpr (is_float_type<T>) {
        typed_loop<T, T>(call, [&](T a, T b) { return T(apply_float(kind, C(a), C(b))); });
      } else {
        typed_loop<T, T>(call, [&](T a, T b) { return apply_integer(kind, a, b); });
      }
    });
  }
  return {};
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
