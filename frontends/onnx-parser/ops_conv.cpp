// SPDX-License-Identifier: Apache-2.0
// Convolutions; the quantised ones are in ops_quant.cpp.
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "frontends/onnx-parser/window.h"
#include "graph/ops/conv.h"
#include "graph/ops/deform_conv.h"
#include "graph/ops/slice.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

void import_conv(NodeImport& n) {
  const Conv op{.window = read_window(n), .group = n.integer("group", 1)};
  n.emit(op, {n.inputs().begin(), n.inputs().end()});
}

void import_conv_transpose(NodeImport& n) {
  const ConvTranspose op{.window = read_window(n),
                         .group = n.integer("group", 1),
                         .output_padding = n.ints("output_padding"),
                         .output_shape = n.ints("output_shape")};
  n.emit(op, {n.inputs().begin(), n.inputs().end()});
}

void import_deform_conv(NodeImport& n) {
  const DeformConv op{.window = read_window(n),
                      .group = n.integer("group", 1),
                      .offset_group = n.integer("offset_group", 1)};
  n.emit(op, {n.inputs().begin(), n.inputs().end()});
}

void import_col2im(NodeImport& n) {
  n.emit(
      Col2Im{
          .strides = n.ints("strides"), .pads = n.ints("pads"), .dilations = n.ints("dilations")},
      {n.in(0), n.in(1), n.in(2)});
}

// A depthwise 1-D convolution over the last k - 1 elements of the state and the input; these are
// also the next state.
void import_causal_conv(NodeImport& n) {
  enum class Activation { none, silu };
  const auto activation = n.choice<Activation>(
      "activation", "none",
      {{"none", Activation::none}, {"silu", Activation::silu}, {"swish", Activation::silu}});
  const ValueId x = n.in(0);
  const ValueId w = n.in(1);
  const Dim channels = n.dim(w, 0);
  const Dim kernel = n.dim(w, 2);
  if (!channels.known() || !kernel.known() || kernel.is(0))
    return n.unsupported("needs to know the shape of its weight");
  const std::int64_t kept = kernel.value() - 1;
  ValueId past = n.in(3);
  if (past == no_value) {
    const ValueId shape = join_dims(n, {dims_of(n, x, 0, 2), n.ints_constant({kept})});
    past = filled(n, shape, n.dtype(x), 0);
  }
  const ValueId all = concat(n, {past, x}, 2);
  std::vector<ValueId> operands = {all, w};
  if (n.has(2)) operands.push_back(n.in(2));
  ValueId y = n.add(Conv{.group = channels.value()}, operands);
  if (activation == Activation::silu) y = unary(n, UnaryKind::swish, y, 1);
  n.set(0, y);
  // The last `kept` elements: [length of x, end).
  if (!n.wants(1)) return;
  const ValueId begin = dims_of(n, x, 2, 3);
  const ValueId end = dims_of(n, all, 2, 3);
  n.set(1, n.add(Slice{}, {all, begin, end, n.ints_constant({2})}));
}

constexpr OpRow conv_rows[] = {
    {"CausalConvWithState", 27, import_causal_conv, {2, 4}, {1, 2}},
    {"Col2Im", 18, import_col2im, {3, 3}},
    {"Conv", 1, import_conv, {2, 3}},
    {"ConvTranspose", 1, import_conv_transpose, {2, 3}},
    {"DeformConv", 19, import_deform_conv, {3, 5}},
};

}  // namespace

OpRows conv_ops() {
  return conv_rows;
}

}  // namespace quern::onnx
