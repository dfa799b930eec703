// SPDX-License-Identifier: Apache-2.0
// Binary: y = f(a, b) with numpy broadcasting.
//
// ONNX: Add, Sub, Mul, Div, Pow, Mod, Min, Max, PRelu, the comparisons, logical and bitwise
// operators, BitShift, opsets 1 to 18; Sum, Mean and variadic Min and Max import as chains. Pow
// takes an exponent of another type. Fast path: elementwise.cpp.
#include "graph/ops/binary.h"

#include <concepts>

#include "graph/operands.h"
#include "kernels/contract/binary_math.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

// f(i, j) for each element of the output: the elements of a and b that go with it.
template <class Y, class F>
void broadcast_loop(const ReferenceCall& call, F f) {
  const Shape& shape = call.outputs[0].type.shape;
  Y* y = call.outputs[0].as<Y>();
  const std::array<Shape, 2> strides = {broadcast_strides(call.inputs[0].type.shape, shape),
                                        broadcast_strides(call.inputs[1].type.shape, shape)};
  StopCheck check(call.stop);
  for_each_offset(shape, strides, 16, check, [&](const auto& at) { *y++ = f(at[0], at[1]); });
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

// The innermost dimensions along which each operand either goes on element by element or stands
// still, as one run; the others outside of it.
struct Runs {
  Shape outer;
  std::array<Shape, 2> strides;
  std::int64_t n = 1;
  bool moves[2] = {false, false};
};

Runs runs_of(const ReferenceCall& call) {
  Runs r{.outer = call.outputs[0].type.shape, .strides = {}};
  for (std::size_t k = 0; k < 2; ++k)
    r.strides[k] = broadcast_strides(call.inputs[k].type.shape, r.outer);
  while (!r.outer.empty()) {
    const std::int64_t size = r.outer.back();
    for (std::size_t k = 0; k < 2; ++k) {
      const std::int64_t stride = r.strides[k].back();
      if (r.n == 1 && size > 1) r.moves[k] = stride != 0;
      if (size > 1 && stride != (r.moves[k] ? r.n : 0)) return r;
    }
    r.n *= size;
    for (Shape* s : {&r.outer, &r.strides[0], &r.strides[1]}) s->erase(s->rank() - 1);
  }
  return r;
}

template <class T, class Y, class F>
void typed_loop(const ReferenceCall& call, F f) {
  if (call.outputs[0].type.shape.elements() == 0) return;
  const Runs r = runs_of(call);
  Y* y = call.outputs[0].as<Y>();
  StopCheck check(call.stop);
  for_each_offset(r.outer, r.strides, 4, check, [&](const auto& at) {
    const T* a = call.inputs[0].as<T>() + at[0];
    const T* b = call.inputs[1].as<T>() + at[1];
    // By value: what `y` is written to might be what it is, as far as a compiler knows.
    if (!r.moves[1]) {
      for_each_until(r.n, 2, check, [&f, y, a, moves = r.moves[0], right = *b](std::int64_t i) {
        y[i] = f(moves ? a[i] : *a, right);
      });
    } else if (!r.moves[0]) {
      for_each_until(r.n, 2, check,
                     [&f, y, b, left = *a](std::int64_t i) { y[i] = f(left, b[i]); });
    } else {
      for_each_until(r.n, 2, check, [&f, y, a, b](std::int64_t i) { y[i] = f(a[i], b[i]); });
    }
    y += r.n;
  });
}

// g(kind), with the frequent kinds of frequent types known to the compiler, which then makes vector
// loops of them.
template <class T>
constexpr bool is_frequent = sizeof(T) >= 4;

template <class T, class G>
void with_kind(BinaryKind kind, const G& g) {
  if constexpr (!is_frequent<T>) return g(kind);
  const auto known = [&]<BinaryKind K>(std::integral_constant<BinaryKind, K> k) { g(k); };
  switch (kind) {
    case BinaryKind::add: return known(std::integral_constant<BinaryKind, BinaryKind::add>());
    case BinaryKind::sub: return known(std::integral_constant<BinaryKind, BinaryKind::sub>());
    case BinaryKind::mul: return known(std::integral_constant<BinaryKind, BinaryKind::mul>());
    default: return g(kind);
  }
}
template <class T, class G>
void with_comparison(BinaryKind kind, const G& g) {
  if constexpr (!is_frequent<T>) return g(kind);
  const auto known = [&]<BinaryKind K>(std::integral_constant<BinaryKind, K> k) { g(k); };
  switch (kind) {
    case BinaryKind::equal: return known(std::integral_constant<BinaryKind, BinaryKind::equal>());
    case BinaryKind::less: return known(std::integral_constant<BinaryKind, BinaryKind::less>());
    case BinaryKind::greater:
      return known(std::integral_constant<BinaryKind, BinaryKind::greater>());
    default: return g(kind);
  }
}

Status binary_reference(const ReferenceCall& call) {
  const BinaryKind kind = call.as<Binary>().kind;
  const DType t = call.inputs[0].type.dtype;
  if (call.inputs[1].type.dtype != t) {
    mixed_pow(call);
  } else if (t == DType::string) {
    typed_loop<StringRef, bool>(call, [check = StopCheck(call.stop)](auto a, auto b) mutable {
      const bool may_equal =
          a.size == b.size && !check.spend(static_cast<std::int64_t>(a.size / 8));
      return may_equal && a.view() == b.view();
    });
  } else if (t == DType::boolean) {
    typed_loop<bool, bool>(call, [&](std::same_as<bool> auto a, std::same_as<bool> auto b) {
      return kind == BinaryKind::logical_and  ? a && b
             : kind == BinaryKind::logical_or ? a || b
             : kind == BinaryKind::equal      ? a == b
                                              : a != b;
    });
  } else {
    visit_number(t, [&]<class T>(TypeTag<T>) {
      using C = ComputeType<T>;
      if (is_comparison(kind)) {
        with_comparison<T>(kind, [&](auto k) {
          typed_loop<T, bool>(call, [k](T a, T b) { return compare(k, C(a), C(b)); });
        });
      } else if constexpr (is_float_type<T>) {
        with_kind<T>(kind, [&](auto k) {
          typed_loop<T, T>(call, [k](T a, T b) { return T(apply_float(k, C(a), C(b))); });
        });
      } else {
        with_kind<T>(kind, [&](auto k) {
          typed_loop<T, T>(call, [k](T a, T b) { return apply_integer(k, a, b); });
        });
      }
    });
  }
  return {};
}

constexpr CpuImplementation binary_implementations[] = {{"elementwise", select_elementwise}};

}  // namespace

const OpKernels& Binary::kernels() {
  static constexpr OpKernels table{
      .reference = {binary_reference}, .cpu = binary_implementations, .gpu = gpu::select_binary};
  return table;
}

}  // namespace quern
