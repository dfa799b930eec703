// SPDX-License-Identifier: Apache-2.0
// Operators that read or write elements by index.
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/gather.h"
#include "graph/ops/one_hot.h"
#include "graph/ops/scatter.h"

namespace quern::onnx {
namespace {

void import_gather(NodeImport& n) {
  n.emit(Gather{.kind = GatherKind::axis, .axis = n.integer("axis", 0)}, {n.in(0), n.in(1)});
}

void import_gather_elements(NodeImport& n) {
  n.emit(Gather{.kind = GatherKind::elements, .axis = n.integer("axis", 0)}, {n.in(0), n.in(1)});
}

void import_gather_nd(NodeImport& n) {
  n.emit(Gather{.kind = GatherKind::nd, .batch_dims = n.integer("batch_dims", 0)},
         {n.in(0), n.in(1)});
}

ScatterReduction reduction(NodeImport& n) {
  return n.choice<ScatterReduction>("reduction", "none",
                                    {{"none", ScatterReduction::none},
                                     {"add", ScatterReduction::add},
                                     {"mul", ScatterReduction::mul},
                                     {"max", ScatterReduction::max},
                                     {"min", ScatterReduction::min}});
}

void import_scatter_elements(NodeImport& n) {
  n.emit(
      Scatter{
          .kind = ScatterKind::elements, .axis = n.integer("axis", 0), .reduction = reduction(n)},
      {n.in(0), n.in(1), n.in(2)});
}

void import_scatter_nd(NodeImport& n) {
  n.emit(Scatter{.kind = ScatterKind::nd, .reduction = reduction(n)}, {n.in(0), n.in(1), n.in(2)});
}

// The depth may have any numeric type.
void import_one_hot(NodeImport& n) {
  const ValueId depth = n.in(1);
  const bool is_integer = n.dtype(depth) == DType::i64 || n.dtype(depth) == DType::i32;
  n.emit(OneHot{.axis = n.integer("axis", -1)},
         {n.in(0), is_integer ? depth : cast(n, depth, DType::i64), n.in(2)});
}

// Reshapes `x` from one dimension to `rank` dimensions, with its elements along `axis`.
ValueId along(NodeImport& n, ValueId x, std::int64_t axis, std::int64_t rank) {
  Ints others;
  for (std::int64_t i = 0; i < rank; ++i)
    if (i != axis) others.push_back(i);
  return unsqueeze(n, x, others);
}

// Position write_indices[batch] + i of the cache becomes position i of the update.
void import_tensor_scatter(NodeImport& n) {
  const ValueId update = n.in(1);
  const std::int64_t rank = n.known_rank(update);
  std::int64_t axis = n.integer("axis", -2);
  if (axis < 0) axis += rank;
  if (axis < 1 || axis >= rank) return n.fail("attribute 'axis' is outside of the rank, or 0");
  const bool circular = n.choice<bool>("mode", "linear", {{"linear", false}, {"circular", true}});
  const ValueId length = scalar_dim(n, update, axis);
  ValueId at = along(n, counting(n, length), axis, rank);
  if (n.has(2)) at = add(n, at, along(n, n.in(2), 0, rank));
  if (circular) at = binary(n, BinaryKind::mod, at, dims_of(n, n.in(0), axis, axis + 1));
  n.emit(Scatter{.kind = ScatterKind::elements, .axis = axis},
         {n.in(0), expand_to(n, at, shape_of(n, update)), update});
}

constexpr OpRow index_rows[] = {
    {"Gather", 1, import_gather, two},
    {"GatherElements", 11, import_gather_elements, two},
    {"GatherND", 11, import_gather_nd, two},
    {"OneHot", 9, import_one_hot, three},
    {"Scatter", 9, import_scatter_elements, three},
    {"ScatterElements", 11, import_scatter_elements, three},
    {"ScatterND", 11, import_scatter_nd, three},
    {"TensorScatter", 24, import_tensor_scatter, {2, 3}},
};

}  // namespace

OpRows index_ops() {
  return index_rows;
}

}  // namespace quern::onnx
