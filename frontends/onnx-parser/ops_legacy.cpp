// SPDX-License-Identifier: Apache-2.0
// Operators that ONNX had as experiments before opset 7 and that old exporters left in files.
// Source: onnx/defs/experiments of ONNX 1.2; ONNX Runtime runs them at every opset.
#include <algorithm>
#include <limits>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/slice.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

// alpha * x + beta
void import_affine(NodeImport& n) {
  const ValueId scaled = mul(n, n.in(0), n.number("alpha", 1));
  n.set(0, add(n, scaled, n.number("beta", 0)));
}

// scale * x + bias[c], of x [N, C, H, W]
void import_image_scaler(NodeImport& n) {
  const std::vector<float> bias = n.numbers("bias");
  const ValueId scaled = mul(n, n.in(0), n.number("scale", 1));
  if (bias.empty()) return n.set(0, scaled);
  const auto count = static_cast<std::int64_t>(bias.size());
  const ValueId channels =
      n.constant(Tensor::from_values<float>(DType::f32, Shape{count, 1, 1}, bias));
  n.set(0, add(n, scaled, cast(n, channels, n.dtype(n.in(0)))));
}

// The inside of a border of x [N, C, H, W]: border = (left, top, right, bottom), or `scale` =
// (height, width) from its upper left corner on.
void import_crop(NodeImport& n) {
  const Ints border = n.ints("border");
  const Ints size = n.ints("scale");
  if (border.size() != 4 || !(size.empty() || size.size() == 2))
    return n.fail("wants 4 numbers for 'border' and 2, or none, for 'scale'");
  for (const std::int64_t b : border)
    if (b < 0 || b > (std::int64_t{1} << 31)) return n.fail(cat("a border of ", b));
  const auto end = [&](std::size_t side, std::size_t i) {
    constexpr auto to_end = std::numeric_limits<std::int64_t>::max();
    if (!size.empty()) return border[i] + std::min(size[side], to_end - border[i]);
    return border[i + 2] == 0 ? to_end : -border[i + 2];
  };
  const ValueId rows = slice(n, n.in(0), border[1], end(0, 1), 2);
  n.set(0, slice(n, rows, border[0], end(1, 0), 3));
}

// scale * x
void import_scale(NodeImport& n) {
  n.set(0, mul(n, n.in(0), n.number("scale", 1)));
}

// Slice as it became with opset 10, without steps.
void import_dynamic_slice(NodeImport& n) {
  n.emit(Slice{}, {n.inputs().begin(), n.inputs().end()});
}

// alpha * log(exp(beta * x) + 1)
void import_parametric_softplus(NodeImport& n) {
  const ValueId scaled = mul(n, n.in(0), n.number("beta"));
  n.set(0, mul(n, unary(n, UnaryKind::softplus, scaled), n.number("alpha")));
}

// alpha * tanh(beta * x)
void import_scaled_tanh(NodeImport& n) {
  const ValueId scaled = mul(n, n.in(0), n.number("beta"));
  n.set(0, mul(n, unary(n, UnaryKind::tanh, scaled), n.number("alpha")));
}

constexpr OpRow legacy_rows[] = {
    {"Affine", 1, import_affine},
    {"Crop", 1, import_crop},
    {"DynamicSlice", 1, import_dynamic_slice, {3, 4}},
    {"ImageScaler", 1, import_image_scaler},
    {"ParametricSoftplus", 1, import_parametric_softplus},
    {"Scale", 1, import_scale},
    {"ScaledTanh", 1, import_scaled_tanh},
};

}  // namespace

OpRows legacy_ops() {
  return legacy_rows;
}

}  // namespace quern::onnx
