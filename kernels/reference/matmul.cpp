// SPDX-License-Identifier: Apache-2.0
// MatMul: y = alpha * a b over the last two dimensions, NumPy's rules for the rest
// (matmul_shape.h).
//
// ONNX: MatMul, opsets 1 to 13; Gemm, opsets 1 to 13, imports as this, its third operand as a
// Binary add. Sums in double, rounded once; integers wrap, and alpha scales their result in double
// unless it is 1. A depth of zero gives zeros.
#include "graph/ops/matmul.h"

#include "graph/numeric.h"
#include "graph/ops/products.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/matmul_shape.h"
#include "kernels/cpu/matmul_rows.h"
#include "kernels/cpu/widened.h"
#include "kernels/gpu/kernels.h"
#include "kernels/onednn/select.h"

namespace quern {
namespace {

// ---- reference

template <class T, class S>
T scaled(S sum, float alpha) {
  if (alpha == 1) return static_cast<T>(sum);
  if constexpr (is_float_type<T>) {
    return T(sum * static_cast<double>(alpha));
  } else {
    return convert<T>(static_cast<double>(static_cast<T>(sum)) * static_cast<double>(alpha));
  }
}

template <class T, class Y>
void multiply(const ProductShape& p, const T* a, const T* b, Y* y, float alpha, StopCheck& check) {
  for (std::int64_t m = 0; m < p.rows; ++m)
    for (std::int64_t n = 0; n < p.columns && !check.spend(4); ++n) {
      Sum<T> sum = 0;
      for_each_until(p.depth, 1, check, [&](std::int64_t k) {
        sum += static_cast<Sum<T>>(a[m * p.a_row + k * p.a_column]) *
               static_cast<Sum<T>>(b[k * p.b_row + n * p.b_column]);
      });
      y[m * p.columns + n] = scaled<Y>(sum, alpha);
    }
}

template <class T, class Y = T>
void multiply_all(const ReferenceCall& call, const ProductShape& p, StopCheck& check) {
  Y* y = call.outputs[0].as<Y>();
  for_each_offset(p.batch, std::array{p.a_batch, p.b_batch}, 1, check, [&](const auto& at) {
    multiply(p, call.inputs[0].as<T>() + at[0], call.inputs[1].as<T>() + at[1], y,
             call.as<MatMul>().alpha, check);
    y += p.rows * p.columns;
  });
}

Status matmul_reference(const ReferenceCall& call) {
  const auto& op = call.as<MatMul>();
  if (call.outputs[0].type.shape.elements() == 0) return {};
  const ProductShape p =
      product_shape(call.inputs[0].type.shape, call.inputs[1].type.shape, transposed_in(op));
  StopCheck check(call.stop);
  visit_number(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (is_float_type<T>) {
      op.f32_result ? multiply_all<T, float>(call, p, check) : multiply_all<T>(call, p, check);
    } else if constexpr (sizeof(T) >= 4) {
      multiply_all<T>(call, p, check);
    }
  });
  return {};
}

Cost matmul_flops(const Op& op, std::span<const TensorType> inputs,
                  std::span<const TensorType> outputs) {
  const auto& m = *op.as<MatMul>();
  Cost cost = traffic(inputs, outputs);
  cost.flops =
      2 * product_shape(inputs[0].shape, inputs[1].shape, transposed_in(m)).multiplications();
  return cost;
}

constexpr CpuImplementation matmul_implementations[] = {
#ifdef QUERN_ONEDNN
    {"rows", select_matmul_of_few_rows},
    {"onednn", select_matmul_onednn},
#endif
    {"rows", select_matmul_rows},
    {"widened", select_widened},
};

}  // namespace

const OpKernels& MatMul::kernels() {
  static constexpr OpKernels table{.reference = {matmul_reference},
                                   .cpu = matmul_implementations,
                                   .flops = matmul_flops,
                                   .gpu = gpu::select_matmul};
  return table;
}

}  // namespace quern
