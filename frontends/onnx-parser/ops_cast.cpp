// SPDX-License-Identifier: Apache-2.0
// Conversions of the element type.
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/cast.h"

namespace quern::onnx {
namespace {

// Opset 1 gave the type as a name instead of a number.
void import_cast_1(NodeImport& n) {
  using D = DType;
  const DType to = n.choice<DType>("to", "",
                                   {{"FLOAT", D::f32},
                                    {"DOUBLE", D::f64},
                                    {"FLOAT16", D::f16},
                                    {"INT8", D::i8},
                                    {"INT16", D::i16},
                                    {"INT32", D::i32},
                                    {"INT64", D::i64},
                                    {"UINT8", D::u8},
                                    {"UINT16", D::u16},
                                    {"UINT32", D::u32},
                                    {"UINT64", D::u64},
                                    {"BOOL", D::boolean}});
  n.emit(Cast{.to = to}, {n.in(0)});
}

Cast cast_to(NodeImport& n, DType to) {
  using R = PowerRounding;
  return {.to = to,
          .saturate = n.flag("saturate", Flag::on),
          .rounding = n.choice<R>("round_mode", "up",
                                  {{"up", R::up}, {"nearest", R::nearest}, {"down", R::down}})};
}

DType required_type(NodeImport& n) {
  if (!n.has_attribute("to")) n.fail("attribute 'to' is missing");
  return n.dtype_attribute("to", DType::f32);
}

void import_cast(NodeImport& n) {
  n.emit(cast_to(n, required_type(n)), {n.in(0)});
}

void import_cast_like(NodeImport& n) {
  n.emit(cast_to(n, n.dtype(n.in(1))), {n.in(0)});
}

void import_bit_cast(NodeImport& n) {
  n.emit(BitCast{.to = required_type(n)}, {n.in(0)});
}

constexpr OpRow cast_rows[] = {
    {"BitCast", 26, import_bit_cast},
    {"Cast", 1, import_cast_1},
    {"Cast", 6, import_cast},
    {"CastLike", 15, import_cast_like, {2, 2}},
};

}  // namespace

OpRows cast_ops() {
  return cast_rows;
}

}  // namespace quern::onnx
