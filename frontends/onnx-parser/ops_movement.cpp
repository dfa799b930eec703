// SPDX-License-Identifier: Apache-2.0
// Operators that move elements by position; those that move by index are in ops_index.cpp.
#include <algorithm>

#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/concat.h"
#include "graph/ops/fill.h"
#include "graph/ops/pad.h"
#include "graph/ops/rearrange.h"
#include "graph/ops/slice.h"
#include "graph/ops/split.h"
#include "graph/ops/tile.h"

namespace quern::onnx {
namespace {

void import_concat(NodeImport& n) {
  const std::int64_t axis = n.version() < 4 ? n.integer("axis", 1) : n.integer("axis");
  n.emit(Concat{.axis = axis}, {n.inputs().begin(), n.inputs().end()});
}

void import_reverse_sequence(NodeImport& n) {
  n.emit(ReverseSequence{.batch_axis = n.integer("batch_axis", 1),
                         .time_axis = n.integer("time_axis", 0)},
         {n.in(0), n.in(1)});
}

void import_eye_like(NodeImport& n) {
  EyeLike op{.k = n.integer("k", 0)};
  if (n.has_attribute("dtype")) op.dtype = n.dtype_attribute("dtype", DType::f32);
  n.emit(op, {n.in(0)});
}

// ---- split

// Splits into as many parts as the node lists outputs, even if the last ones are unused.
void split(NodeImport& n, std::vector<ValueId> inputs) {
  const std::size_t parts = n.proto().outputs.size();
  const auto outputs = n.add_many(Split{.axis = n.integer("axis", 0)}, std::move(inputs), parts);
  for (std::size_t i = 0; i < parts; ++i) n.set(i, outputs[i]);
}

void import_split_1(NodeImport& n) {
  const Ints sizes = n.ints("split");
  if (n.has(1)) return split(n, {n.in(0), n.in(1)});
  if (sizes.empty()) return split(n, {n.in(0)});
  split(n, {n.in(0), n.ints_constant(sizes)});
}

void import_split(NodeImport& n) {
  const auto listed = static_cast<std::int64_t>(n.proto().outputs.size());
  if (n.integer("num_outputs", listed) != listed)
    return n.fail("attribute 'num_outputs' is not the number of outputs");
  if (n.has(1)) return split(n, {n.in(0), n.in(1)});
  split(n, {n.in(0)});
}

// ---- slice, tile

void import_slice_1(NodeImport& n) {
  std::vector<ValueId> inputs = {n.in(0), n.ints_constant(n.ints("starts")),
                                 n.ints_constant(n.ints("ends"))};
  if (n.has_attribute("axes")) inputs.push_back(n.ints_constant(n.ints("axes")));
  n.emit(Slice{}, std::move(inputs));
}

void import_slice(NodeImport& n) {
  n.emit(Slice{}, {n.inputs().begin(), n.inputs().end()});
}

// (x, tiles, axis), where tiles and axis are scalars of x's type: repeats one axis.
void import_tile_1(NodeImport& n) {
  const auto axis = n.constant_number(n.in(2));
  const std::int64_t rank = n.known_rank(n.in(0));
  if (!axis || !(*axis >= 0 && *axis < static_cast<double>(rank)))
    return n.unsupported("the axis must be a constant below the rank");
  const auto at = static_cast<std::size_t>(*axis);
  const ValueId tiles = reshape(n, cast(n, n.in(1), DType::i64), Ints{1});
  const ValueId before = n.ints_constant(Ints(at, 1));
  const ValueId after = n.ints_constant(Ints(static_cast<std::size_t>(rank) - at - 1, 1));
  n.emit(Tile{}, {n.in(0), join_dims(n, {before, tiles, after})});
}

void import_tile(NodeImport& n) {
  n.emit(Tile{}, {n.in(0), n.in(1)});
}

// ---- pad

Pad pad_op(NodeImport& n) {
  return {.mode = n.choice<PadMode>("mode", "constant",
                                    {{"constant", PadMode::constant},
                                     {"reflect", PadMode::reflect},
                                     {"edge", PadMode::edge},
                                     {"wrap", PadMode::wrap}})};
}

void import_pad_1(NodeImport& n) {
  const Pad op = pad_op(n);
  const ValueId pads = n.ints_constant(n.ints(n.version() < 2 ? "paddings" : "pads"));
  const float value = n.number("value", 0);
  if (value == 0) return n.emit(op, {n.in(0), pads});
  n.emit(op, {n.in(0), pads, n.scalar_like(n.in(0), value)});
}

void import_pad(NodeImport& n) {
  const Pad op = pad_op(n);
  n.emit(op, {n.inputs().begin(), n.inputs().end()});
}

// Half of the difference on each side, rounded towards zero on the left; negative pads crop.
void import_center_crop_pad(NodeImport& n) {
  const Ints axes = n.ints("axes");
  const ValueId x = n.in(0);
  const ValueId axes_value = n.has_attribute("axes") ? n.ints_constant(axes) : no_value;
  ValueId dims = shape_of(n, x);
  if (axes_value != no_value) dims = gather(n, dims, axes_value, 0);
  const ValueId amount = sub(n, cast(n, n.in(1), DType::i64), dims);
  const ValueId left = div(n, amount, n.ints_constant({2}));
  const ValueId pads = join_dims(n, {left, sub(n, amount, left)});
  if (axes_value == no_value) return n.emit(Pad{}, {x, pads});
  n.emit(Pad{}, {x, pads, no_value, axes_value});
}

// ---- depth and space

void import_depth_to_space(NodeImport& n) {
  n.emit(DepthSpace{.kind = n.choice<DepthSpaceKind>("mode", "DCR",
                                                     {{"DCR", DepthSpaceKind::depth_to_space_dcr},
                                                      {"CRD", DepthSpaceKind::depth_to_space_crd}}),
                    .block = n.integer("blocksize")},
         {n.in(0)});
}

void import_space_to_depth(NodeImport& n) {
  n.emit(DepthSpace{.kind = DepthSpaceKind::space_to_depth, .block = n.integer("blocksize")},
         {n.in(0)});
}

constexpr OpRow movement_rows[] = {
    {"CenterCropPad", 18, import_center_crop_pad, two},
    {"Concat", 1, import_concat, any},
    {"DepthToSpace", 1, import_depth_to_space},
    {"EyeLike", 9, import_eye_like},
    {"Pad", 1, import_pad_1},
    {"Pad", 11, import_pad, {2, 4}},
    {"ReverseSequence", 10, import_reverse_sequence, two},
    {"Slice", 1, import_slice_1},
    {"Slice", 10, import_slice, {3, 5}},
    {"SpaceToDepth", 1, import_space_to_depth},
    {"Split", 1, import_split_1, {1, 2}, any},
    {"Split", 13, import_split, {1, 2}, any},
    {"Tile", 1, import_tile_1, {3, 3}},
    {"Tile", 6, import_tile, two},
};

}  // namespace

OpRows movement_ops() {
  return movement_rows;
}

}  // namespace quern::onnx
