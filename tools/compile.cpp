// SPDX-License-Identifier: Apache-2.0
// quern compile: a model as one file that loads without rewriting, planning or packing.
#include <filesystem>
#include <span>

#include <quern/artefact.h>

#include "engine/vocabulary/text_util.h"
#include "engine/vocabulary/whole_file.h"
#include "tools/opened.h"
#include "tools/parse.h"
#include "tools/verbs.h"

namespace quern::tools {
namespace {

constexpr std::size_t most_plans = 64;

// Each combination of the numbers of dimensions that are lists: "batch=1,8".
Result<std::vector<InputArgs>> combinations(const InputArgs& args) {
  std::vector<InputArgs> sets(1, args);
  for (InputArgs& set : sets) set.dims.clear();
  for (const std::string& dim : args.dims) {
    const std::size_t at = dim.rfind('=');
    const std::string name = dim.substr(0, at == dim.npos ? 0 : at + 1);
    std::vector<InputArgs> longer;
    for (const InputArgs& set : sets)
      for (const std::string& number : split_list(dim.substr(name.size()))) {
        longer.push_back(set);
        longer.back().dims.push_back(name + number);
      }
    if (longer.size() > most_plans)
      return Status(Code::invalid_argument,
                    cat("these are ", longer.size(), " combinations of dimensions, at most ",
                        most_plans, " plans go into one file"));
    sets = std::move(longer);
  }
  return sets;
}

// The shapes of all inputs, where options and model say all of them; no shapes where they leave
// them open and no option says anything.
Result<std::vector<std::vector<Shape>>> shapes_of(const std::vector<ValueSpec>& specs,
                                                  const InputArgs& args) {
  std::vector<std::vector<Shape>> all;
  if (args.shapes.empty() && args.dims.empty()) return all;
  QUERN_ASSIGN(const auto sets, combinations(args));
  for (const InputArgs& set : sets) {
    QUERN_ASSIGN(const Dimensions dimensions, parse_dimensions(set, specs));
    std::vector<Shape>& shapes = all.emplace_back();
    for (const ValueSpec& spec : specs) {
      const std::vector<std::int64_t> dims = known_dims(spec, dimensions);
      for (std::size_t d = 0; d < dims.size(); ++d)
        if (dims[d] < 0)
          return Status(Code::invalid_argument,
                        cat("dimension ", d, " of input '", shown(spec.name), "' of ",
                            spec_text(spec), " is free: --dim or --shape decide"));
      shapes.emplace_back(dims);
    }
  }
  return all;
}

std::string out_path(const CompileArgs& args) {
  if (!args.out.empty()) return args.out;
  return model_name(args.model) + ".quern";
}

Json contents_json(const Artefact::Contents& c, const std::string& path,
                   std::span<const std::string> notes) {
  Json j;
  j["file"] = path;
  j["bytes"] = c.bytes;
  j["plans"] = c.plans;
  j["packed_bytes"] = c.packed_bytes;
  j["constant_bytes"] = c.constant_bytes;
  j["portable"] = c.is_portable;
  Json list = Json::array();
  for (const std::string& note : notes) {
    Json one;
    one["note"] = note;
    list.push(std::move(one));
  }
  j["notes"] = std::move(list);
  return j;
}

}  // namespace

Result<ExitCode> compile_verb(const CompileArgs& args, const Console& console) {
  if (is_artefact_file(args.model))
    return Status(Code::invalid_argument, "this file is compiled already");
  QUERN_ASSIGN(auto device, device_named(args.device.device));
  QUERN_ASSIGN(const CompileOptions options, compile_options(args.device));
  QUERN_ASSIGN(const auto ops, load_ops(args.device.ops));
  QUERN_ASSIGN(Model model,
               load_model(args.model, {.max_bytes = options.memory_limit, .ops = ops}));
  QUERN_ASSIGN(const auto shapes, shapes_of(model.inputs(), args.inputs));
  QUERN_ASSIGN(const auto executable,
               Executable::compile(std::move(model), std::move(device), options));
  QUERN_ASSIGN(const Artefact artefact,
               Artefact::make(executable, {.shapes = shapes, .is_portable = args.is_portable}));
  const std::string path = out_path(args);
  QUERN_TRY(quern::write_whole_file(path, artefact.pieces(), OnSignal::removes));
  const Artefact::Contents& c = artefact.contents();
  if (args.json) {
    print(contents_json(c, path, artefact.notes()).document());
    return ExitCode::ok;
  }
  for (const std::string& note : artefact.notes()) console.note(note);
  const auto bytes = [](std::size_t n) { return bytes_text(static_cast<double>(n)); };
  print(cat(shown(path), ": ", bytes(c.bytes), ", ", c.plans, c.plans == 1 ? " plan, " : " plans, ",
            bytes(c.packed_bytes), " of packed weights, ", bytes(c.constant_bytes),
            " as the model has them", c.is_portable ? "; portable" : ""));
  return ExitCode::ok;
}

}  // namespace quern::tools
