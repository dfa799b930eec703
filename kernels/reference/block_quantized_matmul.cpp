// SPDX-License-Identifier: Apache-2.0
// BlockQuantizedMatMul: y[n] = bias[n] + sum over k of x[k] * (q[n, k] - zero) * scale, where zero
// and scale are those of the block of k in row n (graph/ops/block_quantized.h).
//
// ONNX: com.microsoft's MatMulNBits. Sums in double, rounded once. With quantize_x a row of x is
// rounded to bytes in blocks first, in float (in double if x is f64): round(x * (127 / most)) *
// (most / 127).
#include <cmath>

#include "engine/vocabulary/multiples.h"
#include "graph/numeric.h"
#include "graph/operands.h"
#include "graph/ops/block_quantized.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/scalar_math.h"
#include "kernels/cpu/few_bits_rows.h"

namespace quern {
namespace {

// ---- reference

// The weights of one column, by number.
struct FewBitsColumn {
  const BlockQuantizedMatMul& op;
  const ReferenceCall& call;
  std::int64_t blocks;
  std::int64_t n;

  double zero(std::int64_t block) const {
    if (!call.has(3)) return static_cast<double>(1 << (op.bits - 1));
    const TensorView& zeros = call.inputs[3];
    if (zeros.type.dtype != DType::u8) return float_element(zeros, n * blocks + block);
    const std::int64_t bytes = ceil_div(blocks, 8 / op.bits);
    return number_of_bits(zeros.as<std::uint8_t>() + n * bytes, block, op.bits);
  }
  double scale(std::int64_t block) const {
    return float_element(call.inputs[2], n * blocks + block);
  }
  double number(std::int64_t k) const {
    const std::int64_t bytes = blocks * (op.block_size * op.bits / 8);
    return number_of_bits(call.inputs[1].as<std::uint8_t>() + n * bytes, k, op.bits);
  }
};

// A row of x as it is multiplied.
template <class T>
void take_row(const T* x, std::int64_t depth, const BlockQuantizedMatMul& op, double* to) {
  using Real = ComputeType<T>;
  for (std::int64_t begin = 0; begin < depth; begin += op.block_size) {
    const std::int64_t end = std::min(depth, begin + op.block_size);
    if (!op.quantize_x) {
      for (std::int64_t k = begin; k < end; ++k) to[k] = static_cast<double>(Real(x[k]));
      continue;
    }
    Real most = 0;
    for (std::int64_t k = begin; k < end; ++k) most = nan_max(most, std::fabs(Real(x[k])));
    const BlockSteps<Real> steps(most);
    for (std::int64_t k = begin; k < end; ++k)
      to[k] = static_cast<double>(std::nearbyint(Real(x[k]) * steps.inverse)) *
              static_cast<double>(steps.scale);
  }
}

double product_with(const FewBitsColumn& w, const double* x, std::int64_t depth, StopCheck& check) {
  double sum = 0;
  for (std::int64_t block = 0; block < w.blocks; ++block) {
    const double zero = w.zero(block);
    const double scale = w.scale(block);
    const std::int64_t begin = block * w.op.block_size;
    for_each_until(std::min(depth - begin, w.op.block_size), 4, check, [&](std::int64_t k) {
      sum += x[begin + k] * ((w.number(begin + k) - zero) * scale);
    });
  }
  return sum;
}

template <class T>
void multiply(const ReferenceCall& call, StopCheck& check) {
  const auto& op = call.as<BlockQuantizedMatMul>();
  const Shape& shape = call.inputs[0].type.shape;
  const std::int64_t depth = shape.back();
  const std::int64_t columns = call.outputs[0].type.shape.back();
  const std::int64_t rows = call.outputs[0].type.shape.elements() / columns;
  auto* row = call.scratch.take<double>(static_cast<std::size_t>(depth));
  const T* x = call.inputs[0].as<T>();
  T* y = call.outputs[0].as<T>();
  for (std::int64_t m = 0; m < rows && !check.spend(depth); ++m, x += depth) {
    take_row(x, depth, op, row);
    for (std::int64_t n = 0; n < columns && !check.spend(4); ++n) {
      const FewBitsColumn w{op, call, call.inputs[2].type.shape[1], n};
      const double bias = call.has(4) ? float_element(call.inputs[4], n) : 0;
      *y++ = T(product_with(w, row, depth, check) + bias);
    }
  }
}

Status block_quantized_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  StopCheck check(call.stop);
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) { multiply<T>(call, check); });
  return {};
}

std::size_t block_quantized_scratch(const Op&, std::span<const TensorType> inputs,
                                    std::span<const TensorType>) {
  return Scratch::bytes_for<double>(static_cast<std::size_t>(inputs[0].shape.back()));
}

Cost block_quantized_flops(const Op&, std::span<const TensorType> inputs,
                           std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = 2 * static_cast<double>(outputs[0].shape.elements()) *
               static_cast<double>(inputs[0].shape.back());
  return cost;
}

constexpr CpuImplementation block_quantized_implementations[] = {
    {"few bits", select_block_quantized_matmul}};

}  // namespace

const OpKernels& BlockQuantizedMatMul::kernels() {
  static constexpr OpKernels table{
      .reference = {block_quantized_reference, block_quantized_scratch},
      .cpu = block_quantized_implementations,
      .flops = block_quantized_flops};
  return table;
}

}  // namespace quern
