// SPDX-License-Identifier: Apache-2.0
// Quantised operators of ai.onnx.
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "frontends/onnx-parser/window.h"
#include "graph/ops/quantised_products.h"
#include "graph/ops/quantize.h"

namespace quern::onnx {
namespace {

// An element type where 0 means "not given".
std::optional<DType> output_type(NodeImport& n) {
  if (n.integer("output_dtype", 0) == 0) return std::nullopt;
  return n.dtype_attribute("output_dtype", DType::u8);
}

// The inputs, with a scale of f8e8m0 as f32, which holds all of its values.
std::vector<ValueId> scaled_inputs(NodeImport& n) {
  std::vector<ValueId> inputs(n.inputs().begin(), n.inputs().end());
  if (n.dtype(inputs[1]) == DType::f8e8m0) inputs[1] = cast(n, inputs[1], DType::f32);
  return inputs;
}

void import_quantize(NodeImport& n) {
  n.ignore("precision");  // of the division; our division is never less precise
  Quantize op{.axis = n.integer("axis", 1),
              .block_size = n.integer("block_size", 0),
              .saturate = n.flag("saturate", Flag::on)};
  const auto wanted = output_type(n);
  op.to = n.has(2) ? n.dtype(n.in(2)) : wanted.value_or(DType::u8);
  if (wanted && op.to != *wanted)
    n.fail("attribute 'output_dtype' is not the type of the zero point");
  n.emit(op, scaled_inputs(n));
}

void import_dequantize(NodeImport& n) {
  const Dequantize op{.axis = n.integer("axis", 1), .block_size = n.integer("block_size", 0)};
  const DType to = output_type(n).value_or(n.dtype(n.in(1)));
  if (to == DType::f8e8m0)
    return n.fail("attribute 'output_dtype' is missing: results have no type f8e8m0, the scale's");
  const std::vector<ValueId> inputs = scaled_inputs(n);
  if (to == n.dtype(inputs[1])) return n.emit(op, inputs);
  n.set(0, cast(n, n.add(op, inputs), to));
}

void import_dynamic_quantize(NodeImport& n) {
  n.emit(DynamicQuantize{}, {n.in(0)});
}

void import_conv_integer(NodeImport& n) {
  const ConvInteger op{.window = read_window(n), .group = n.integer("group", 1)};
  n.emit(op, {n.inputs().begin(), n.inputs().end()});
}

void import_matmul_integer(NodeImport& n) {
  n.emit(MatMulInteger{}, {n.inputs().begin(), n.inputs().end()});
}

void import_qlinear_conv(NodeImport& n) {
  const QLinearConv op{.window = read_window(n), .group = n.integer("group", 1)};
  n.emit(op, {n.inputs().begin(), n.inputs().end()});
}

void import_qlinear_matmul(NodeImport& n) {
  n.emit(QLinearMatMul{}, {n.inputs().begin(), n.inputs().end()});
}

constexpr OpRow quant_rows[] = {
    {"ConvInteger", 10, import_conv_integer, {2, 4}},
    {"DequantizeLinear", 10, import_dequantize, {2, 3}},
    {"DynamicQuantizeLinear", 11, import_dynamic_quantize, {1, 1}, {1, 3}},
    {"MatMulInteger", 10, import_matmul_integer, {2, 4}},
    {"QLinearConv", 10, import_qlinear_conv, {8, 9}},
    {"QLinearMatMul", 10, import_qlinear_matmul, {8, 8}},
    {"QuantizeLinear", 10, import_quantize, {2, 3}},
};

}  // namespace

OpRows quant_ops() {
  return quant_rows;
}

}  // namespace quern::onnx
