// SPDX-License-Identifier: Apache-2.0
// Reductions and running sums.
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/cumulative.h"
#include "graph/ops/reduce.h"

namespace quern::onnx {
namespace {

// The axes were an attribute: of ReduceSum up to opset 12, of the others up to 17.
template <ReduceKind Kind>
void with_attribute(NodeImport& n) {
  const Reduce op{.kind = Kind, .keepdims = n.flag("keepdims", Flag::on)};
  const Ints axes = n.ints("axes");
  if (axes.empty()) return n.emit(op, {n.in(0)});
  n.emit(op, {n.in(0), n.ints_constant(axes)});
}

template <ReduceKind Kind>
void with_input(NodeImport& n) {
  const Reduce op{.kind = Kind,
                  .keepdims = n.flag("keepdims", Flag::on),
                  .noop_with_empty_axes = n.flag("noop_with_empty_axes", Flag::off)};
  if (!n.has(1)) return n.emit(op, {n.in(0)});
  n.emit(op, {n.in(0), n.in(1)});
}

template <bool IsMax>
void import_arg_reduce(NodeImport& n) {
  n.emit(ArgReduce{.is_max = IsMax,
                   .axis = n.integer("axis", 0),
                   .keepdims = n.flag("keepdims", Flag::on),
                   .select_last_index = n.flag("select_last_index", Flag::off)},
         {n.in(0)});
}

template <CumulativeKind Kind>
void import_cumulative(NodeImport& n) {
  n.emit(Cumulative{.kind = Kind,
                    .exclusive = n.flag("exclusive", Flag::off),
                    .reverse = n.flag("reverse", Flag::off)},
         {n.in(0), n.in(1)});
}

constexpr OpRow reduction_rows[] = {
    {"ArgMax", 1, import_arg_reduce<true>},
    {"ArgMin", 1, import_arg_reduce<false>},
    {"CumProd", 26, import_cumulative<CumulativeKind::prod>, two},
    {"CumSum", 11, import_cumulative<CumulativeKind::sum>, two},
    {"ReduceL1", 1, with_attribute<ReduceKind::l1>},
    {"ReduceL1", 18, with_input<ReduceKind::l1>, one_or_two},
    {"ReduceL2", 1, with_attribute<ReduceKind::l2>},
    {"ReduceL2", 18, with_input<ReduceKind::l2>, one_or_two},
    {"ReduceLogSum", 1, with_attribute<ReduceKind::log_sum>},
    {"ReduceLogSum", 18, with_input<ReduceKind::log_sum>, one_or_two},
    {"ReduceLogSumExp", 1, with_attribute<ReduceKind::log_sum_exp>},
    {"ReduceLogSumExp", 18, with_input<ReduceKind::log_sum_exp>, one_or_two},
    {"ReduceMax", 1, with_attribute<ReduceKind::max>},
    {"ReduceMax", 18, with_input<ReduceKind::max>, one_or_two},
    {"ReduceMean", 1, with_attribute<ReduceKind::mean>},
    {"ReduceMean", 18, with_input<ReduceKind::mean>, one_or_two},
    {"ReduceMin", 1, with_attribute<ReduceKind::min>},
    {"ReduceMin", 18, with_input<ReduceKind::min>, one_or_two},
    {"ReduceProd", 1, with_attribute<ReduceKind::prod>},
    {"ReduceProd", 18, with_input<ReduceKind::prod>, one_or_two},
    {"ReduceSum", 1, with_attribute<ReduceKind::sum>},
    {"ReduceSum", 13, with_input<ReduceKind::sum>, one_or_two},
    {"ReduceSumSquare", 1, with_attribute<ReduceKind::sum_square>},
    {"ReduceSumSquare", 18, with_input<ReduceKind::sum_square>, one_or_two},
};

}  // namespace

OpRows reduction_ops() {
  return reduction_rows;
}

}  // namespace quern::onnx
