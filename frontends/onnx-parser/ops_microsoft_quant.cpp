// SPDX-License-Identifier: Apache-2.0
// com.microsoft: quantised operators as dequantise, compute, quantise.
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "frontends/onnx-parser/window.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/concat.h"
#include "graph/ops/matmul.h"
#include "graph/ops/pool.h"
#include "graph/ops/quantize.h"
#include "graph/ops/reduce.h"
#include "graph/ops/softmax.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

// Input i with the scale and the zero point that follow it.
ValueId dequantised(NodeImport& n, std::size_t i, std::int64_t axis = 1) {
  std::vector<ValueId> inputs = {n.in(i), n.in(i + 1)};
  if (n.has(i + 2)) inputs.push_back(n.in(i + 2));
  return n.add(Dequantize{.axis = axis}, std::move(inputs));
}

// Quantizes with the scale in input i and the zero point after it; without a zero point, to the
// type of input 0.
ValueId quantised(NodeImport& n, ValueId y, std::size_t scale, DType dtype) {
  std::vector<ValueId> inputs = {y, n.in(scale)};
  if (n.has(scale + 1)) inputs.push_back(n.in(scale + 1));
  const DType to = n.has(scale + 1) ? n.dtype(n.in(scale + 1)) : dtype;
  return n.add(Quantize{.to = to}, std::move(inputs));
}

// (a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero)
template <BinaryKind Kind>
void import_binary(NodeImport& n) {
  const ValueId a = dequantised(n, 0);
  const ValueId b = dequantised(n, 3);
  n.set(0, quantised(n, binary(n, Kind, a, b), 6, n.dtype(n.in(0))));
}

// The rest: (x, x_scale, x_zero, y_scale, y_zero)
void quantise_result(NodeImport& n, ValueId y) {
  n.set(0, quantised(n, y, 3, n.dtype(n.in(0))));
}

void import_sigmoid(NodeImport& n) {
  quantise_result(n, unary(n, UnaryKind::sigmoid, dequantised(n, 0)));
}

void import_qlinear_leaky_relu(NodeImport& n) {
  const float alpha = n.number("alpha", 0.01f);
  quantise_result(n, unary(n, UnaryKind::leaky_relu, dequantised(n, 0), alpha));
}

void import_qlinear_softmax(NodeImport& n) {
  const bool flatten = n.integer("opset", 13) < 13;
  const Softmax op{.axis = n.integer("axis", -1), .flatten = flatten};
  quantise_result(n, n.add(op, {dequantised(n, 0)}));
}

// (condition, x, x_scale, x_zero, y, y_scale, y_zero, z_scale, z_zero)
void import_qlinear_where(NodeImport& n) {
  const ValueId x = dequantised(n, 1);
  const ValueId y = dequantised(n, 4);
  n.set(0, quantised(n, where(n, n.in(0), x, y), 7, n.dtype(n.in(1))));
}

// No axes: all of them.
void import_qlinear_reduce_mean(NodeImport& n) {
  const Ints axes = n.ints("axes");
  const Reduce op{.kind = ReduceKind::mean, .keepdims = n.flag("keepdims", Flag::on)};
  std::vector<ValueId> inputs = {dequantised(n, 0)};
  if (!axes.empty()) inputs.push_back(n.ints_constant(axes));
  quantise_result(n, n.add(op, std::move(inputs)));
}

void refuse_channels_last(NodeImport& n) {
  if (n.flag("channels_last", Flag::off)) n.unsupported("channels_last is not supported");
}

void import_global_average_pool(NodeImport& n) {
  refuse_channels_last(n);
  const Pool op{.kind = PoolKind::average, .global = true};
  quantise_result(n, n.add(op, {dequantised(n, 0)}));
}

void import_qlinear_average_pool(NodeImport& n) {
  refuse_channels_last(n);
  const Pool op{.kind = PoolKind::average,
                .window = read_window_with_kernel(n),
                .ceil_mode = n.flag("ceil_mode", Flag::off),
                .count_include_pad = n.flag("count_include_pad", Flag::off)};
  quantise_result(n, n.add(op, {dequantised(n, 0)}));
}

// (y_scale, y_zero, then x, scale, zero of each part)
void import_qlinear_concat(NodeImport& n) {
  std::vector<ValueId> parts;
  for (std::size_t i = 2; i < n.input_count(); i += 3) parts.push_back(dequantised(n, i));
  const ValueId y = n.add(Concat{.axis = n.integer("axis")}, std::move(parts));
  n.set(0, quantised(n, y, 0, n.dtype(n.in(2))));
}

// ---- matrix products

// (a, b, a_scale, b_scale, a_zero?, b_zero?, bias?)
void import_matmul_integer_to_float(NodeImport& n) {
  const ValueId scale = mul(n, n.in(2), n.in(3));
  const ValueId y = scaled_product(n, {n.in(0), n.in(1), n.in(4), n.in(5)}, scale);
  n.set(0, n.has(6) ? add(n, y, n.in(6)) : y);
}

// (a in float, b, b_scale, b_zero?, bias?)
void import_dynamic_quantize_matmul(NodeImport& n) {
  const auto a = n.add_many(DynamicQuantize{}, {n.in(0)}, 3);
  const ValueId scale = mul(n, a[1], n.in(2));
  const ValueId y = scaled_product(n, {a[0], n.in(1), a[2], n.in(3)}, scale);
  n.set(0, n.has(4) ? add(n, y, n.in(4)) : y);
}

// (a, a_scale, a_zero, b, b_scale, b_zero, c in i32?, y_scale?, y_zero?); c has the scale of the
// product. Without y_scale the result stays in float.
void import_qgemm(NodeImport& n) {
  const MatMul op{.transpose_a = n.flag("transA", Flag::off),
                  .transpose_b = n.flag("transB", Flag::off),
                  .alpha = n.number("alpha", 1)};
  const std::int64_t column = op.transpose_b ? 0 : 1;
  ValueId y = n.add(op, {dequantised(n, 0), dequantised(n, 3, column)});
  if (n.has(6)) {
    ValueId scale = mul(n, n.in(1), n.in(4));
    if (op.alpha != 1) scale = mul(n, scale, op.alpha);
    y = add(n, y, mul(n, cast(n, n.in(6), n.dtype(scale)), scale));
  }
  n.set(0, n.has(7) ? quantised(n, y, 7, n.dtype(n.in(0))) : y);
}

// ---- the standard pair, for element types that ai.onnx had not yet

void import_microsoft_quantize(NodeImport& n) {
  const DType to = n.has(2) ? n.dtype(n.in(2)) : DType::u8;
  n.emit(Quantize{.axis = n.integer("axis", 1), .to = to}, {n.inputs().begin(), n.inputs().end()});
}

void import_microsoft_dequantize(NodeImport& n) {
  n.emit(Dequantize{.axis = n.integer("axis", 1)}, {n.inputs().begin(), n.inputs().end()});
}

// Zero points may be absent among the operands; Quantize checks that the scale is present.
constexpr Arity up_to_five{2, 5};
constexpr Arity up_to_eight{2, 8};
constexpr Arity nine{9, 9};

constexpr OpRow microsoft_quant_rows[] = {
    {"DequantizeLinear", 1, import_microsoft_dequantize, {2, 3}},
    {"DynamicQuantizeMatMul", 1, import_dynamic_quantize_matmul, {3, 5}},
    {"MatMulIntegerToFloat", 1, import_matmul_integer_to_float, {4, 7}},
    {"QGemm", 1, import_qgemm, {6, 9}},
    {"QLinearAdd", 1, import_binary<BinaryKind::add>, up_to_eight},
    {"QLinearAveragePool", 1, import_qlinear_average_pool, up_to_five},
    {"QLinearConcat", 1, import_qlinear_concat, {4, any_number}},
    {"QLinearGlobalAveragePool", 1, import_global_average_pool, up_to_five},
    {"QLinearLeakyRelu", 1, import_qlinear_leaky_relu, up_to_five},
    {"QLinearMul", 1, import_binary<BinaryKind::mul>, up_to_eight},
    {"QLinearReduceMean", 1, import_qlinear_reduce_mean, up_to_five},
    {"QLinearSigmoid", 1, import_sigmoid, up_to_five},
    {"QLinearSoftmax", 1, import_qlinear_softmax, up_to_five},
    {"QLinearWhere", 1, import_qlinear_where, nine},
    {"QuantizeLinear", 1, import_microsoft_quantize, {2, 3}},
};

}  // namespace

OpRows microsoft_quant_ops() {
  return microsoft_quant_rows;
}

}  // namespace quern::onnx
