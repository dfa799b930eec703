// SPDX-License-Identifier: Apache-2.0
// quern inspect: what a model is, and what would run.
#include <algorithm>
#include <filesystem>
#include <map>

#include <quern/artefact.h>
#include <quern/onnx.h>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/opened_file.h"
#include "tools/inspect_page.h"
#include "tools/opened.h"
#include "tools/operators.h"
#include "tools/verbs.h"

namespace quern::tools {
namespace {

// ---- a model that is refused

Result<ExitCode> report_problems(const InspectArgs& args, const Status& error,
                                 std::vector<std::string> problems, const Console& console) {
  if (problems.empty()) problems.emplace_back(error.message());
  if (args.json) {
    Json j;
    j["model"] = args.model;
    j["supported"] = false;
    j["code"] = code_name(error.code());
    j["problems"] = Json::array_of(problems);
    print(j.document());
  } else {
    print(
        console.paint(Colour::red, cat("refused (", code_name(error.code()), "): ", problems.size(),
                                       problems.size() == 1 ? " problem" : " problems")) +
        "\n");
    for (const std::string& p : problems) print("  " + printable(p, 400) + "\n");
  }
  return ExitCode::model;
}

// ---- what it is

std::string opsets_text(const ModelMetadata& m) {
  std::string s;
  for (const auto& [domain, version] : m.opsets)
    s += cat(s.empty() ? "" : ", ", domain.empty() ? "ai.onnx" : shown(domain), " ", version);
  return s;
}

// `counts` is null for an artefact, whose graph is no longer the model's.
void show_metadata(const InspectArgs& args, const ModelMetadata& m, const GraphCounts* counts,
                   const Console& console) {
  Table t({{""}, {"", Table::Align::left, 160}});
  std::error_code ignored;
  const auto size = std::filesystem::file_size(model_file(args.model), ignored);
  t.add({"model",
         cat(shown(args.model, 120), ignored ? "" : ", " + bytes_text(static_cast<double>(size)))},
        Colour::bold);
  if (!m.graph_name.empty()) t.add({"graph", shown(m.graph_name)});
  if (!m.producer_name.empty())
    t.add({"producer", shown(m.producer_name + " " + m.producer_version)});
  t.add({"opsets", cat(opsets_text(m), "; IR version ", m.ir_version)});
  if (!m.description.empty()) t.add({"about", shown(m.description, 150)});
  for (const auto& [key, value] : m.properties)
    t.add({"metadata", cat(shown(key), " = ", shown(value, 100))});
  if (counts) {
    t.add({"nodes", cat(counts->nodes)});
    t.add({"parameters", cat(count_text(static_cast<double>(counts->elements)), ", ",
                             bytes_text(static_cast<double>(counts->bytes)), " in ",
                             counts->constants, " constants")});
  }
  print(t.text(console));
}

// Of a model or an executable.
template <class T>
void show_interface(const T& model, const Console& console) {
  Table t({{"", Table::Align::left}, {"name"}, {"type", Table::Align::left, 100}});
  for (const ValueSpec& s : model.inputs()) t.add({"input", shown(s.name), spec_text(s)});
  for (const ValueSpec& s : model.outputs()) t.add({"output", shown(s.name), spec_text(s)});
  print("\n" + t.text(console));
}

// Several columns, since there may be many.
void show_operators(const GraphCounts& counts, const Console& console) {
  constexpr std::size_t columns = 4;
  const std::size_t rows = ceil_div(counts.operators.size(), columns);
  std::vector<Table::Column> layout;
  for (std::size_t c = 0; c < columns; ++c) {
    layout.push_back({"", Table::Align::right});
    layout.push_back({"", Table::Align::left, 28});
  }
  Table t(layout);
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<std::string> cells;
    for (std::size_t i = r; i < counts.operators.size(); i += rows) {
      cells.push_back(cat(counts.operators[i].second));
      cells.push_back(counts.operators[i].first);
    }
    t.add(std::move(cells));
  }
  print("\n" + t.text(console));
}

Json specs_json(const std::vector<ValueSpec>& specs) {
  Json list = Json::array();
  for (const ValueSpec& s : specs) {
    Json j;
    j["name"] = s.name;
    j["type"] = spec_text(s);
    j["dtype"] = name_of(s.dtype);
    j["dims"] = Json::array_of(s.dims);
    j["symbols"] = Json::array_of(s.symbols);
    if (s.is_map()) j["keys"] = s.keys;
    list.push(std::move(j));
  }
  return list;
}

template <class T>
Json model_json(const InspectArgs& args, const T& model, const GraphCounts* counts) {
  const ModelMetadata& m = model.metadata();
  Json j;
  j["model"] = args.model;
  j["supported"] = true;
  j["graph"] = m.graph_name;
  j["producer"] = cat(m.producer_name, " ", m.producer_version);
  j["ir_version"] = m.ir_version;
  for (const auto& [domain, version] : m.opsets)
    j["opsets"][domain.empty() ? "ai.onnx" : domain] = version;
  j["metadata"] = Json::object();
  for (const auto& [key, value] : m.properties) j["metadata"][key] = value;
  j["inputs"] = specs_json(model.inputs());
  j["outputs"] = specs_json(model.outputs());
  if (!counts) return j;
  j["nodes"] = counts->nodes;
  j["operators"] = Json::object();
  for (const auto& [name, count] : counts->operators) j["operators"][name] = count;
  j["parameters"] = counts->elements;
  j["parameter_bytes"] = counts->bytes;
  return j;
}

// ---- what would run

bool is_fallback(const StepInfo& s) {
  return s.implementation == "reference";
}

std::string family_of(const StepInfo& s) {
  return s.op.substr(0, s.op.find('.'));
}

std::string fallback_line(const PlanInfo& plan) {
  std::map<std::string, int> families;
  int count = 0;
  for (const StepInfo& s : plan.steps) {
    if (!is_fallback(s)) continue;
    ++count;
    ++families[family_of(s)];
  }
  if (count == 0) return cat("no kernel of ", plan.steps.size(), " is a reference");
  std::string list;
  for (const auto& [name, n] : families) list += cat(list.empty() ? "" : ", ", name, " ", n);
  return cat(count, " of ", plan.steps.size(), " kernels are references: ", list);
}

std::string memory_line(const PlanInfo& plan) {
  const auto bytes = [](std::size_t n) { return bytes_text(static_cast<double>(n)); };
  return cat("arena ", bytes(plan.arena_bytes), " (at least ", bytes(plan.arena_lower_bound),
             ", unshared ", bytes(plan.unshared_bytes), "), weights ", bytes(plan.weight_bytes),
             plan.segments > 1 ? cat(", ", plan.segments, " segments") : "",
             stripes_text(plan.stripes),
             plan.is_searched ? "" : "; too large for a search, placed by lists");
}

// A line on the nodes that a device leaves to the CPU; "" if there are none.
std::string device_fallback_line(const PlanInfo& plan) {
  if (plan.fallbacks.empty()) return "";
  std::string list;
  for (const std::string& node : plan.fallbacks) list += cat(list.empty() ? "" : ", ", shown(node));
  return cat(plan.fallbacks.size(),
             " nodes have no kernel for the device and run on the CPU: ", list, "\n");
}

void show_plan(const PlanInfo& plan, const Console& console) {
  Table t({{"", Table::Align::right},
           {"node", Table::Align::left, 36},
           {"operator"},
           {"inputs", Table::Align::left, 48},
           {"layouts", Table::Align::left, 32},
           {"kernel", Table::Align::left, 48}});
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const StepInfo& s = plan.steps[i];
    t.add({cat(i), shown(s.node), s.op, s.shapes, s.layouts, s.implementation},
          is_fallback(s) ? Colour::yellow : Colour::none);
  }
  const bool any = std::ranges::any_of(plan.steps, is_fallback);
  print(cat("\n", t.text(console), "\n", memory_line(plan), "\n", need_text(plan.memory), "\n",
            console.paint(any ? Colour::yellow : Colour::green, fallback_line(plan)), "\n",
            console.paint(Colour::yellow, device_fallback_line(plan))));
}

Json plan_json(const PlanInfo& plan) {
  Json j;
  j["segments"] = plan.segments;
  j["arena_bytes"] = plan.arena_bytes;
  j["arena_lower_bound"] = plan.arena_lower_bound;
  j["unshared_bytes"] = plan.unshared_bytes;
  j["is_searched"] = plan.is_searched;
  j["weight_bytes"] = plan.weight_bytes;
  j["memory"] = need_json(plan.memory);
  j["fallbacks"] = std::ranges::count_if(plan.steps, is_fallback);
  j["summary"] = fallback_line(plan);
  j["device_fallbacks"] = Json::array_of(plan.fallbacks);
  j["steps"] = Json::array();
  for (const StepInfo& s : plan.steps) {
    Json step;
    step["node"] = s.node;
    step["op"] = s.op;
    step["shapes"] = s.shapes;
    step["layouts"] = s.layouts;
    step["implementation"] = s.implementation;
    step["flops"] = s.flops;
    step["bytes"] = s.bytes;
    j["steps"].push(std::move(step));
  }
  return j;
}

// Parts whose shapes depend on data are planned during a run, so this makes one run, which may
// fail.
Result<Opened> open_planned(const InspectArgs& args, const Console& console) {
  QUERN_ASSIGN(Opened o, open_model(args.model, args.inputs, args.device));
  note_assumptions(o, console);
  if (const Status status = o.session->run(); !status.ok()) {
    console.warn(
        cat("the run failed, what depends on its data is not planned: ", status.message()));
    QUERN_TRY(o.session->prepare());
  }
  return o;
}

// For a picture, which is drawn without kernels, too.
std::optional<Opened> open_drawn(const InspectArgs& args, const Console& console) {
  auto opened = open_planned(args, console);
  if (opened) return *std::move(opened);
  console.warn(cat("no plan can be made, kernels are not shown: ", opened.error().message()));
  return std::nullopt;
}

std::string needs_text(const ArtefactNeeds& needs) {
  std::string text;
  for (const std::string& name : needs.operators) text += cat("operator ", name, "\n");
  for (const std::string& name : needs.kernels) text += cat("kernel ", name, "\n");
  for (const DType dtype : needs.types) text += cat("type ", name_of(dtype), "\n");
  return text;
}

// Of an artefact, or of what `quern compile` would make of the model here.
Result<ExitCode> show_needs(const InspectArgs& args) {
  std::optional<ArtefactNeeds> needs;
  if (is_artefact_file(args.model)) {
    QUERN_ASSIGN(const OpenedFile file, open_file(args.model));
    QUERN_ASSIGN(needs, needs_of(file.bytes));
  } else {
    QUERN_ASSIGN(Model model, load_model(args.model, {}));
    QUERN_ASSIGN(const CompileOptions options, compile_options(args.device));
    QUERN_ASSIGN(const auto executable, Executable::compile(std::move(model), nullptr, options));
    QUERN_ASSIGN(const Artefact artefact, Artefact::make(executable));
    QUERN_ASSIGN(const auto bytes, artefact.in_memory());
    QUERN_ASSIGN(needs, needs_of({bytes.get(), artefact.contents().bytes}));
  }
  print(needs_text(*needs));
  return ExitCode::ok;
}

// What `quern compile` wrote.
Result<ExitCode> inspect_artefact(const InspectArgs& args, const Console& console) {
  if (!args.html.empty())
    return Status(Code::invalid_argument,
                  "--html draws a model, and this file is compiled: give the model it was made of");
  std::optional<Opened> opened;
  std::shared_ptr<const Executable> executable;
  if (args.plan) {
    QUERN_ASSIGN(opened, open_planned(args, console));
    executable = opened->executable;
  } else {
    QUERN_ASSIGN(auto device, device_named(args.device.device));
    QUERN_ASSIGN(const auto ops, load_ops(args.device.ops));
    QUERN_ASSIGN(executable, load_artefact(args.model, std::move(device), {.ops = ops}));
  }
  if (args.json) {
    Json j = model_json(args, *executable, nullptr);
    if (opened) j["plan"] = plan_json(opened->session->plan_info());
    print(j.document());
    return ExitCode::ok;
  }
  if (args.text && !args.plan) {
    print(executable->text());
    return ExitCode::ok;
  }
  show_metadata(args, executable->metadata(), nullptr, console);
  show_interface(*executable, console);
  if (args.text) print("\n" + executable->text());
  if (opened) show_plan(opened->session->plan_info(), console);
  return ExitCode::ok;
}

}  // namespace

Result<ExitCode> inspect_verb(const InspectArgs& args, const Console& console) {
  if (args.operators) {
    print(operators_markdown());
    return ExitCode::ok;
  }
  if (args.model.empty())
    return Status(Code::invalid_argument, "which model? `quern inspect MODEL`");
  if (args.needs) return show_needs(args);
  if (args.html.empty() && !args.profile.empty())
    return Status(Code::invalid_argument, "--profile colours the nodes of a page: add --html FILE");
  if (is_artefact_file(args.model)) return inspect_artefact(args, console);
  std::vector<std::string> problems;
  std::vector<std::string> warnings;
  QUERN_ASSIGN(const auto ops, load_ops(args.device.ops));
  auto model =
      load_onnx(model_file(args.model), {.ops = ops, .problems = &problems, .warnings = &warnings});
  if (!model && model.error().code() == Code::not_found) return std::move(model).error();
  if (!model) return report_problems(args, model.error(), std::move(problems), console);
  for (const std::string& w : warnings) console.warn(w);
  std::optional<Opened> opened;
  if (args.plan) {
    QUERN_ASSIGN(opened, open_planned(args, console));
  } else if (!args.html.empty()) {
    opened = open_drawn(args, console);
  }
  if (!args.html.empty())
    QUERN_TRY(write_graph_page(args, *model, opened ? &*opened : nullptr, console));
  if (!args.html.empty() && !args.plan && !args.text && !args.json) return ExitCode::ok;
  if (args.text && !args.plan) {
    print(model->text());
    return ExitCode::ok;
  }
  const GraphCounts counts = count_graph(model->graph());
  if (args.json) {
    Json j = model_json(args, *model, &counts);
    if (opened && args.plan) j["plan"] = plan_json(opened->session->plan_info());
    print(j.document());
    return ExitCode::ok;
  }
  show_metadata(args, model->metadata(), &counts, console);
  show_interface(*model, console);
  show_operators(counts, console);
  if (args.plan && args.text) print("\n" + opened->executable->text());
  if (args.plan) show_plan(opened->session->plan_info(), console);
  return ExitCode::ok;
}

}  // namespace quern::tools
