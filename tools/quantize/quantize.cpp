// SPDX-License-Identifier: Apache-2.0
// The verb `quern quantize`.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "engine/vocabulary/whole_file.h"
#include "tools/json.h"
#include "tools/opened.h"
#include "tools/quantize/assessment.h"
#include "tools/quantize/calibration.h"
#include "tools/quantize/edited_model.h"
#include "tools/quantize/opset.h"
#include "tools/quantize/rewrite.h"
#include "tools/quantize/targets.h"
#include "tools/verbs.h"

namespace quern::tools {
namespace {

struct QuantizedFile {
  std::string path;
  std::size_t nodes = 0;
  std::size_t before_bytes = 0, after_bytes = 0;
  std::size_t samples = 0;
  Assessment assessment;
};

std::string quantized_path(const QuantizeArgs& args) {
  if (!args.out.empty()) return args.out;
  return cat(model_name(args.model), args.weights_only ? cat(".int", args.bits) : ".int8", ".onnx");
}

Json quantized_json(const QuantizedFile& s) {
  Json j;
  j["file"] = s.path;
  j["nodes"] = s.nodes;
  j["bytes_before"] = s.before_bytes;
  j["bytes"] = s.after_bytes;
  j["samples"] = s.samples;
  j["ms_before"] = s.assessment.before_ms;
  j["ms"] = s.assessment.after_ms;
  j["outputs"] = Json::array();
  for (const OutputLoss& loss : s.assessment.outputs) {
    Json one;
    one["name"] = loss.name;
    one["cosine"] = loss.mean_cosine;
    one["least_cosine"] = loss.least_cosine;
    one["rows"] = loss.rows;
    one["same_class"] = loss.same_class;
    j["outputs"].push(std::move(one));
  }
  return j;
}

std::string quantized_text(const QuantizedFile& s, const Console& console) {
  const auto bytes = [](std::size_t n) { return bytes_text(static_cast<double>(n)); };
  std::string text = cat(shown(s.path), ": ", s.nodes, " nodes; ", bytes(s.before_bytes), " -> ",
                         bytes(s.after_bytes));
  if (s.samples == 0) return text;
  text += cat(", a run ", time_text(s.assessment.before_ms), " -> ",
              fixed_text(s.assessment.after_ms, 3), " ms; over ", s.samples, " samples:\n");
  Table table({{"output"},
               {"cosine", Table::Align::right},
               {"least", Table::Align::right},
               {"same class", Table::Align::right}});
  for (const OutputLoss& loss : s.assessment.outputs)
    table.add({shown(loss.name), fixed_text(loss.mean_cosine, 6), fixed_text(loss.least_cosine, 6),
               loss.rows ? cat(loss.same_class, " of ", loss.rows) : ""});
  return text + table.text(console);
}

Status check_quantize(const QuantizeArgs& args) {
  const bool is_block =
      args.block >= 16 && args.block <= 256 && (args.block & (args.block - 1)) == 0;
  if (!is_block)
    return {Code::invalid_argument, cat("--block ", args.block, ": wants 16, 32, 64, 128 or 256")};
  if (args.bits != 4 && args.bits != 8)
    return {Code::invalid_argument, cat("--bits ", args.bits, ": wants 4 or 8")};
  if (args.data.empty() && !args.weights_only)
    return {Code::invalid_argument,
            "--data names a folder of pictures, .npy files or data sets, from which the ranges of "
            "values are taken; without any, --data random makes inputs up"};
  return {};
}

// Changes the model, which `before` was read from; returns the number of nodes that it changed.
Result<std::size_t> quantize_model(EditedModel& model, const Model& before,
                                   const QuantizeArgs& args, const std::vector<InputArgs>& samples,
                                   const Console& console) {
  raise_opset(model, before);
  QUERN_TRY(fold_batch_norms(model).status());
  QUERN_ASSIGN(const auto targets, find_targets(model, args.kept));
  if (args.weights_only) return quantize_weights(model, targets, args.bits, args.block);
  std::vector<std::string_view> inputs;
  for (const ProductNode& t : targets)
    if (std::ranges::find(inputs, t.input) == inputs.end()) inputs.push_back(t.input);
  QUERN_ASSIGN(const Ranges ranges,
               calibrate(model, inputs, samples,
                         {.device = args.device, .percentile = args.percentile}, console));
  QUERN_TRY(quantize_products(model, targets, ranges));
  return targets.size();
}

}  // namespace

Result<ExitCode> quantize_verb(const QuantizeArgs& args, const Console& console) {
  QUERN_TRY(check_quantize(args));
  QUERN_ASSIGN(EditedModel model, EditedModel::open(args.model));
  std::vector<InputArgs> samples;
  if (!args.data.empty()) {
    QUERN_ASSIGN(samples, find_samples(args.data, args.inputs, args.samples));
  }
  QuantizedFile summary{.path = quantized_path(args),
                        .before_bytes = model.bytes().size(),
                        .samples = samples.size(),
                        .assessment = {}};
  QUERN_ASSIGN(Model before, model.model());
  QUERN_ASSIGN(summary.nodes, quantize_model(model, before, args, samples, console));
  if (summary.nodes == 0)
    return Status(Code::unsupported,
                  "no node has products with constant weights of f32 that could be quantised");
  const std::string written = model.bytes();
  summary.after_bytes = written.size();
  QUERN_ASSIGN(Model after, model.model());
  if (!samples.empty()) {
    QUERN_ASSIGN(summary.assessment,
                 assess(std::move(before), std::move(after), samples, args.device, console));
  }
  const std::array<std::string_view, 1> pieces = {written};
  QUERN_TRY(write_whole_file(summary.path, pieces, OnSignal::removes));
  print(args.json ? quantized_json(summary).document() : quantized_text(summary, console));
  return ExitCode::ok;
}

}  // namespace quern::tools
