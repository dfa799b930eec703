// SPDX-License-Identifier: Apache-2.0
// The verb `quern optimize`.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "tools/inputs.h"
#include "tools/json.h"
#include "tools/opened.h"
#include "tools/optimize/check.h"
#include "tools/optimize/model_file.h"
#include "tools/optimize/rewriting.h"
#include "tools/verbs.h"

namespace quern::tools {
namespace {

using OperatorCounts = std::map<std::string, std::int64_t>;

struct OptimizedFile {
  std::string path;
  WrittenFile file;
  std::size_t before_bytes = 0;
  std::size_t before_nodes = 0, nodes = 0;
  std::int64_t opset = 0;
  OperatorCounts before_operators, operators;
  Rewriting rewriting;
  std::optional<ModelCheck> check;
};

OperatorCounts operators_of(const onnx::GraphProto& graph) {
  OperatorCounts counts;
  for (const onnx::NodeProto& node : graph.nodes) ++counts[operator_name(node)];
  return counts;
}

// With its external data.
std::size_t bytes_of_file(const EditedModel& model) {
  const std::size_t constants = constant_bytes(model);
  return constants < most_message_bytes / 2 ? model.bytes().size() : constants;
}

// The dimensions that options give become those of the inputs. True: there are any.
Result<bool> specialise(EditedModel& model, const InputArgs& args) {
  if (args.shapes.empty() && args.dims.empty()) return false;
  QUERN_ASSIGN(const Model read, model.model());
  const auto specs = read.inputs();
  QUERN_ASSIGN(const Dimensions dimensions, parse_dimensions(args, specs));
  for (onnx::ValueInfo& input : model.graph().inputs) {
    const auto spec = std::ranges::find(specs, input.name, &ValueSpec::name);
    if (spec == specs.end() || input.type.kind != onnx::TypeProto::Kind::tensor) continue;
    const std::vector<std::int64_t> known = known_dims(*spec, dimensions);
    if (!input.type.has_shape && known.empty()) continue;
    input.type.has_shape = true;
    input.type.dims.resize(known.size());
    for (std::size_t i = 0; i < known.size(); ++i)
      if (known[i] >= 0) input.type.dims[i] = {.has_value = true, .value = known[i], .param = {}};
  }
  return true;
}

// For a run: as a file that was read again where one may be that large.
Result<Model> readable_model(const EditedModel& model) {
  if (constant_bytes(model) < most_message_bytes / 2) return model.model();
  std::map<std::string, ValueId, std::less<>> values;
  QUERN_ASSIGN(Graph graph, model.import(values));
  return Model(std::make_unique<Graph>(std::move(graph)), {});
}

Result<ModelCheck> checked(Model before, const EditedModel& model, const OptimizeArgs& args) {
  QUERN_ASSIGN(Model after, readable_model(model));
  constexpr Criterion criterion{.rtol = 1e-3, .atol = 1e-7, .of_largest = 1e-5};
  InputArgs inputs = args.inputs;
  inputs.shapes.clear();  // those of the model by now
  inputs.dims.clear();
  QUERN_ASSIGN(ModelCheck check,
               check_model(std::move(before), std::move(after), inputs, args.device, criterion));
  if (const OutputCheck* wrong = check.mismatch())
    return Status(
        Code::internal,
        cat("nothing was written: output '", shown(wrong->name),
            "' of the rewritten model is not that of the original: ", wrong->mismatch,
            args.level == "all" ? "; --level basic leaves out what rounds otherwise" : ""));
  return check;
}

Json fate_json(const NodeFate& fate) {
  Json j;
  j["name"] = fate.name;
  j["operator"] = fate.type;
  j["fate"] = fate_name(fate.kind);
  if (!fate.into.empty()) j["into"] = fate.into;
  if (!fate.into_type.empty()) j["into_operator"] = fate.into_type;
  return j;
}

// "fused into bn (Conv)"
std::string fate_text(const NodeFate& fate) {
  using Kind = NodeFate::Kind;
  const std::string into = shown(fate.into);
  switch (fate.kind) {
    case Kind::rewritten: return cat("rewritten as ", shown(fate.into_type));
    case Kind::fused: return cat("fused into ", into, " (", shown(fate.into_type), ")");
    case Kind::replaced: return into.empty() ? "replaced" : cat("replaced by ", into);
    default: return std::string(fate_name(fate.kind));
  }
}

std::string fates_text(const NodeFates& fates, const Console& console) {
  Table table({{"node", Table::Align::left, 60}, {"operator"}, {"", Table::Align::left, 80}});
  for (const NodeFate& fate : fates)
    table.add({shown(fate.name), shown(fate.type), fate_text(fate)},
              fate.kind == NodeFate::Kind::kept ? Colour::none : Colour::bold);
  return cat("\n", table.text(console));
}

Json optimized_json(const OptimizedFile& s) {
  Json j;
  j["file"] = s.path;
  j["nodes_before"] = s.before_nodes;
  j["nodes"] = s.nodes;
  j["bytes_before"] = s.before_bytes;
  j["bytes"] = s.file.bytes + s.file.external_bytes;
  j["external_bytes"] = s.file.external_bytes;
  j["operators_before"] = Json::object();
  for (const auto& [name, count] : s.before_operators) j["operators_before"][name] = count;
  j["operators"] = Json::object();
  for (const auto& [name, count] : s.operators) j["operators"][name] = count;
  j["passes"] = Json::object();
  for (const PassCount& p : s.rewriting.passes) j["passes"][p.pass] = p.fired;
  j["opset"] = s.opset;
  j["by_node"] = Json::array();
  for (const NodeFate& fate : s.rewriting.nodes) j["by_node"].push(fate_json(fate));
  if (!s.check) return j;
  j["is_random"] = s.check->is_random;
  j["outputs"] = Json::array();
  for (const OutputCheck& o : s.check->outputs) {
    Json one;
    one["name"] = o.name;
    one["max_difference"] = o.largest_difference;
    j["outputs"].push(std::move(one));
  }
  return j;
}

std::string check_text(const std::optional<ModelCheck>& check) {
  if (!check) return "not checked";
  const std::size_t n = check->outputs.size();
  const std::string outputs = cat(n, n == 1 ? " output" : " outputs");
  if (check->is_random) return cat("the types of ", outputs, " agree; the model draws its numbers");
  const double largest = check->largest_difference();
  return cat(outputs, largest == 0 ? " equal" : cat(", largest difference ", number_text(largest)));
}

std::string optimized_text(const OptimizedFile& s, const Console& console) {
  const auto bytes = [](std::size_t n) { return bytes_text(static_cast<double>(n)); };
  std::string text = cat(shown(s.path, 200), ": ", s.before_nodes, " -> ", s.nodes, " nodes; ",
                         bytes(s.before_bytes), " -> ", bytes(s.file.bytes + s.file.external_bytes),
                         "; ", check_text(s.check));
  OperatorCounts changes = s.operators;
  for (const auto& [name, count] : s.before_operators) changes[name] -= count;
  std::erase_if(changes, [](const auto& c) { return c.second == 0; });
  if (changes.empty()) return text + "\n";
  Table table({{"operator"}, {"before", Table::Align::right}, {"after", Table::Align::right}});
  const auto count_in = [](const OperatorCounts& counts, const std::string& name) {
    const auto at = counts.find(name);
    return at == counts.end() ? std::string("-") : cat(at->second);
  };
  for (const auto& [name, change] : changes)
    table.add({shown(name), count_in(s.before_operators, name), count_in(s.operators, name)});
  return cat(text, "\n", table.text(console));
}

}  // namespace

Result<ExitCode> optimize_verb(const OptimizeArgs& args, const Console& console) {
  QUERN_ASSIGN(const auto ops, load_ops(args.device.ops));
  QUERN_ASSIGN(EditedModel model, EditedModel::open(args.model, ops));
  OptimizedFile summary{
      .path = args.out.empty() ? model_name(args.model) + ".optimized.onnx" : args.out,
      .before_bytes = bytes_of_file(model),
      .before_nodes = model.graph().nodes.size(),
      .before_operators = operators_of(model.graph())};
  QUERN_ASSIGN(const bool is_specialised, specialise(model, args.inputs));
  std::optional<Model> before;
  if (!args.unchecked) {
    QUERN_ASSIGN(before, readable_model(model));
  }
  const RewriteOptions options{.level = level_named(args.level),
                               .most_constant_bytes = args.threshold,
                               .is_specialised = is_specialised,
                               .skipped = args.skipped,
                               .opset = args.opset};
  QUERN_ASSIGN(summary.rewriting, rewrite_model(model, options));
  summary.opset = model.opset("");
  summary.nodes = model.graph().nodes.size();
  summary.operators = operators_of(model.graph());
  if (before) {
    QUERN_ASSIGN(summary.check, checked(*std::move(before), model, args));
  }
  QUERN_ASSIGN(summary.file, write_model_file(model, summary.path, args.external_above));
  print(args.json ? optimized_json(summary).document() : optimized_text(summary, console));
  if (args.by_node && !args.json) print(fates_text(summary.rewriting.nodes, console));
  return ExitCode::ok;
}

}  // namespace quern::tools
