// SPDX-License-Identifier: Apache-2.0
// Pooling, and pooling of regions.
#include <cmath>

#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "frontends/onnx-parser/window.h"
#include "graph/ops/pool.h"

namespace quern::onnx {
namespace {

// An integer that was a float in opset 1.
std::int64_t read_p(NodeImport& n) {
  if (n.version() >= 2) return n.integer("p", 2);
  const float p = n.number("p", 2);
  if (!(p >= 1 && p <= 1e6f && p == std::floor(p))) n.unsupported("p is no positive integer");
  return n.ok() ? static_cast<std::int64_t>(p) : 2;
}

void import_max_pool(NodeImport& n) {
  n.emit(Pool{.kind = PoolKind::max,
              .window = read_window_with_kernel(n),
              .ceil_mode = n.flag("ceil_mode", Flag::off),
              .column_major_indices = n.flag("storage_order", Flag::off)},
         {n.in(0)});
}

void import_average_pool(NodeImport& n) {
  n.emit(Pool{.kind = PoolKind::average,
              .window = read_window_with_kernel(n),
              .ceil_mode = n.flag("ceil_mode", Flag::off),
              .count_include_pad = n.flag("count_include_pad", Flag::off)},
         {n.in(0)});
}

void import_lp_pool(NodeImport& n) {
  n.emit(Pool{.kind = PoolKind::lp,
              .window = read_window_with_kernel(n),
              .ceil_mode = n.flag("ceil_mode", Flag::off),
              .p = read_p(n)},
         {n.in(0)});
}

template <PoolKind Kind>
void import_global(NodeImport& n) {
  Pool op{.kind = Kind, .global = true};
  if (Kind == PoolKind::lp) op.p = read_p(n);
  n.emit(op, {n.in(0)});
}

void import_max_unpool(NodeImport& n) {
  n.emit(MaxUnpool{.window = read_window_with_kernel(n)}, {n.inputs().begin(), n.inputs().end()});
}

void import_max_roi_pool(NodeImport& n) {
  const Ints shape = n.ints("pooled_shape");
  if (shape.size() != 2) return n.fail("attribute 'pooled_shape' wants height and width");
  n.emit(RoiPool{.kind = RoiKind::max,
                 .height = shape[0],
                 .width = shape[1],
                 .spatial_scale = n.number("spatial_scale", 1)},
         {n.in(0), n.in(1)});
}

void import_roi_align(NodeImport& n) {
  const bool has_mode = n.version() >= 16;
  n.emit(
      RoiPool{.kind = n.choice<RoiKind>(
                  "mode", "avg", {{"avg", RoiKind::align_average}, {"max", RoiKind::align_max}}),
              .height = n.integer("output_height", 1),
              .width = n.integer("output_width", 1),
              .sampling_ratio = n.integer("sampling_ratio", 0),
              .spatial_scale = n.number("spatial_scale", 1),
              .half_pixel = n.choice<bool>("coordinate_transformation_mode",
                                           has_mode ? "half_pixel" : "output_half_pixel",
                                           {{"half_pixel", true}, {"output_half_pixel", false}})},
      {n.in(0), n.in(1), n.in(2)});
}

constexpr OpRow pool_rows[] = {
    {"AveragePool", 1, import_average_pool},
    {"GlobalAveragePool", 1, import_global<PoolKind::average>},
    {"GlobalLpPool", 1, import_global<PoolKind::lp>},
    {"GlobalMaxPool", 1, import_global<PoolKind::max>},
    {"LpPool", 1, import_lp_pool},
    {"MaxPool", 1, import_max_pool, {1, 1}, {1, 2}},
    {"MaxRoiPool", 1, import_max_roi_pool, {2, 2}},
    {"MaxUnpool", 9, import_max_unpool, {2, 3}},
    {"RoiAlign", 10, import_roi_align, {3, 3}},
};

}  // namespace

OpRows pool_ops() {
  return pool_rows;
}

}  // namespace quern::onnx
