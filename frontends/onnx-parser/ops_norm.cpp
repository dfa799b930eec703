// SPDX-License-Identifier: Apache-2.0
// Normalisation and softmax.
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/lp_norm.h"
#include "graph/ops/reduce.h"
#include "graph/ops/softmax.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

// Scale, bias, mean and variance per element instead of per channel (before opset 9).
ValueId normalise_elements(NodeImport& n, float epsilon) {
  const ValueId deviation = unary(n, UnaryKind::sqrt, add(n, n.in(4), epsilon));
  const ValueId centred = sub(n, n.in(0), n.in(3));
  return add(n, mul(n, div(n, centred, deviation), n.in(1)), n.in(2));
}

// More than one listed output meant training; `is_test` adds no information.
void import_batch_norm_1(NodeImport& n) {
  const float epsilon = n.number("epsilon", 1e-5f);
  const float momentum = n.number("momentum", 0.9f);
  n.ignore("is_test");
  if (!n.flag("spatial", Flag::on)) return n.set(0, normalise_elements(n, epsilon));
  n.set(0, n.add(BatchNorm{.epsilon = epsilon, .momentum = momentum},
                 {n.in(0), n.in(1), n.in(2), n.in(3), n.in(4)}));
}

void import_batch_norm(NodeImport& n) {
  n.emit(BatchNorm{.epsilon = n.number("epsilon", 1e-5f),
                   .momentum = n.number("momentum", 0.9f),
                   .training = n.flag("training_mode", Flag::off)},
         {n.in(0), n.in(1), n.in(2), n.in(3), n.in(4)});
}

// The type of the statistics. We use f32, or f64 for f64, which is never less precise; 0, which
// names no type, says nothing.
void check_stash_type(NodeImport& n) {
  if (n.integer("stash_type", 1) == 0) return;
  const DType stash = n.dtype_attribute("stash_type", DType::f32);
  if (stash != DType::f32 && stash != n.dtype(n.in(0)) && (n.wants(1) || n.wants(2)))
    n.unsupported("attribute 'stash_type' must be FLOAT or the type of the input");
}

void import_layer_norm(NodeImport& n) {
  check_stash_type(n);
  n.emit(LayerNorm{.axis = n.integer("axis", -1), .epsilon = n.number("epsilon", 1e-5f)},
         {n.inputs().begin(), n.inputs().end()});
}

// The form of ONNX Runtime before opset 17: its scale and bias may have another type than x, and
// the result has theirs.
void import_scale_typed_layer_norm(NodeImport& n) {
  const DType type = n.dtype(n.in(0)), result = n.dtype(n.in(1));
  if (type == result) return import_layer_norm(n);
  check_stash_type(n);
  const DType wide = type == DType::f64 || result == DType::f64 ? DType::f64 : DType::f32;
  std::vector<ValueId> inputs;
  for (const ValueId v : n.inputs()) inputs.push_back(v == no_value ? v : cast(n, v, wide));
  const LayerNorm op{.axis = n.integer("axis", -1), .epsilon = n.number("epsilon", 1e-5f)};
  const auto outputs = n.add_many(op, std::move(inputs), n.output_count());
  if (!n.ok()) return;
  n.set(0, cast(n, outputs[0], result));
  for (std::size_t i = 1; i < outputs.size(); ++i) n.set(i, outputs[i]);
}

void import_rms_norm(NodeImport& n) {
  check_stash_type(n);
  n.emit(
      LayerNorm{
          .axis = n.integer("axis", -1), .epsilon = n.number("epsilon", 1e-5f), .center = false},
      {n.in(0), n.in(1)});
}

// An operator of ONNX Runtime's optimiser in the default domain; its second output is the inverse
// standard deviation.
void import_simplified_layer_norm(NodeImport& n) {
  check_stash_type(n);
  const LayerNorm op{
      .axis = n.integer("axis", -1), .epsilon = n.number("epsilon", 1e-5f), .center = false};
  const auto outputs = n.add_many(op, {n.in(0), n.in(1)}, n.wants(1) ? 3 : 1);
  n.set(0, outputs[0]);
  if (n.wants(1)) n.set(1, outputs.back());
}

// Expands values per group to values per channel: [g] -> [g, channels / g] -> [channels]. Exporters
// gave values per channel before opset 21 asked for them.
ValueId per_channel(NodeImport& n, ValueId per_group, std::int64_t groups) {
  const Dim given = n.dim(per_group, 0);
  if (given.known() && given.value() != groups && given.same(n.dim(n.in(0), 1))) return per_group;
  const ValueId channels = dims_of(n, n.in(0), 1, 2);
  const ValueId group_size = div(n, channels, n.ints_constant({groups}));
  const ValueId shape = join_dims(n, {n.ints_constant({groups}), group_size});
  return reshape(n, expand_to(n, unsqueeze(n, per_group, {1}), shape), Ints{-1});
}

std::int64_t read_groups(NodeImport& n) {
  const std::int64_t groups = n.integer("num_groups");
  if (n.ok() && groups < 1) n.fail("attribute 'num_groups' must be positive");
  return groups;
}

void import_group_norm_18(NodeImport& n) {
  const GroupNorm op{.groups = read_groups(n), .epsilon = n.number("epsilon", 1e-5f)};
  if (!n.ok()) return;
  n.emit(op, {n.in(0), per_channel(n, n.in(1), op.groups), per_channel(n, n.in(2), op.groups)});
}

void import_group_norm(NodeImport& n) {
  check_stash_type(n);
  n.emit(GroupNorm{.groups = read_groups(n), .epsilon = n.number("epsilon", 1e-5f)},
         {n.in(0), n.in(1), n.in(2)});
}

void import_instance_norm(NodeImport& n) {
  n.emit(GroupNorm{.groups = 0, .epsilon = n.number("epsilon", 1e-5f)},
         {n.in(0), n.in(1), n.in(2)});
}

void import_lrn(NodeImport& n) {
  n.emit(Lrn{.size = n.integer("size"),
             .alpha = n.number("alpha", 1e-4f),
             .beta = n.number("beta", 0.75f),
             .bias = n.number("bias", 1)},
         {n.in(0)});
}

void import_lp_norm(NodeImport& n) {
  n.emit(LpNorm{.axis = n.integer("axis", -1), .p = n.integer("p", 2)}, {n.in(0)});
}

// (x - mean) / (deviation + 1e-9)
void import_mean_variance(NodeImport& n) {
  Ints axes = n.ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  const ValueId centred = sub(n, n.in(0), reduce(n, ReduceKind::mean, n.in(0), axes));
  const ValueId variance = reduce(n, ReduceKind::mean, mul(n, centred, centred), axes);
  n.set(0, div(n, centred, add(n, unary(n, UnaryKind::sqrt, variance), 1e-9)));
}

// Up to opset 12 over all dimensions from `axis` on, with a default of 1.
template <SoftmaxKind Kind>
void import_softmax(NodeImport& n) {
  const bool flatten = n.version() < 13;
  n.emit(Softmax{.kind = Kind, .axis = n.integer("axis", flatten ? 1 : -1), .flatten = flatten},
         {n.in(0)});
}

constexpr OpRow norm_rows[] = {
    {"BatchNormalization", 1, import_batch_norm_1, {5, 5}, {1, 5}},
    {"BatchNormalization", 14, import_batch_norm, {5, 5}, {1, 3}},
    {"GroupNormalization", 18, import_group_norm_18, three},
    {"GroupNormalization", 21, import_group_norm, three},
    {"Hardmax", 1, import_softmax<SoftmaxKind::hardmax>},
    {"InstanceNormalization", 1, import_instance_norm, three},
    {"LRN", 1, import_lrn},
    // Defined since opset 17; ONNX Runtime's optimiser also writes it to older models.
    {"LayerNormalization", 1, import_scale_typed_layer_norm, {2, 3}, {1, 3}},
    {"LayerNormalization", 17, import_layer_norm, {2, 3}, {1, 3}},
    {"LogSoftmax", 1, import_softmax<SoftmaxKind::log_softmax>},
    {"LpNormalization", 1, import_lp_norm},
    {"MeanVarianceNormalization", 9, import_mean_variance},
    {"RMSNormalization", 23, import_rms_norm, two},
    {"SimplifiedLayerNormalization", 1, import_simplified_layer_norm, two, {1, 2}},
    {"Softmax", 1, import_softmax<SoftmaxKind::softmax>},
};

}  // namespace

OpRows norm_ops() {
  return norm_rows;
}

}  // namespace quern::onnx
