// SPDX-License-Identifier: Apache-2.0
// quern run: a model on files, pictures or generated inputs.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/onnx_parser.h"
#include "tools/npy.h"
#include "tools/opened.h"
#include "tools/parse.h"
#include "tools/record_trace.h"
#include "tools/summary.h"
#include "tools/verbs.h"
#include "tools/whole_file.h"

namespace quern::tools {
namespace {

// One output that was asked for, after the run.
struct Output {
  std::size_t index = 0;
  const ValueSpec* spec = nullptr;
  std::vector<TensorView> tensors;
  // Of an output of maps whose keys were asked for, too: the first of them.
  std::optional<Session::MapView> map;

  bool many() const { return spec->is_sequence(); }
};

Result<std::vector<Output>> collect(const Opened& opened) {
  const Session& session = *opened.session;
  std::vector<Output> outputs;
  for (std::size_t i : opened.outputs) {
    Output& o = outputs.emplace_back(Output{i, &session.executable().outputs()[i], {}});
    QUERN_ASSIGN(const std::size_t count, session.output_count(i));
    for (std::size_t k = 0; k < count; ++k) {
      QUERN_ASSIGN(o.tensors.emplace_back(), session.output_element(i, k));
    }
    if (!o.spec->is_map() || std::ranges::count(opened.outputs, o.spec->keys) == 0) continue;
    if (o.tensors[0].type.shape.rank() == 2 && o.tensors[0].type.shape[0] == 0) continue;
    QUERN_ASSIGN(o.map, session.output_map(i, 0));
  }
  return outputs;
}

// ---- classes

Result<std::vector<std::string>> read_labels(const RunArgs& args, const ModelMetadata& metadata) {
  if (!args.labels.empty()) {
    QUERN_ASSIGN(const std::string text, read_file(args.labels, std::size_t{16} << 20));
    return lines_of(text);
  }
  for (const auto& [key, value] : metadata.properties)
    if (key == "labels") return split_list(value);
  return std::vector<std::string>();
}

// The first output that can hold class scores; one with as many classes as there are labels before
// others.
const Output* score_output(const std::vector<Output>& outputs, std::size_t labels) {
  const Output* found = nullptr;
  for (const Output& o : outputs) {
    if (o.many() || o.tensors.size() != 1) continue;
    const auto rows = score_rows(o.tensors[0]);
    if (!rows) continue;
    const auto classes = static_cast<std::size_t>(o.tensors[0].type.shape.elements() / *rows);
    if (labels > 0 && classes == labels) return &o;
    if (!found) found = &o;
  }
  return found;
}

std::string label_of(const std::vector<std::string>& labels, std::int64_t index) {
  const auto i = static_cast<std::size_t>(index);
  return i < labels.size() ? shown(labels[i], 60) : cat("class ", index);
}

Result<Json> show_classes(const RunArgs& args, const std::vector<Output>& outputs,
                          const std::vector<std::string>& labels, const Console& console) {
  const Output* o = score_output(outputs, labels.size());
  if (!o)
    return Status(Code::invalid_argument, "--top: no output holds class scores ([C] or [N,C])");
  const TensorView& scores = o->tensors[0];
  const std::int64_t rows = *score_rows(scores);
  const std::int64_t classes = scores.type.shape.elements() / rows;
  if (!labels.empty() && static_cast<std::int64_t>(labels.size()) != classes)
    console.warn(cat(labels.size(), " labels for ", classes, " classes"));
  Json list = Json::array();
  for (std::int64_t row = 0; row < rows; ++row) {
    const Ranking ranking = rank_classes(scores, row, rows, args.top);
    if (!args.json)
      print(cat(
          console.paint(Colour::bold, shown(o->spec->name)), rows > 1 ? cat(", picture ", row) : "",
          ranking.softmax_applied ? " (softmax applied: the numbers were no distribution)" : "",
          "\n"));
    Table table(
        {{"", Table::Align::right}, {"", Table::Align::right}, {""}, {"", Table::Align::right}});
    for (std::size_t k = 0; k < ranking.classes.size(); ++k) {
      const RankedClass& c = ranking.classes[k];
      table.add({cat(k + 1), percent_text(c.probability), label_of(labels, c.index),
                 cat("(", c.index, ")")});
      Json j;
      j["output"] = o->spec->name;
      j["batch"] = row;
      j["class"] = c.index;
      j["label"] = label_of(labels, c.index);
      j["probability"] = c.probability;
      j["softmax_applied"] = ranking.softmax_applied;
      list.push(std::move(j));
    }
    if (!args.json) print(table.text(console));
  }
  return list;
}

// ---- all outputs

std::string describe(const Output& o) {
  if (o.tensors.empty()) return o.many() ? "empty sequence" : "nothing";
  if (o.spec->is_map()) return cat("maps ", o.tensors[0].type.text());
  return o.many() ? cat("sequence of ", o.tensors.size()) : o.tensors[0].type.text();
}

std::string values_text(const Output& o) {
  if (o.map) return map_text(o.map->keys, o.map->values);
  return o.many() || o.tensors.empty() ? "" : summary_text(o.tensors[0]);
}

void show_outputs(const std::vector<Output>& outputs, const Console& console) {
  Table table({{"output"}, {"type"}, {"values", Table::Align::left, 120}});
  for (const Output& o : outputs) {
    table.add({shown(o.spec->name), describe(o), values_text(o)});
    for (std::size_t k = 0; o.many() && k < o.tensors.size(); ++k)
      table.add({cat("  [", k, "]"), o.tensors[k].type.text(), summary_text(o.tensors[k])});
  }
  print(table.text(console));
}

Json outputs_json(const std::vector<Output>& outputs) {
  Json list = Json::array();
  for (const Output& o : outputs) {
    Json j;
    j["name"] = o.spec->name;
    j["kind"] = o.many() ? "sequence" : o.spec->is_map() ? "map" : "tensor";
    if (o.spec->is_map()) j["keys"] = o.spec->keys;
    Json tensors = Json::array();
    for (const TensorView& t : o.tensors) tensors.push(summary_json(t));
    j["tensors"] = std::move(tensors);
    list.push(std::move(j));
  }
  return list;
}

// A tensor that borrows the session's bytes, for the writer.
Tensor borrowed(const TensorView& view) {
  return {view.type, nullptr, view.data};
}

Status write_output(const Output& o, const std::string& folder, const std::string& format) {
  const std::string stem = cat(folder, "/output_", o.index);
  if (format == "pb") {
    OnnxValue value{.name = o.spec->name,
                    .kind = value_type(*o.spec).kind,
                    .present = o.many() || !o.tensors.empty()};
    for (const TensorView& t : o.tensors) value.tensors.push_back(borrowed(t));
    QUERN_ASSIGN(const std::string bytes, tensor_file_bytes(value));
    return write_whole_file(stem + ".pb", bytes);
  }
  for (std::size_t k = 0; k < o.tensors.size(); ++k)
    QUERN_TRY(write_npy(cat(stem, o.many() ? cat("_", k) : "", ".npy"), o.tensors[k]));
  return {};
}

Status write_outputs(const std::vector<Output>& outputs, const RunArgs& args) {
  if (args.out.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(args.out, error);
  if (error)
    return {Code::invalid_argument,
            cat("cannot make folder '", shown(args.out, 200), "': ", error.message())};
  for (const Output& o : outputs) QUERN_TRY(write_output(o, args.out, args.format));
  return {};
}

std::string time_line(const Opened& o, double run_ms) {
  return cat("load ", time_text(o.phases.load_ms), ", compile ", time_text(o.phases.compile_ms),
             ", plan ", time_text(o.phases.plan_ms), ", run ", time_text(run_ms), "; ",
             memory_text(*o.session));
}

}  // namespace

Result<ExitCode> run_verb(const RunArgs& args, const Console& console) {
  QUERN_ASSIGN(Opened o, open_model(args.model, args.inputs, args.device,
                                    {.pool = args.pool.pool,
                                     .time_limit_s = args.time_limit_s,
                                     .outputs = split_list(args.outputs),
                                     .default_crop = args.top ? 0.875 : 1.0,
                                     .console = &console}));
  note_assumptions(o, console);
  QUERN_ASSIGN(const auto labels, read_labels(args, o.executable->metadata()));
  Stopwatch watch;
  QUERN_TRY(o.session->run_until(o.deadline));
  const double run_ms = watch.lap();
  QUERN_ASSIGN(const auto outputs, collect(o));
  QUERN_TRY(write_outputs(outputs, args));
  Json top;
  if (args.top > 0) {
    QUERN_ASSIGN(top, show_classes(args, outputs, labels, console));
  } else if (!args.json) {
    show_outputs(outputs, console);
  }
  if (!args.json) {
    print(console.paint(Colour::dim, time_line(o, run_ms)) + "\n");
    QUERN_TRY(record_trace(*o.session, args.pool.record_trace, console));
    return ExitCode::ok;
  }
  Json j;
  j["model"] = args.model;
  j["device"] = args.device.device;
  j["inputs"] = inputs_json(o);
  j["outputs"] = outputs_json(outputs);
  if (args.top > 0) j["top"] = std::move(top);
  j["milliseconds"] = phases_json(o.phases);
  j["milliseconds"]["run"] = run_ms;
  j["bytes"] = memory_json(*o.session);
  print(j.document());
  QUERN_TRY(record_trace(*o.session, args.pool.record_trace, console));
  return ExitCode::ok;
}

}  // namespace quern::tools
