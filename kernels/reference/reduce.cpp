// SPDX-License-Identifier: Apache-2.0
// Reduce: folds the elements along some axes into one: sum, mean, max, min, product, sum of sizes
// (l1), root of the sum of squares (l2), log of the sum, log of the sum of exponentials, sum of
// squares.
//
// ONNX: the ten Reduce* operators, opsets 1 to 20; max and min of bool are "any" and "all". Over no
// axes at all the steps before and after the folding still happen: l1 is |x|. Over no elements:
// sums are 0, products 1, max the least and min the greatest number, mean NaN and logs -inf
// (integers: 0 and the least). NaN goes through max and min.
//
// Floats fold in double and round once. Integers wrap; their mean, roots and logs truncate.
#include "graph/ops/reduce.h"

#include <bit>
#include <functional>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/operands.h"
#include "graph/ops/split.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/scalar_math.h"
#include "kernels/cpu/reduce_rows.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

// Dimensions of x, apart from each other: those that stay and those that are folded.
struct SplitAxes {
  Shape kept, kept_strides, folded, folded_strides;
  StopCheck* check;
};

Result<SplitAxes> split(const ReferenceCall& call, StopCheck& check) {
  const auto& op = call.as<Reduce>();
  const Shape& x = call.inputs[0].type.shape;
  const std::int64_t count = call.has(1) ? call.inputs[1].type.shape.elements() : 0;
  std::uint32_t mask = count == 0 && !op.noop_with_empty_axes ? ~0u : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t axis = positive_axis(int_element(call.inputs[1], i), x.rank());
    if (axis >= x.rank())
      return Status(Code::invalid_argument,
                    cat("axis ", int_element(call.inputs[1], i), " is outside of rank ", x.rank()));
    mask |= 1u << axis;  // NOLINT(clang-analyzer-core.UndefinedBinaryOperatorResult): rank <= 16
  }
  const Shape strides = row_major_strides(x);
  SplitAxes s{.check = &check};
  for (std::size_t d = 0; d < x.rank(); ++d) {
    const bool folds = (mask >> d & 1) != 0;
    (folds ? s.folded : s.kept).push_back(x[d]);
    (folds ? s.folded_strides : s.kept_strides).push_back(strides[d]);
  }
  return s;
}

template <class A, class T, class F>
A fold(const SplitAxes& s, const T* x, A start, F f) {
  for_each_offset(s.folded, std::array{s.folded_strides}, 4, *s.check,
                  [&](const auto& at) { start = f(start, x[at[0]]); });
  return start;
}

template <class T>
ComputeType<T> largest(const SplitAxes& s, const T* x) {
  using C = ComputeType<T>;
  using Limits = std::numeric_limits<C>;
  const C least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return fold(s, x, least, [](C a, C v) { return nan_max(a, v); });
}
template <class T>
ComputeType<T> smallest(const SplitAxes& s, const T* x) {
  using C = ComputeType<T>;
  using Limits = std::numeric_limits<C>;
  const C greatest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  return fold(s, x, greatest, [](C a, C v) { return nan_min(a, v); });
}

// The sum as a number: integers modulo 2^64 come back with their sign.
template <class T>
auto sum(const SplitAxes& s, const T* x) {
  const auto total =
      fold(s, x, Sum<T>(0), [](Sum<T> a, T v) { return a + static_cast<Sum<T>>(v); });
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    return static_cast<std::int64_t>(total);
  } else {
    return total;
  }
}

template <class T>
double log_sum_exp(const SplitAxes& s, const T* x) {
  const auto shift = static_cast<double>(largest(s, x));
  if (std::isinf(shift)) return shift;  // nothing but -inf, nothing at all, or an infinite element
  const double total =
      fold(s, x, 0.0, [&](double a, T v) { return a + std::exp(static_cast<double>(v) - shift); });
  return shift + std::log(total);
}

template <class T>
T mean(const SplitAxes& s, const T* x) {
  const auto n = s.folded.elements();
  if constexpr (is_float_type<T>) {
    return T(sum(s, x) / static_cast<double>(n));
  } else {
    return n == 0 ? T(0) : static_cast<T>(sum(s, x) / static_cast<decltype(sum(s, x))>(n));
  }
}

template <class T>
T from_double(double v) {
  if constexpr (is_float_type<T>) {
    return T(v);
  } else {
    return convert<T>(v);
  }
}

template <class T>
Sum<T> magnitude(T v) {
  const auto x = static_cast<Sum<T>>(v);
  return v < 0 ? 0 - x : x;
}

template <class T>
T reduce(ReduceKind kind, const SplitAxes& s, const T* x) {
  using A = Sum<T>;
  switch (kind) {
    case ReduceKind::sum: return static_cast<T>(static_cast<A>(sum(s, x)));
    case ReduceKind::mean: return mean(s, x);
    case ReduceKind::max: return T(largest(s, x));
    case ReduceKind::min: return T(smallest(s, x));
    case ReduceKind::prod:
      return static_cast<T>(fold(s, x, A(1), [](A a, T v) { return a * static_cast<A>(v); }));
    case ReduceKind::l1:
      return static_cast<T>(fold(s, x, A(0), [](A a, T v) { return a + magnitude(v); }));
    case ReduceKind::l2:
      return from_double<T>(std::sqrt(fold(s, x, 0.0, [](double a, T v) {
        return a + static_cast<double>(v) * static_cast<double>(v);
      })));
    case ReduceKind::log_sum: return from_double<T>(std::log(static_cast<double>(sum(s, x))));
    case ReduceKind::log_sum_exp: return from_double<T>(log_sum_exp(s, x));
    case ReduceKind::sum_square:
      return static_cast<T>(
          fold(s, x, A(0), [](A a, T v) { return a + static_cast<A>(v) * static_cast<A>(v); }));
  }
  return T();
}

bool any_or_all(ReduceKind kind, const SplitAxes& s, const bool* x) {
  return kind == ReduceKind::max ? fold(s, x, false, std::logical_or<bool>())
                                 : fold(s, x, true, std::logical_and<bool>());
}

template <class T, class F>
void for_each_kept(const ReferenceCall& call, const SplitAxes& s, F f) {
  const T* x = call.inputs[0].as<T>();
  T* y = call.outputs[0].as<T>();
  for_each_offset(s.kept, std::array{s.kept_strides}, 8, *s.check,
                  [&](const auto& at) { *y++ = f(x + at[0]); });
}

Status reduce_reference(const ReferenceCall& call) {
  const ReduceKind kind = call.as<Reduce>().kind;
  StopCheck check(call.stop);
  QUERN_ASSIGN(const SplitAxes s, split(call, check));
  if (call.inputs[0].type.dtype == DType::boolean)
    for_each_kept<bool>(call, s, [&](const bool* x) { return any_or_all(kind, s, x); });
  visit_number(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    for_each_kept<T>(call, s, [&](const T* x) { return reduce(kind, s, x); });
  });
  return {};
}

Cost reduce_flops(const Op&, std::span<const TensorType> inputs,
                  std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = static_cast<double>(inputs[0].shape.elements());
  return cost;
}

constexpr CpuImplementation reduce_implementations[] = {{"rows", select_reduce_rows}};

}  // namespace

const OpKernels& Reduce::kernels() {
  static constexpr OpKernels table{.reference = {reduce_reference},
                                   .cpu = reduce_implementations,
                                   .flops = reduce_flops,
                                   .gpu = gpu::select_reduce};
  return table;
}

}  // namespace quern
