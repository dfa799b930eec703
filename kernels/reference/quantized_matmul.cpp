// SPDX-License-Identifier: Apache-2.0
// Products of matrices of 8-bit integers, shapes as in matmul_shape.h.
// MatMulInteger: y = (a - a_zero) (b - b_zero), in i32, which wraps.
// QLinearMatMul: y = saturate(round(that * (a_scale * b_scale / y_scale)) + y_zero).
//
// ONNX: MatMulInteger, opset 10; QLinearMatMul, opsets 10 and 21 (not of 8-bit floats). Parameters
// of a are one for all, a list with one for each row, or [..., rows, 1]; those of b one for all, a
// list with one for each column, or [..., 1, columns]; those of y one for all.
#include "graph/numeric.h"
#include "graph/operands.h"
#include "graph/ops/products.h"
#include "graph/ops/quantised_products.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/matmul_shape.h"
#include "kernels/contract/quantized.h"
#include "kernels/cpu/int8_conv.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- references

// The mapping of a parameter to the rows or columns of its matrix.
struct Parameter {
  Shape batch;            // strides over the batch
  std::int64_t step = 0;  // over rows or columns
};

Parameter parameter(const ReferenceCall& call, std::size_t i, const ProductShape& p,
                    Factor factor) {
  Parameter q{Shape::filled(p.batch.rank(), 0), 0};
  if (!call.has(i)) return q;
  const Shape& shape = call.inputs[i].type.shape;
  if (shape.elements() == 1) return q;
  if (shape.rank() == 1) return {q.batch, 1};
  const Shape strides = row_major_strides(shape);
  const std::size_t along = shape.rank() - (factor == Factor::left ? 2 : 1);
  q.batch = broadcast_strides(Shape(shape.dims().first(shape.rank() - 2)), strides, p.batch);
  q.step = shape[along] == 1 ? 0 : strides[along];
  return q;
}

// Which operand is which; a_scale and b_scale only for QLinearMatMul.
struct Roles {
  std::size_t b, a_zero, b_zero, a_scale, b_scale;
};
constexpr std::size_t none = 99;
constexpr Roles matmul_integer_roles = {1, 2, 3, none, none};
constexpr Roles matmul_qlinear_roles = {3, 2, 5, 1, 4};

// finish(sum, i, j) for every element of the output, in order; i and j are the elements of a_scale
// and b_scale that go with it.
template <class A, class B, class F>
void multiply(const ReferenceCall& call, const Roles& r, F finish) {
  const ProductShape p = product_shape(call.inputs[0].type.shape, call.inputs[r.b].type.shape);
  const Parameter a_zero = parameter(call, r.a_zero, p, Factor::left);
  const Parameter b_zero = parameter(call, r.b_zero, p, Factor::right);
  const Parameter a_scale = parameter(call, r.a_scale, p, Factor::left);
  const Parameter b_scale = parameter(call, r.b_scale, p, Factor::right);
  const auto zero = [&](std::size_t i, std::int64_t at) {
    return call.has(i) ? int_element(call.inputs[i], at) : 0;
  };
  StopCheck check(call.stop);
  for_each_offset(
      p.batch,
      std::array{p.a_batch, p.b_batch, a_zero.batch, b_zero.batch, a_scale.batch, b_scale.batch}, 1,
      check, [&](const auto& at) {
        const A* a = call.inputs[0].as<A>() + at[0];
        const B* b = call.inputs[r.b].as<B>() + at[1];
        for (std::int64_t m = 0; m < p.rows; ++m)
          for (std::int64_t n = 0; n < p.columns && !check.spend(8); ++n) {
            const std::int64_t za = zero(r.a_zero, at[2] + m * a_zero.step);
            const std::int64_t zb = zero(r.b_zero, at[3] + n * b_zero.step);
            std::int64_t sum = 0;
            for_each_until(p.depth, 2, check, [&](std::int64_t k) {
              sum += (a[m * p.a_row + k] - za) * (b[k * p.b_row + n * p.b_column] - zb);
            });
            finish(static_cast<std::int32_t>(sum), at[4] + m * a_scale.step,
                   at[5] + n * b_scale.step);
          }
      });
}

template <class F>
void multiply_8bit(const ReferenceCall& call, const Roles& r, F finish) {
  if (call.outputs[0].type.shape.elements() == 0) return;
  visit_8bit(call.inputs[0].type.dtype, [&]<class A>(TypeTag<A>) {
    visit_8bit(call.inputs[r.b].type.dtype,
               [&]<class B>(TypeTag<B>) { multiply<A, B>(call, r, finish); });
  });
}

Status quantized_matmul_reference_integer(const ReferenceCall& call) {
  auto* y = call.outputs[0].as<std::int32_t>();
  multiply_8bit(call, matmul_integer_roles,
                [&](std::int32_t sum, std::int64_t, std::int64_t) { *y++ = sum; });
  return {};
}

Status quantized_matmul_reference_qlinear(const ReferenceCall& call) {
  const auto scale = [&](std::size_t i, std::int64_t at) {
    return static_cast<float>(float_element(call.inputs[i], at));
  };
  visit_8bit(call.outputs[0].type.dtype, [&]<class Y>(TypeTag<Y>) {
    Y* y = call.outputs[0].as<Y>();
    multiply_8bit(call, matmul_qlinear_roles,
                  [&](std::int32_t sum, std::int64_t i, std::int64_t j) {
                    const float multiplier = scale(1, i) * scale(4, j) / scale(6, 0);
                    *y++ = requantized<Y>(sum, multiplier, int_element(call.inputs[7], 0));
                  });
  });
  return {};
}

template <std::size_t RightInput>
Cost quantized_matmul_flops(const Op&, std::span<const TensorType> inputs,
                            std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = 2 * product_shape(inputs[0].shape, inputs[RightInput].shape).multiplications();
  return cost;
}

// ---- one right-hand matrix for all rows, see int8_conv.cpp

bool is_single(const KernelRequest& r, std::size_t i) {
  return !r.has(i) || r.shape(i).elements() == 1;
}
bool is_single_or_list(const KernelRequest& r, std::size_t i, std::int64_t columns) {
  return is_single(r, i) || r.shape(i).elements() == columns;
}
bool is_f32(const KernelRequest& r, std::size_t i) {
  return !r.has(i) || r.dtype(i) == DType::f32;
}

Selection select_rows(const KernelRequest& r, const Int8Operands& o) {
  const Shape& a = r.shape(0);
  const Shape& b = r.shape(o.w);
  if (a.empty() || b.rank() < 2 || a.elements() == 0 || b.elements() == 0 ||
      b.elements(0, b.rank() - 2) != 1)
    return unsupported();
  const std::int64_t columns = b.back();
  for (std::size_t i : {o.x_zero, o.x_scale, o.y_scale, o.y_zero})
    if (!is_single(r, i)) return unsupported();
  for (std::size_t i : {o.w_zero, o.w_scale})
    if (!is_single_or_list(r, i, columns)) return unsupported();
  for (std::size_t i : {o.x_scale, o.w_scale, o.y_scale})
    if (!is_f32(r, i)) return unsupported();
  Int8Conv c{.operands = o, .columns = columns, .depth = a.back()};
  c.in = c.out = {a.elements() / a.back()};
  c.depth_stride = columns;
  QUERN_ASSIGN(KernelChoice choice, make_int8_conv(r, c));
  return std::optional<KernelChoice>(std::move(choice));
}

Selection quantized_matmul_select_integer(const KernelRequest& r) {
  return select_rows(r, {.w = 1, .x_zero = 2, .w_zero = 3});
}
Selection quantized_matmul_select_qlinear(const KernelRequest& r) {
  return select_rows(
      r, {.w = 3, .x_zero = 2, .w_zero = 5, .x_scale = 1, .w_scale = 4, .y_scale = 6, .y_zero = 7});
}

constexpr CpuImplementation quantized_matmul_integer_implementations[] = {
    {"int8", quantized_matmul_select_integer}};
constexpr CpuImplementation quantized_matmul_qlinear_implementations[] = {
    {"int8", quantized_matmul_select_qlinear}};

}  // namespace

const OpKernels& MatMulInteger::kernels() {
  static constexpr OpKernels table{.reference = {quantized_matmul_reference_integer},
                                   .cpu = quantized_matmul_integer_implementations,
                                   .flops = quantized_matmul_flops<matmul_integer_roles.b>,
                                   .gpu = gpu::select_matmul_integer};
  return table;
}

const OpKernels& QLinearMatMul::kernels() {
  static constexpr OpKernels table{.reference = {quantized_matmul_reference_qlinear},
                                   .cpu = quantized_matmul_qlinear_implementations,
                                   .flops = quantized_matmul_flops<matmul_qlinear_roles.b>,
                                   .gpu = gpu::select_qlinear_matmul};
  return table;
}

}  // namespace quern
