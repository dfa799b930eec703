// SPDX-License-Identifier: Apache-2.0
#include "tools/against/against.h"

#include <algorithm>
#include <filesystem>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/onnx_parser.h"
#include "tools/cases.h"
#include "tools/children.h"
#include "tools/data_set.h"
#include "tools/opened.h"
#include "tools/parse.h"
#include "tools/whole_file.h"

namespace quern::tools {
namespace {

// ---- the investigation ------------------------------------------------------------------------

// Everything by name: what the judge says, of the model as it is and with every value handed out.
Result<KnownValues> ask(const SourceModel& model, const Party& judge,
                        const std::vector<InputValue>& inputs) {
  KnownValues known;
  for (std::size_t i = 0; i < inputs.size(); ++i) known[model.inputs()[i]] = inputs[i];
  for (const Cut& cut : {model.all_values(), model.whole()}) {
    QUERN_ASSIGN(const std::string bytes, model.bytes(cut, known));
    auto evaluated = judge.evaluate(bytes, model.folder(), inputs);
    if (!evaluated) return std::move(evaluated).error().in(judge.name);
    for (std::size_t i = 0; i < cut.outputs.size(); ++i)
      known[cut.outputs[i]] = std::move(evaluated->outputs[i]);
  }
  return known;
}

Cut up_to(const SourceModel& model, const std::string& value) {
  Cut cut = model.all_values();
  cut.nodes.resize(*model.maker(value) + std::size_t{1});
  std::erase_if(cut.outputs,
                [&](const std::string& name) { return *model.maker(name) >= cut.nodes.size(); });
  return cut;
}

// The first node by itself if that shows it; else the smallest part of what shows it.
std::optional<Cut> find_cut(const SourceModel& model, const Finding& f, Bisection& bisection) {
  if (const PartingValue* first = f.values.first()) {
    const Cut alone = bisection.alone(*model.maker(first->name));
    if (auto cut = bisection.smallest(alone)) return cut;
  }
  if (f.outputs.first())
    if (auto cut = bisection.smallest(model.whole())) return cut;
  if (const PartingValue* first = f.values.first())
    return bisection.smallest(up_to(model, first->name));
  return std::nullopt;
}

// A value as the file that the ONNX backend tests have of it.
Status write_value(const std::string& path, const std::string& name, const InputValue& value) {
  OnnxValue v{.name = name, .present = value.kind != InputValue::Kind::none};
  if (value.kind == InputValue::Kind::sequence) v.kind = ValueType::Kind::sequence;
  v.tensors = value.tensors;
  return write_tensor_file(path, v);
}

Status write_case(const std::string& folder, const SourceModel& model, const Cut& cut,
                  const KnownValues& known) {
  const std::string set = folder + "/test_data_set_0";
  std::error_code error;
  std::filesystem::create_directories(set, error);
  if (error)
    return {Code::invalid_argument,
            cat("cannot make folder '", shown(set, 200), "': ", error.message())};
  QUERN_ASSIGN(const std::string bytes, model.bytes(cut, known, SourceModel::External::inside));
  QUERN_TRY(write_whole_file(folder + "/model.onnx", bytes));
  const auto given = model.inputs_of(cut, known);
  for (std::size_t i = 0; i < given.size(); ++i)
    QUERN_TRY(write_value(cat(set, "/input_", i, ".pb"), given[i], known.at(given[i])));
  for (std::size_t i = 0; i < cut.outputs.size(); ++i)
    QUERN_TRY(
        write_value(cat(set, "/output_", i, ".pb"), cut.outputs[i], known.at(cut.outputs[i])));
  return {};
}

}  // namespace

Result<Finding> investigate(const Investigation& what, const std::vector<InputValue>& inputs) {
  const SourceModel& model = what.model;
  QUERN_ASSIGN(const KnownValues known, ask(model, what.judge, inputs));
  Bisection bisection(model, what.tested.evaluate, known, what.criterion);
  Finding f;
  for (const auto& [name, value] : known) f.types[name] = value.text();
  auto outputs = bisection.run(model.whole());
  if (!outputs) return std::move(outputs).error().in(what.tested.name);
  f.outputs = *std::move(outputs);
  auto values = bisection.run(model.all_values());
  if (values)
    f.values = *std::move(values);
  else
    f.values_refused = values.error().message();
  if (what.bisect == Bisect::no || !f.parts()) return f;
  f.cut = find_cut(model, f, bisection);
  if (f.cut) f.cut_inputs = model.inputs_of(*f.cut, known);
  f.out_of_time = bisection.out_of_time();
  f.runs = bisection.runs();
  if (!f.cut) return f;
  QUERN_ASSIGN(f.cut_trial, bisection.run(*f.cut));
  if (what.write.empty()) return f;
  QUERN_TRY(write_case(what.write, model, *f.cut, known));
  f.written = what.write;
  return f;
}

// ---- the verb ---------------------------------------------------------------------------------

namespace {

struct Inputs {
  std::string origin;
  std::vector<InputValue> values;
};

bool are_asked_for(const InputArgs& a) {
  return !a.inputs.empty() || !a.data_set.empty() || !a.shapes.empty() || !a.dims.empty() ||
         a.seed != 0;
}

// The data sets beside the model, unless inputs were asked for; without any, generated ones.
Result<std::vector<Inputs>> all_inputs(const VerifyArgs& args, const std::string& path,
                                       const std::shared_ptr<const CustomOps>& ops) {
  QUERN_ASSIGN(const Model model, load_model(path, {.ops = ops}));
  std::vector<Inputs> all;
  if (!are_asked_for(args.inputs)) {
    const auto cases = find_cases({path});
    for (const std::string& folder : cases ? cases->front().sets : std::vector<std::string>()) {
      QUERN_ASSIGN(DataSet set, read_set(folder, model.inputs(), model.outputs()));
      all.push_back({set.name, std::move(set.inputs)});
    }
  }
  if (!all.empty()) return all;
  QUERN_ASSIGN(auto made, make_inputs(model.inputs(), model.metadata(), args.inputs, 1,
                                      fits_of(model.graph())));
  const bool generated = std::ranges::any_of(made, &InputValue::generated);
  all.push_back({generated ? cat("generated inputs, seed ", args.inputs.seed) : "the given inputs",
                 std::move(made)});
  return all;
}

Result<Party> party(const std::string& name, const CompileOptions& options,
                    std::shared_ptr<const CustomOps> ops) {
  QUERN_ASSIGN(auto device, device_named(name));
  return Party{name, device_evaluator(std::move(device), options, std::move(ops))};
}

// In the process that opens the devices.
Result<ExitCode> compare_devices(const VerifyArgs& args, const Console& console,
                                 std::string& text) {
  QUERN_ASSIGN(const SourceModel model, SourceModel::open(args.paths[0]));
  QUERN_ASSIGN(const auto ops, load_ops(args.ops));
  QUERN_ASSIGN(const auto inputs, all_inputs(args, args.paths[0], ops));
  const int threads = static_cast<int>(parse_integer(args.threads).value_or(0));
  QUERN_ASSIGN(const Party tested, party(args.device, {.threads = threads}, ops));
  QUERN_ASSIGN(const Party judge, party(args.against, options_of_judge(args.against), ops));
  Investigation what{model, tested, judge, {}, args.bisect ? Bisect::yes : Bisect::no, args.write};
  what.criterion.rtol = args.rtol;
  what.criterion.atol = args.atol;
  what.criterion.of_largest = args.mtol;
  Json sets = Json::array();
  bool parts = false;
  for (const Inputs& set : inputs) {
    QUERN_ASSIGN(Finding f, investigate(what, set.values));
    f.inputs = set.origin;
    text += finding_text(what, f, console);
    sets.push(finding_json(what, f));
    parts = parts || f.parts();
    if (parts) break;  // one is enough to work on
  }
  if (args.json) {
    Json j;
    j["model"] = args.paths[0];
    j["device"] = args.device;
    j["against"] = args.against;
    j["agree"] = !parts;
    j["data_sets"] = std::move(sets);
    text = j.document();
  }
  return parts ? ExitCode::failed : ExitCode::ok;
}

}  // namespace

Result<ExitCode> verify_against(const VerifyArgs& args, const Console& console) {
  if (args.paths.size() != 1)
    return Status(Code::invalid_argument, "--against compares one model: give one path");
  if (!args.write.empty() && !args.bisect)
    return Status(Code::invalid_argument, "--write wants --bisect, which makes what is written");
  // In a child, so that a kernel that crashes is told from one that answers wrongly.
  Result<ExitCode> result = ExitCode::failed;
  run_in_children(
      1, {.timeout_s = std::max(args.timeout_s, 900.0)},
      [&](std::size_t) {
        std::string text;
        const auto code = compare_devices(args, console, text);
        return code ? cat(static_cast<int>(*code), "\n", text)
                    : cat("e", static_cast<int>(code.error().code()), "\n", code.error().message());
      },
      [&](std::size_t, const ChildResult& child) {
        const std::size_t line = child.answer.find('\n');
        if (child.how == ChildResult::How::timed_out) {
          result = Status(Code::busy, "the comparison took too long (--timeout)");
        } else if (child.how == ChildResult::How::crashed || line == std::string::npos) {
          result = Status(Code::internal, cat("the process crashed: ", child.why));
        } else if (child.answer[0] == 'e') {
          const auto code = parse_integer(child.answer.substr(1, line - 1)).value_or(0);
          result = Status(static_cast<Code>(code), child.answer.substr(line + 1));
        } else {
          print(child.answer.substr(line + 1));
          result = static_cast<ExitCode>(child.answer[0] - '0');
        }
      });
  return result;
}

}  // namespace quern::tools
