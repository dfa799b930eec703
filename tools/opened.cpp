// SPDX-License-Identifier: Apache-2.0
#include "tools/opened.h"

#include <filesystem>
#include <optional>
#include <utility>

#include <quern/artefact.h>
#include <quern/onnx.h>

#include "engine/vocabulary/platform/process.h"
#include "engine/vocabulary/text_util.h"
#include "tools/parse.h"
#include "tools/tuned.h"

namespace quern::tools {

Result<std::shared_ptr<const CustomOps>> load_ops(const std::vector<std::string>& files) {
  if (files.empty()) return std::shared_ptr<const CustomOps>();
  auto ops = std::make_shared<CustomOps>();
  for (const std::string& file : files) QUERN_TRY(ops->load(file));
  return std::shared_ptr<const CustomOps>(std::move(ops));
}

Result<Model> load_model(const std::string& path, const OnnxOptions& options) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const std::string inside = path + "/model.onnx";
    if (std::filesystem::exists(inside, ignored)) return load_onnx(inside, options);
    return Status(Code::not_found,
                  cat("'", shown(path, 200), "' is a folder without a model.onnx"));
  }
  return load_onnx(path, options);
}

Result<std::shared_ptr<Device>> device_named(const std::string& name) {
  auto device = open_device(name);
  if (!device) return Status(Code::device_lost, std::string(device.error().message()));
  return device;
}

namespace {

Result<std::vector<std::size_t>> request_outputs(Session& session,
                                                 const std::vector<std::string>& names) {
  std::vector<std::size_t> indices;
  for (const std::string& name : names) {
    QUERN_ASSIGN(indices.emplace_back(), session.output_index(name));
  }
  QUERN_TRY(session.request_outputs(indices));
  if (indices.empty())
    for (std::size_t i = 0; i < session.executable().outputs().size(); ++i) indices.push_back(i);
  return indices;
}

std::string guesses_text(const std::vector<InputValue>& inputs) {
  std::map<std::string, std::int64_t> guesses;
  for (const InputValue& v : inputs) guesses.insert(v.guesses.begin(), v.guesses.end());
  std::string text;
  for (const auto& [name, number] : guesses)
    text += cat(text.empty() ? "" : ", ", shown(name), "=", number);
  return text;
}

// With other guesses where the first ones do not fit the model.
Status prepare(Opened& o, const ModelMetadata& metadata, const InputArgs& inputs, double crop,
               const Fits& fits) {
  const bool is_guess = std::ranges::any_of(o.inputs, &InputValue::guessed_shape);
  const auto attempt = [&]() -> Status {
    QUERN_TRY(bind_inputs(*o.session, o.inputs));
    QUERN_TRY(o.session->prepare(o.deadline));
    // What a run alone finds out, such as the branch that is taken, may not go with a guess either.
    return is_guess && !o.session->plan_info().memory.is_complete ? o.session->run_until(o.deadline)
                                                                  : Status();
  };
  Status first = attempt();
  if (first.code() != Code::invalid_argument && first.code() != Code::invalid_model) return first;
  const std::vector<InputValue> guessed = o.inputs;
  for (const InputArgs& other : other_guesses(inputs, o.executable->inputs(), guessed)) {
    auto made = make_inputs(o.executable->inputs(), metadata, other, crop, fits);
    if (!made) continue;
    o.inputs = std::move(*made);
    if (!attempt().ok()) continue;
    for (std::size_t i = 0; i < guessed.size(); ++i)
      o.inputs[i].guessed_shape = guessed[i].guessed_shape;
    return {};
  }
  const std::string text = guesses_text(guessed);
  if (text.empty()) return first;
  return {first.code(),
          cat(first.message(), " (with ", text, ", which are guesses: --dim decides)")};
}

// 0 for an option that is not given.
Result<std::size_t> bytes_of(std::string_view option, const std::string& text) {
  if (text.empty()) return std::size_t{0};
  if (const auto bytes = parse_bytes(text)) return *bytes;
  return Status(Code::invalid_argument,
                cat(option, " ", shown(text), ": write bytes, such as 256MB"));
}

}  // namespace

Result<CompileOptions> compile_options(const DeviceArgs& device) {
  CompileOptions o;
  o.threads = device.threads;
  if (device.thread_pool == "on") {
    QUERN_ASSIGN(o.thread_pool, make_thread_pool(device.threads));
  }
  o.strategy = device.strategy;
  o.scratch = device.scratch == "on";
  o.stripes = device.stripes == "on";
  QUERN_ASSIGN(o.math, math_named(device.math));
  QUERN_ASSIGN(o.denormals, denormals_named(device.denormals));
  QUERN_ASSIGN(o.tuning, load_tuning(device));
  QUERN_ASSIGN(o.memory_limit, bytes_of("--memory-limit", device.memory_limit));
  QUERN_ASSIGN(o.arena_limit, bytes_of("--arena-limit", device.arena_limit));
  return o;
}

namespace {

// What is decided when an artefact is compiled cannot be given when it is opened.
Status refuse_compiled_options(const DeviceArgs& device, const OpenOptions& options) {
  const DeviceArgs usual;
  const std::string_view given = device.math != usual.math             ? "--math"
                                 : device.denormals != usual.denormals ? "--denormals"
                                 : device.strategy != usual.strategy   ? "--strategy"
                                 : device.scratch != usual.scratch     ? "--scratch"
                                 : device.stripes != usual.stripes     ? "--stripes"
                                 : device.tune                         ? "--tune"
                                 : !device.tuning.empty()              ? "--tuning"
                                 : !options.order                      ? "--order"
                                 : !options.alias                      ? "--alias"
                                                                       : "";
  if (given.empty()) return {};
  return {Code::invalid_argument,
          cat(given, " is decided by `quern compile`, and this file is compiled already")};
}

}  // namespace

Result<Opened> open_model(const std::string& path, const InputArgs& input_args,
                          const DeviceArgs& device, const OpenOptions& options) {
  QUERN_ASSIGN(auto opened_device, device_named(device.device.empty() ? "cpu" : device.device));
  Stopwatch watch;
  Opened o;
  o.wanted_threads = device.threads;
  if (options.time_limit_s > 0)
    o.deadline = std::chrono::steady_clock::now() +
                 std::chrono::microseconds(static_cast<std::int64_t>(options.time_limit_s * 1e6));
  QUERN_ASSIGN(CompileOptions compile, compile_options(device));
  compile.pool = options.pool;
  compile.order = options.order;
  compile.alias = options.alias;
  compile.deadline = o.deadline;
  InputArgs inputs = input_args;
  if (compile.memory_limit > 0) inputs.most_bytes = compile.memory_limit;
  QUERN_ASSIGN(const auto ops, load_ops(device.ops));
  const bool is_compiled = is_artefact_file(path);
  if (is_compiled) QUERN_TRY(refuse_compiled_options(device, options));
  std::optional<Model> model;
  Fits fits;
  if (!is_compiled) {
    QUERN_ASSIGN(
        model,
        load_model(path, {.max_bytes = compile.memory_limit, .deadline = o.deadline, .ops = ops}));
    o.phases.load_ms = watch.lap();
    fits = fits_of(model->graph());
    QUERN_ASSIGN(o.inputs, make_inputs(model->inputs(), model->metadata(), inputs,
                                       options.default_crop, fits));
    watch.lap();
  }
  if (is_compiled) {
    QUERN_ASSIGN(o.executable,
                 load_artefact(path, std::move(opened_device), {.compile = compile, .ops = ops}));
    o.phases.load_ms = watch.lap();
    QUERN_ASSIGN(o.inputs, make_inputs(o.executable->inputs(), o.executable->metadata(), inputs,
                                       options.default_crop));
    watch.lap();
  } else {
    if (device.tune) QUERN_TRY(tune_model(*model, o.inputs, device, options.console, compile));
    o.tuning = compile.tuning;
    watch.lap();
    QUERN_ASSIGN(o.executable,
                 Executable::compile(*std::move(model), std::move(opened_device), compile));
    o.phases.compile_ms = watch.lap();
  }
  const ModelMetadata metadata = o.executable->metadata();
  QUERN_ASSIGN(o.session, Session::create(o.executable));
  QUERN_ASSIGN(o.outputs, request_outputs(*o.session, options.outputs));
  QUERN_TRY(prepare(o, metadata, inputs, options.default_crop, fits));
  o.phases.plan_ms = watch.lap();
  return o;
}

std::string property_of(const DeviceInfo& device, std::string_view name) {
  for (const auto& [key, value] : device.properties)
    if (key == name) return value;
  return {};
}

void note_assumptions(const Opened& opened, const Console& console) {
  static bool has_warned = false;
  if (const std::string warning = opened.session->plan_info().warning;
      !warning.empty() && !std::exchange(has_warned, true))
    console.warn(warning);
  if (const int used = opened.session->threads(); used < opened.wanted_threads)
    console.note(
        cat(opened.wanted_threads, " threads were asked for, this process may use ", used));
  const auto& specs = opened.executable->inputs();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const InputValue& v = opened.inputs[i];
    if (!v.generated()) continue;
    console.note(cat("input '", shown(specs[i].name), "' is generated: ", v.text(),
                     v.guessed_shape ? cat(", its free dimensions are a guess; the model says ",
                                           spec_text(specs[i]), ", --shape or --dim decide")
                                     : ""));
  }
}

Held held_bytes(const Session& session) {
  return {session.plan_info().weight_bytes, session.resident_bytes(),
          platform::peak_resident_bytes()};
}

std::string memory_text(const Session& session) {
  const Held held = held_bytes(session);
  return cat("weights ", bytes_text(static_cast<double>(held.weights)), ", session ",
             bytes_text(static_cast<double>(held.session)), ", process ",
             bytes_text(static_cast<double>(held.peak_process)));
}

Json memory_json(const Session& session) {
  const Held held = held_bytes(session);
  Json j;
  j["weights"] = held.weights;
  j["session"] = held.session;
  j["process_peak"] = held.peak_process;
  return j;
}

Json need_json(const MemoryNeed& need) {
  Json j;
  j["weights"] = need.weights;
  j["arena"] = need.arena;
  j["scratch"] = need.scratch;
  j["staging"] = need.staging;
  j["pool"] = need.pool;
  j["total"] = need.total();
  j["is_complete"] = need.is_complete;
  return j;
}

std::string_view stripes_text(Stripes stripes) {
  switch (stripes) {
    case Stripes::none: break;
    case Stripes::limit: return ", in stripes of rows";
    case Stripes::cache: return ", in stripes of rows that stay in the cache";
  }
  return "";
}

std::string need_text(const MemoryNeed& need) {
  const auto bytes = [](std::size_t n) { return bytes_text(static_cast<double>(n)); };
  return cat("a session holds at most ", bytes(need.total()), ": weights ", bytes(need.weights),
             ", arena ", bytes(need.arena), ", pool ", bytes(need.pool),
             need.is_complete ? "" : ", and what other data make of loops and shapes");
}

Json phases_json(const Phases& phases) {
  Json j;
  j["load"] = phases.load_ms;
  j["compile"] = phases.compile_ms;
  j["plan"] = phases.plan_ms;
  return j;
}

Json inputs_json(const Opened& opened) {
  Json list = Json::array();
  const auto& specs = opened.executable->inputs();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    Json j;
    j["name"] = specs[i].name;
    j["type"] = opened.inputs[i].text();
    j["from"] = opened.inputs[i].origin;
    list.push(std::move(j));
  }
  return list;
}

std::string model_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? path + "/model.onnx" : path;
}

std::string model_name(const std::string& path) {
  const std::filesystem::path p = std::filesystem::path(path).lexically_normal();
  const std::string stem =
      p.filename() == "model.onnx" ? p.parent_path().filename().string() : p.stem().string();
  return stem.empty() ? "model" : stem;
}

}  // namespace quern::tools
