// SPDX-License-Identifier: Apache-2.0
// Operators whose output shape depends on the data.
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/data_dependent.h"

namespace quern::onnx {
namespace {

void import_top_k_1(NodeImport& n) {
  const ValueId k = n.ints_constant({n.integer("k")});
  n.emit(TopK{.axis = n.integer("axis", -1)}, {n.in(0), k});
}

void import_top_k(NodeImport& n) {
  n.emit(TopK{.axis = n.integer("axis", -1),
              .largest = n.flag("largest", Flag::on),
              .sorted = n.flag("sorted", Flag::on)},
         {n.in(0), n.in(1)});
}

void import_unique(NodeImport& n) {
  Unique op{.sorted = n.flag("sorted", Flag::on)};
  if (n.has_attribute("axis")) op.axis = n.integer("axis");
  n.emit(op, {n.in(0)});
}

void import_compress(NodeImport& n) {
  Compress op;
  if (n.has_attribute("axis")) op.axis = n.integer("axis");
  n.emit(op, {n.in(0), n.in(1)});
}

void import_non_max_suppression(NodeImport& n) {
  n.emit(NonMaxSuppression{.center_point_box = n.flag("center_point_box", Flag::off)},
         {n.inputs().begin(), n.inputs().end()});
}

constexpr OpRow data_dependent_rows[] = {
    {"Compress", 9, import_compress, two},
    {"NonMaxSuppression", 10, import_non_max_suppression, {2, 5}},
    {"TopK", 1, import_top_k_1, {1, 1}, {1, 2}},
    {"TopK", 10, import_top_k, two, {1, 2}},
    {"Unique", 11, import_unique, {1, 1}, {1, 4}},
};

}  // namespace

OpRows data_dependent_ops() {
  return data_dependent_rows;
}

}  // namespace quern::onnx
