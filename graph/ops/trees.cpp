// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/trees.h"

#include <array>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

constexpr EnumNames<4> aggregate_names = {"sum", "average", "min", "max"};

namespace in = tree_input;

// The number of elements of a list; nullopt while it is unknown.
std::optional<std::int64_t> length_of(const InferContext& c, std::size_t i) {
  const Dims* d = c.dims(i);
  return d && d->front().known() ? std::optional(d->front().value()) : std::nullopt;
}

Status want_lists(const InferContext& c) {
  for (std::size_t i : {in::nodes, in::roots, in::leaves, in::targets})
    QUERN_TRY(c.want_dtype(i, DType::i32));
  for (std::size_t i : {in::splits, in::weights}) QUERN_TRY(c.want_same_dtype(i, in::x));
  QUERN_TRY(want_rank(c, in::x, 2));
  QUERN_TRY(want_rank(c, in::nodes, 2));
  for (std::size_t i : {in::splits, in::roots, in::leaves, in::targets, in::weights})
    QUERN_TRY(want_rank(c, i, 1));
  const Dims* nodes = c.dims(in::nodes);
  if (nodes && nodes->back().known() && !nodes->back().is(4))
    return c.error(cat(c.describe(in::nodes), " must have 4 columns"));
  for (const auto& [a, b] :
       {std::pair{in::nodes, in::splits}, std::pair{in::targets, in::weights}}) {
    const auto n = length_of(c, a);
    const auto m = length_of(c, b);
    if (n && m && *n != *m)
      return c.error(
          cat(c.describe(b), " must have ", *n, " elements, one for each of ", c.describe(a)));
  }
  if (length_of(c, in::leaves) == 0)
    return c.error(cat(c.describe(in::leaves), " must have an element behind the last leaf"));
  return {};
}

// The numbers that children are held to.
struct Counts {
  std::int64_t nodes;
  std::int64_t leaves;
  std::int64_t features;  // the most that an i32 holds while they are unknown
};

bool is_leaf(const Counts& counts, std::int32_t child) {
  return child < 0 && -1 - std::int64_t{child} < counts.leaves;
}

Status check_node(const InferContext& c, const Counts& counts, std::int64_t i,
                  const TreeNode& node) {
  if (node.feature < 0 || node.feature >= counts.features)
    return c.error(cat("node ", i, " of the trees reads feature ", node.feature, ", x has ",
                       counts.features, " features"));
  const std::int32_t test = node.test & ~tree_missing_is_yes;
  if (test < 0 || test >= tree_tests)
    return c.error(cat("node ", i, " of the trees has test ", node.test, ", which is none"));
  for (std::int32_t child : {node.yes, node.no})
    if (!is_leaf(counts, child) && (child <= i || child >= counts.nodes))
      return c.error(cat("node ", i, " of the trees leads to ", child, ", which is neither one of ",
                         counts.leaves, " leaves nor a node between it and ", counts.nodes));
  return {};
}

Status check_nodes(const InferContext& c, const Counts& counts) {
  const Tensor* nodes = c.value(in::nodes);
  if (!nodes) return {};
  for (std::int64_t i = 0; i < counts.nodes; ++i)
    QUERN_TRY(check_node(c, counts, i, element_of<TreeNode>(*nodes, static_cast<std::size_t>(i))));
  return {};
}

Status check_roots(const InferContext& c, const Counts& counts) {
  const Tensor* roots = c.value(in::roots);
  for (std::int64_t i = 0; roots && i < roots->shape()[0]; ++i) {
    const auto root = element_of<std::int32_t>(*roots, static_cast<std::size_t>(i));
    if (!is_leaf(counts, root) && (root < 0 || root >= counts.nodes))
      return c.error(cat("tree ", i, " begins at ", root, ", the trees have ", counts.nodes,
                         " nodes and ", counts.leaves, " leaves"));
  }
  return {};
}

Status check_entries(const InferContext& c, std::int64_t leaves) {
  const auto entries = length_of(c, in::targets);
  const Tensor* begins = c.value(in::leaves);
  std::int32_t last = 0;
  for (std::int64_t l = 0; begins && entries && l <= leaves; ++l) {
    const auto begin = element_of<std::int32_t>(*begins, static_cast<std::size_t>(l));
    if (begin < last || begin > *entries)
      return c.error(cat("the entries of leaf ", l, " begin at ", begin, " after ", last,
                         ", the trees have ", *entries));
    last = begin;
  }
  const auto& op = c.op<TreeEnsemble>();
  const Tensor* targets = c.value(in::targets);
  for (std::int64_t i = 0; targets && entries && i < *entries; ++i) {
    const auto target = element_of<std::int32_t>(*targets, static_cast<std::size_t>(i));
    if (target < 0 || target >= op.targets)
      return c.error(cat("entry ", i, " of the leaves is for target ", target, " of ", op.targets));
  }
  return {};
}

Status infer_trees(InferContext& c) {
  const auto& op = c.op<TreeEnsemble>();
  if (c.dtype(in::x) != DType::f32 && c.dtype(in::x) != DType::f64)
    return c.error(cat(c.describe(in::x), " must be of f32 or f64"));
  if (op.targets < 1 || op.targets > std::numeric_limits<std::int32_t>::max())
    return c.error(cat("targets is ", op.targets));
  QUERN_TRY(want_lists(c));
  const auto nodes = length_of(c, in::nodes);
  const auto begins = length_of(c, in::leaves);
  const Dims* x = c.dims(in::x);
  if (nodes && begins) {
    const Counts counts = {*nodes, *begins - 1,
                           x && x->back().known() ? x->back().value() : std::int64_t{1} << 31};
    QUERN_TRY(check_nodes(c, counts));
    QUERN_TRY(check_roots(c, counts));
    QUERN_TRY(check_entries(c, counts.leaves));
  }
  c.set(0, c.dtype(in::x), Dims{x ? x->front() : Dim(), op.targets});
  return {};
}

}  // namespace

std::span<const std::string_view> enum_names(TreeAggregate) {
  return aggregate_names;
}

const OpDef& TreeEnsemble::def() {
  static constexpr OpDef def{.name = "TreeEnsemble",
                             .inputs = {in::count, in::count},
                             .plan_operands = 0x7e,  // all but x
                             .infer = infer_trees,
                             .attributes = &op_struct<TreeEnsemble>};
  return def;
}

}  // namespace quern
