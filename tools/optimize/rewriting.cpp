// SPDX-License-Identifier: Apache-2.0
#include "tools/optimize/rewriting.h"

#include <algorithm>
#include <optional>
#include <string>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "graph/evaluate.h"
#include "graph/ops/quantize.h"
#include "tools/closest.h"
#include "tools/optimize/graph_writer.h"
#include "tools/optimize/opset_change.h"

namespace quern::tools {
namespace {

constexpr std::string_view basic_passes[] = {
    "merge_common",      "fold_constants",      "fold_shape",     "fold_gathered_shape",
    "fold_sliced_shape", "drop_movement",       "drop_cast",      "drop_transpose",
    "drop_reduce",       "drop_where",          "drop_expand",    "drop_empty_parts",
    "drop_neutral",      "drop_repeated_unary", "merge_clips",    "simplify_clip",
    "merge_casts",       "merge_concats",       "merge_reshapes", "merge_transposes"};

// Those that only bring patterns into one form change no model by themselves in a way that costs
// anything: a division by a constant becomes a product.
constexpr std::string_view further_passes[] = {
    "move_constant_right",   "subtract_to_add",      "divide_to_multiply",
    "simplify_power",        "extremum_to_clip",     "recognise_gated",
    "recognise_softplus",    "recognise_sigmoid",    "recognise_hard_sigmoid",
    "recognise_softsign",    "recognise_leaky_relu", "recognise_rms_norm",
    "center_layer_norm",     "scale_layer_norm",     "bias_layer_norm",
    "recognise_reduction",   "recognise_softmax",    "drop_softmax_shift",
    "recognise_log_softmax", "absorb_conv_pads",     "absorb_pool_pads",
    "expand_batch_norm",     "fold_scale",           "fold_bias",
    "scale_before_bias",     "fold_input_scale",     "fold_input_shift"};

struct Folding {
  std::vector<Tensor> inputs;
  std::vector<TensorType> inputs_types;
  TensorType output;
};

// What the node computes of constants alone, if its result takes no more than they or `most_bytes`.
std::optional<Folding> folding(const Graph& g, const Node& n, std::size_t most_bytes) {
  if (n.inputs.empty() || n.outputs.size() != 1 || n.as<Dequantize>() || n.as<Quantize>() ||
      !n.bodies.empty() || !n.post_ops.empty() || !can_evaluate(n.op.def()))
    return std::nullopt;
  const ValueType& type = g.type(n.outputs[0]);
  if (!type.fully_known()) return std::nullopt;
  Folding f;
  std::size_t bytes = 0;
  for (const ValueId v : n.inputs) {
    if (v != no_value && !g.value(v).is_constant()) return std::nullopt;
    f.inputs.push_back(v == no_value ? Tensor() : g.value(v).constant);
    if (v == no_value) continue;
    f.inputs_types.push_back(f.inputs.back().type());
    bytes += f.inputs.back().bytes();
  }
  f.output = {type.dtype, *type.shape()};
  if (!f.output.shape.checked_elements(size_of(type.dtype)) ||
      f.output.bytes() > std::max(bytes, most_bytes))
    return std::nullopt;
  if (evaluation_work(n.op, n.op.def(), f.inputs_types, {&f.output, 1}) > quick_work)
    return std::nullopt;
  return f;
}

// Weights that the passes leave as expressions, since the engine computes them where it packs them.
Status fold_expressions(Graph& g, std::size_t most_bytes) {
  const std::vector<NodeId> order(g.order().begin(), g.order().end());
  for (const NodeId id : order) {
    const Node& n = g.node(id);
    const auto f = folding(g, n, most_bytes);
    if (!f) continue;
    auto values = evaluate(g.ops(), n.op, {}, f->inputs, {}, {&f->output, 1});
    if (!values) continue;  // a run says why
    g.make_constant(n.outputs[0], std::move(values->at(0)));
  }
  g.erase_dead();
  return {};
}

// The passes that do not run.
Result<std::vector<std::string>> disabled_passes(const RewriteOptions& options) {
  const auto enabled = passes_of(options.level);
  for (const std::string& name : options.skipped)
    if (std::ranges::find(enabled, name) == enabled.end())
      return Status(Code::invalid_argument,
                    cat("no pass '", shown(name), "' at this level", did_you_mean(name, enabled)));
  std::vector<std::string> disabled = options.skipped;
  for (const std::string_view name : pass_names())
    if (std::ranges::find(enabled, name) == enabled.end()) disabled.emplace_back(name);
  return disabled;
}

}  // namespace

std::vector<std::string_view> passes_of(RewriteLevel level) {
  std::vector<std::string_view> names(std::begin(basic_passes), std::end(basic_passes));
  if (level == RewriteLevel::all)
    names.insert(names.end(), std::begin(further_passes), std::end(further_passes));
  return names;
}

RewriteLevel level_named(std::string_view name) {
  return name == "basic" ? RewriteLevel::basic : RewriteLevel::all;
}

Result<Rewriting> rewrite_model(EditedModel& model, const RewriteOptions& options) {
  QUERN_ASSIGN(std::vector<std::string> disabled, disabled_passes(options));
  std::optional<OpsetChange> change;
  if (options.opset) {
    QUERN_ASSIGN(change, opset_change(model, options.opset));
  }
  ValueNames values;
  QUERN_ASSIGN(const Graph before, model.import(values));
  Graph after = before.clone();
  Rewriting done;
  const PassOptions passes{.disabled = std::move(disabled), .fuse = false, .counts = &done.passes};
  QUERN_TRY(run_passes(after, passes));
  QUERN_TRY(fold_expressions(after, options.most_constant_bytes));
  QUERN_ASSIGN(done.nodes, write_graph(model, {before, after, values},
                                       {.most_bytes = options.most_constant_bytes,
                                        .is_specialised = options.is_specialised,
                                        .opset_change = change ? &*change : nullptr}));
  std::erase_if(done.passes, [](const PassCount& c) { return c.fired == 0; });
  return done;
}

Result<Model> rewritten_model(EditedModel model, RewriteLevel level) {
  QUERN_TRY(rewrite_model(model, {.level = level}).status());
  return model.model();
}

}  // namespace quern::tools
