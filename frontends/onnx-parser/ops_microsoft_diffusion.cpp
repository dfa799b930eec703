// SPDX-License-Identifier: Apache-2.0
// com.microsoft: what ONNX Runtime's optimiser makes of diffusion models and of what trains
// transformers, sums with a normalisation or an activation behind them. Source:
// docs/ContribOperators.md of ONNX Runtime.
#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/softmax.h"
#include "graph/ops/split.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

// What GroupNorm and SkipGroupNorm have in common.
struct Groups {
  GroupNorm op;
  bool channels_last = true;
  bool has_silu = false;
  std::int64_t rank = 0;  // of x
};

// Check n.ok() behind it.
Groups read_group_attributes(NodeImport& n) {
  Groups g{.op = {.groups = n.integer("groups"), .epsilon = n.number("epsilon", 1e-5f)},
           .channels_last = n.flag("channels_last", Flag::on),
           .has_silu = n.integer("activation") == 1,
           .rank = n.known_rank(n.in(0))};
  if (n.ok() && !g.has_silu && n.integer("activation") != 0)
    n.fail(cat("activation is ", n.integer("activation"), ", wants 0 or 1"));
  if (n.ok() && g.op.groups < 1) n.fail("attribute 'groups' must be positive");
  if (n.ok() && g.rank < 3) n.fail(cat("its input has rank ", g.rank, ", wants 3 or more"));
  return g;
}

// The parameters are inputs 1 and 2, whose type may be another than that of x: all is computed in
// f32 then and rounded in the end.
ValueId normalised_groups(NodeImport& n, const Groups& g, ValueId x) {
  const DType type = n.dtype(x);
  const bool is_one_type = type == n.dtype(n.in(1)) && type == n.dtype(n.in(2));
  const DType wide = is_one_type ? type : DType::f32;
  ValueId y = cast(n, x, wide);
  if (g.channels_last) y = channels_first(n, y, g.rank);
  const ValueId gamma = cast(n, n.in(1), wide);
  const ValueId beta = cast(n, n.in(2), wide);
  y = n.add(g.op, {y, gamma, beta});
  if (g.has_silu) y = unary(n, UnaryKind::swish, y, 1);
  if (g.channels_last) y = channels_last(n, y, g.rank);
  return cast(n, y, type);
}

void import_microsoft_group_norm(NodeImport& n) {
  const Groups g = read_group_attributes(n);
  if (n.ok()) n.set(0, normalised_groups(n, g, n.in(0)));
}

// (x, gamma, beta, skip, bias?) -> the norm of x + skip + bias, and the sum. skip has the shape of
// x, or [N, C] or [N, 1, ..., C].
void import_skip_group_norm(NodeImport& n) {
  const Groups g = read_group_attributes(n);
  const std::int64_t rank = n.known_rank(n.in(3));
  if (!n.ok()) return;
  if (!g.channels_last) return n.unsupported("its skip is only defined for channels that are last");
  ValueId skip = n.in(3);
  if (rank == 2) {
    Ints space;
    for (std::int64_t i = 1; i + 1 < g.rank; ++i) space.push_back(i);
    skip = unsqueeze(n, skip, space);
  }
  ValueId sum = add(n, n.in(0), skip);
  if (n.has(4)) sum = add(n, sum, n.in(4));
  n.set(0, normalised_groups(n, g, sum));
  n.set(1, sum);
}

// (x, bias, skip)
void import_bias_add(NodeImport& n) {
  const ValueId sum = add(n, n.in(0), n.in(1));
  n.set(0, add(n, sum, n.in(2)));
}

// The left half of x + bias times gelu of the right one.
void import_bias_split_gelu(NodeImport& n) {
  const ValueId sum = add(n, n.in(0), n.in(1));
  const Dim width = n.dim(n.in(1), -1);
  if (n.ok() && width.known() && width.value() % 2 != 0)
    return n.fail(cat("a width of ", width.value(), " has no halves"));
  const auto halves = n.add_many(Split{.axis = -1}, {sum}, 2);
  n.set(0, mul(n, halves[0], unary(n, UnaryKind::gelu, halves[1])));
}

// Over all dimensions from the axis on. The bias broadcasts as in a sum, whichever dimensions
// is_inner_broadcast says that it lacks.
void import_bias_softmax(NodeImport& n) {
  const Softmax op{.axis = n.integer("axis", 1), .flatten = true};
  n.ignore("is_inner_broadcast");
  n.set(0, n.add(op, {add(n, n.in(0), n.in(1))}));
}

// (x, bias, residual?, ratio?, training_mode?) -> x + bias + residual, and what was kept: all.
void import_bias_dropout(NodeImport& n) {
  n.ignore("seed");
  const auto training = n.constant_number(n.in(4));
  if (n.has(4) && training.value_or(1) != 0)
    return n.unsupported("training_mode is not known to be false");
  ValueId y = add(n, n.in(0), n.in(1));
  if (n.has(2)) y = add(n, y, n.in(2));
  n.set(0, y);
  if (n.wants(1)) n.set(1, filled(n, shape_of(n, n.in(0)), DType::boolean, 1));
}

constexpr OpRow microsoft_diffusion_rows[] = {
    {"BiasAdd", 1, import_bias_add, three},
    {"BiasDropout", 1, import_bias_dropout, {2, 5}, {1, 2}},
    {"BiasSoftmax", 1, import_bias_softmax, two},
    {"BiasSplitGelu", 1, import_bias_split_gelu, two},
    {"GroupNorm", 1, import_microsoft_group_norm, three},
    {"SkipGroupNorm", 1, import_skip_group_norm, {4, 5}, {1, 2}},
};

}  // namespace

OpRows microsoft_diffusion_ops() {
  return microsoft_diffusion_rows;
}

}  // namespace quern::onnx
