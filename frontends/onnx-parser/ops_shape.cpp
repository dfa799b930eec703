// SPDX-License-Identifier: Apache-2.0
// Constants, shapes, and operators that only change the shape of a tensor.
#include <memory>

#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/fill.h"
#include "graph/ops/random.h"
#include "graph/ops/reshape.h"
#include "graph/ops/shape_of.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

// ---- constants

void import_constant(NodeImport& n) {
  std::optional<Tensor> value;
  if (n.has_attribute("value")) {
    value = n.tensor("value");
  } else if (n.has_attribute("sparse_value")) {
    value = n.sparse_tensor("sparse_value");
  } else if (n.has_attribute("value_float")) {
    value = Tensor::scalar<float>(DType::f32, n.number("value_float"));
  } else if (n.has_attribute("value_floats")) {
    value = list_tensor(DType::f32, n.numbers("value_floats"));
  } else if (n.has_attribute("value_int")) {
    value = Tensor::scalar<std::int64_t>(DType::i64, n.integer("value_int"));
  } else if (n.has_attribute("value_ints")) {
    value = list_tensor(DType::i64, n.ints("value_ints"));
  } else if (n.has_attribute("value_string")) {
    value = string_tensor({}, {n.text("value_string")});
  } else if (n.has_attribute("value_strings")) {
    auto texts = n.texts("value_strings");
    const auto count = static_cast<std::int64_t>(texts.size());
    value = string_tensor({count}, std::move(texts));
  } else {
    return n.fail("has none of the attributes that give a value");
  }
  if (n.ok() && value) n.set(0, n.constant(*std::move(value)));
}

void import_constant_of_shape(NodeImport& n) {
  ConstantOfShape op;
  if (const auto value = n.tensor("value")) {
    if (value->shape().elements() != 1) return n.fail("attribute 'value' wants one element");
    if (value->dtype() == DType::string) return n.unsupported("does not fill with strings");
    op = {.dtype = value->dtype(), .bits = element_bits(*value)};
  }
  n.emit(op, {n.in(0)});
}

// ---- dropout

ValueId all_kept(NodeImport& n, DType dtype) {
  return filled(n, shape_of(n, n.in(0)), dtype, 1);
}

void infer_dropout(NodeImport& n, DType mask) {
  n.set(0, n.add(Identity{}, {n.in(0)}));
  if (n.wants(1)) n.set(1, all_kept(n, mask));
}

void import_dropout_1(NodeImport& n) {
  n.ignore("ratio");
  n.ignore("is_test");
  infer_dropout(n, n.version() < 10 ? n.dtype(n.in(0)) : DType::boolean);
}

// Training: each element is dropped with probability `ratio`, and the others are scaled by 1 / (1 -
// ratio). The numbers of a seed are doubles, as in ONNX's reference.
void import_dropout(NodeImport& n) {
  Random uniform{.kind = RandomKind::uniform, .seed = n.seed()};
  if (const auto seed = n.reference_seed())
    uniform = {.generator = RandomGenerator::mersenne, .dtype = DType::f64, .seed = *seed};
  const ValueId training = n.in(2);
  const auto known = n.constant_number(training);
  if (training == no_value || (known && *known == 0)) return infer_dropout(n, DType::boolean);
  const ValueId x = n.in(0);
  const ValueId ratio = n.has(1) ? cast(n, n.in(1), DType::f32) : n.scalar(DType::f32, 0.5);
  const ValueId one = n.scalar(DType::f32, 1);
  const ValueId samples = n.add(uniform, {shape_of(n, x)});
  ValueId kept = binary(n, BinaryKind::greater_equal, samples, cast(n, ratio, uniform.dtype));
  kept = binary(n, BinaryKind::logical_or, kept, unary(n, UnaryKind::logical_not, training));
  const ValueId scale = where(n, training, div(n, one, sub(n, one, ratio)), one);
  const ValueId grown = mul(n, x, cast(n, scale, n.dtype(x)));
  n.set(0, where(n, kept, grown, n.scalar_like(x, 0)));
  n.set(1, kept);
}

// ---- shapes

void import_identity(NodeImport& n) {
  n.emit(Identity{}, {n.in(0)});
}

void import_flatten(NodeImport& n) {
  n.emit(Flatten{.axis = n.integer("axis", 1)}, {n.in(0)});
}

void import_range(NodeImport& n) {
  n.ignore("stash_type");
  n.emit(Range{}, {n.in(0), n.in(1), n.in(2)});
}

void import_reshape_1(NodeImport& n) {
  n.emit(Reshape{}, {n.in(0), n.ints_constant(n.ints("shape"))});
}

void import_reshape(NodeImport& n) {
  n.emit(Reshape{.allow_zero = n.flag("allowzero", Flag::off)}, {n.in(0), n.in(1)});
}

void import_shape(NodeImport& n) {
  ShapeOf op{.start = n.integer("start", 0)};
  if (n.has_attribute("end")) op.end = n.integer("end");
  n.emit(op, {n.in(0)});
}

void import_size(NodeImport& n) {
  n.emit(SizeOf{}, {n.in(0)});
}

// The axes were an attribute up to opset 12.
void import_squeeze_1(NodeImport& n) {
  const Ints axes = n.ints("axes");
  if (axes.empty()) return n.emit(Squeeze{}, {n.in(0)});
  n.emit(Squeeze{}, {n.in(0), n.ints_constant(axes)});
}

void import_squeeze(NodeImport& n) {
  n.emit(Squeeze{}, {n.inputs().begin(), n.inputs().end()});
}

void import_unsqueeze_1(NodeImport& n) {
  if (!n.has_attribute("axes")) return n.fail("attribute 'axes' is missing");
  n.emit(Unsqueeze{}, {n.in(0), n.ints_constant(n.ints("axes"))});
}

void import_unsqueeze(NodeImport& n) {
  n.emit(Unsqueeze{}, {n.in(0), n.in(1)});
}

constexpr Arity one{1, 1};

constexpr OpRow shape_rows[] = {
    {"Constant", 1, import_constant, none},
    {"ConstantOfShape", 9, import_constant_of_shape},
    {"Dropout", 1, import_dropout_1, one, {1, 2}},
    {"Dropout", 12, import_dropout, {1, 3}, {1, 2}},
    {"Flatten", 1, import_flatten},
    {"Identity", 1, import_identity},
    {"Range", 11, import_range, {3, 3}},
    {"Reshape", 1, import_reshape_1},
    {"Reshape", 5, import_reshape, two},
    {"Shape", 1, import_shape},
    {"Size", 1, import_size},
    {"Squeeze", 1, import_squeeze_1},
    {"Squeeze", 13, import_squeeze, {1, 2}},
    {"Unsqueeze", 1, import_unsqueeze_1},
    {"Unsqueeze", 13, import_unsqueeze, two},
};

}  // namespace

OpRows shape_ops() {
  return shape_rows;
}

}  // namespace quern::onnx
