// SPDX-License-Identifier: Apache-2.0
// MatMul: y = alpha * a b over the last two dimensions, NumPy's rules for the rest
// (matmul_shape.h).
//
// ONNX: MatMul, opsets 1 to 13; Gemm, opsets 1 to 13, imports as this, its third operand as a
// Binary add. Sums in double, rounded once; integers wrap, and alpha scales their result in double
// unless it is 1. A depth of zero gives zeros.
#include "graph/numeric.h"
#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/infer.h"
#include "kernels/iterate.h"
#include "kernels/kernel.h"
#include "kernels/matmul_onednn.h"
#include "kernels/matmul_rows.h"
#include "kernels/matmul_shape.h"

namespace quern {
namespace {

bool takes(DType t) {
  return is_number_float(t) || t == DType::i32 || t == DType::i64 || t == DType::u32 ||
         t == DType::u64;
}

Status infer(InferContext& c) {
  const auto& op = c.op<MatMul>();
  if (!takes(c.dtype(0)))
    return c.error(cat(c.describe(0), " must be of floats or of 32 or 64-bit integers"));
  QUERN_TRY(c.want_same_dtype(0, 1));
  QUERN_ASSIGN(auto dims, infer_product(c, 0, 1, transposed_in(op)));
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

// ---- reference

template <class T>
T scaled(Sum<T> sum, float alpha) {
  if (alpha == 1) return static_cast<T>(sum);
  if constexpr (is_float_type<T>) {
    return T(sum * static_cast<double>(alpha));
  } else {
    return convert<T>(static_cast<double>(static_cast<T>(sum)) * static_cast<double>(alpha));
  }
}

template <class T>
void multiply(const ProductShape& p, const T* a, const T* b, T* y, float alpha) {
  for (std::int64_t m = 0; m < p.rows; ++m)
    for (std::int64_t n = 0; n < p.columns; ++n) {
      Sum<T> sum = 0;
      for (std::int64_t k = 0; k < p.depth; ++k)
        sum += static_cast<Sum<T>>(a[m * p.a_row + k * p.a_column]) *
               static_cast<Sum<T>>(b[k * p.b_row + n * p.b_column]);
      y[m * p.columns + n] = scaled<T>(sum, alpha);
    }
}

Status reference(const ReferenceCall& call) {
  const auto& op = call.as<MatMul>();
  if (call.outputs[0].type.shape.elements() == 0) return {};
  const ProductShape p =
      product_shape(call.inputs[0].type.shape, call.inputs[1].type.shape, transposed_in(op));
  visit_number(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (sizeof(T) >= 4 || is_float_type<T>) {
      T* y = call.outputs[0].as<T>();
      for_each_offset(p.batch, std::array{p.a_batch, p.b_batch}, [&](const auto& at) {
        multiply(p, call.inputs[0].as<T>() + at[0], call.inputs[1].as<T>() + at[1], y, op.alpha);
        y += p.rows * p.columns;
      });
    }
  });
  return {};
}

Cost flops(const Op& op, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
  const auto& m = *std::get_if<MatMul>(&op);
  Cost cost = traffic(inputs, outputs);
  cost.flops =
      2 * product_shape(inputs[0].shape, inputs[1].shape, transposed_in(m)).multiplications();
  return cost;
}

constexpr CpuImplementation cpu[] = {
#ifdef QUERN_ONEDNN
    {"onednn", select_matmul_onednn},
#endif
    {"rows", select_matmul_rows},
};
constexpr OpKernels kernels{.cpu = cpu, .flops = flops, .gpu = gpu::select_matmul};

}  // namespace

const OpDef& MatMul::def() {
  static constexpr OpDef def{.name = "MatMul",
                             .inputs = {2, 2},
                             .outputs = {1, 1},
                             .traits = OpTrait::post_ops,
                             .infer = infer,
                             .reference = reference,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
