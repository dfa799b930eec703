// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/lab.h"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/vocabulary/text_util.h"
#include "graph/graph.h"
#include "tools/kernel/own.h"
#include "tools/levers.h"
#include "tools/opened.h"
#include "tools/parse.h"

namespace quern::tools::lab {
namespace {

// The plainest loops do some hundred million operations a second, and each set of inputs is
// evaluated.
constexpr double most_checked_flops = 3e11;
constexpr double many_flops = 2e9;

double planned_flops(const Session& session) {
  double flops = 0;
  for (const StepInfo& step : session.plan_info().steps) flops += step.flops;
  return flops;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string s;
  for (const std::string& name : names) s += cat(s.empty() ? "" : ", ", name);
  return s;
}

// Every implementation, the fast ones at each level of instructions below this CPU's as well.
std::vector<std::string> all_names(const Contender& any) {
  std::vector<std::string> names = any.entries();
  for (const std::string& level : lower_simd_levels())
    for (const std::string& entry : any.entries())
      if (entry != "reference") names.push_back(cat(entry, "@", level));
  return names;
}

}  // namespace

std::vector<std::string> split_devices(std::string_view list) {
  constexpr std::array<std::string_view, 7> beginnings = {
      "cpu", "reference", "null", "vulkan", "automatic", "high-performance", "low-power"};
  std::vector<std::string> devices;
  for (const std::string& part : split_list(list)) {
    const bool begins = std::ranges::any_of(
        beginnings, [&](std::string_view name) { return part.starts_with(name); });
    if (begins || devices.empty())
      devices.push_back(part);
    else
      devices.back() += "," + part;
  }
  return devices;
}

// A problem on its way: the answers are found once for each arithmetic of a device.
struct Lab::Task {
  const Problem& problem;
  Model model;
  double flops = 0;
  std::map<Arithmetic, Answers> answers = {};
};

Result<std::unique_ptr<Lab>> Lab::open(const KernelArgs& args, const Console& console) {
  std::unique_ptr<Lab> lab(new Lab(args, console));
  lab->device_names_ = split_devices(args.device.device);
  for (const std::string& name : lab->device_names_) {
    QUERN_ASSIGN(lab->devices_.emplace_back(), device_named(name));
    QUERN_TRY(validate_own_shaders(name));
  }
  if (lab->devices_.empty()) return Status(Code::invalid_argument, "--device names no device");
  QUERN_ASSIGN(lab->ops_, load_ops(args.device.ops));
  QUERN_ASSIGN(lab->compile_, compile_options(args.device));
  if (!args.between.empty()) {
    const auto bytes = parse_bytes(args.between);
    if (!bytes || args.cold)
      return Status(Code::invalid_argument,
                    cat("--between ", shown(args.between),
                        args.cold ? ": with --cold nothing is left in caches anyway"
                                  : ": write bytes, such as 40MB"));
    lab->between_bytes_ = *bytes;
    if (*bytes > 0) lab->others_ = std::make_unique<OtherMemory>(*bytes);
  }
  lab->load_before_ = machine_load();
  if (args.cold) {
    Progress progress(console);
    progress.update("how caches are evicted");
    lab->evictor_ = std::make_unique<CacheEvictor>();
  }
  return lab;
}

ReportContext Lab::context() const {
  ReportContext c{.mode = args_.cold ? "cold"
                          : others_
                              ? cat("behind ", bytes_text(static_cast<double>(between_bytes_)))
                              : "warm",
                  .math = args_.device.math,
                  .command = command_line(),
                  .load_before = load_before_,
                  .load_after = machine_load()};
  if (!evictor_) return c;
  c.evicted_bytes = evictor_->bytes();
  c.warm_line_ns = evictor_->warm_ns();
  c.cold_line_ns = evictor_->cold_ns();
  return c;
}

Result<const Answers*> Lab::answers_of(Task& task, const Device& device,
                                       std::string_view entry) const {
  const Arithmetic arithmetic = arithmetic_of(device.info().name, entry);
  if (const auto found = task.answers.find(arithmetic); found != task.answers.end())
    return &found->second;
  Progress progress(console_);
  progress.update("the right answers");
  QUERN_ASSIGN(Answers answers,
               Answers::make(task.problem, task.model,
                             {.arithmetic = arithmetic,
                              .math = compile_.math,
                              .sets = task.flops > many_flops ? std::size_t{2} : std::size_t{3},
                              .seed = args_.seed}));
  return &task.answers.emplace(arithmetic, std::move(answers)).first->second;
}

ContenderOptions Lab::options_for(const Device& device, std::string_view entry) const {
  ContenderOptions o{.name = std::string(entry),
                     .entry = std::string(entry),
                     .compile = compile_,
                     .with_reorders = args_.with_reorders,
                     .evictor = evictor_.get(),
                     .others = others_.get(),
                     .between_bytes = between_bytes_,
                     .seed = args_.seed};
  o.compile.implementation = entry;
  // As it was asked for: one device may be there twice, with other options.
  for (std::size_t i = 0; entry.empty() && i < devices_.size(); ++i)
    if (devices_[i].get() == &device) o.name = device_names_[i];
  return o;
}

Status Lab::enter_named(Task& task, const std::shared_ptr<Device>& device, std::string_view entry,
                        Contenders& into) {
  QUERN_ASSIGN(const Answers* answers, answers_of(task, *device, entry));
  QUERN_ASSIGN(auto contender,
               LocalContender::make(task.model, device, *answers, options_for(*device, entry)));
  if (contender->entry() == entry || entry.empty())
    into.push_back(std::move(contender));
  else if (args_.impl != "all")
    console_.note(cat("implementation '", printable(entry), "' does not compute this problem; ",
                      "there is: ", list_of(contender->entries())));
  return {};
}

// Operators of the host that have the name of the problem's, where they take it.
Status Lab::enter_own(Task& task, const std::shared_ptr<Device>& device, Contenders& into) {
  if (!ops_ || device->info().name != "cpu") return {};
  for (const OwnKernel& own : own_kernels(task.problem, *ops_)) {
    QUERN_ASSIGN(const Answers* answers, answers_of(task, *device));
    ContenderOptions options = options_for(*device, "");
    options.name = own.name;
    const auto model = build_problem(own.problem, args_.seed, ops_);
    auto contender = model ? LocalContender::make(*model, device, *answers, std::move(options))
                           : Result<std::unique_ptr<Contender>>(model.error().copy());
    if (contender)
      into.push_back(std::move(*contender));
    else
      console_.note(cat(printable(own.name), " does not take part: ", contender.error().message()));
  }
  return {};
}

// One contender of a device, or one for each implementation that is asked for.
Status Lab::enter(Task& task, const std::shared_ptr<Device>& device, Contenders& into) {
  const bool is_host = device->info().kind == DeviceInfo::Kind::cpu;
  if (args_.impl.empty() || !is_host || device->info().name != "cpu")
    return enter_named(task, device, "", into);
  std::vector<std::string> names = split_list(args_.impl);
  if (args_.impl == "all") {
    Contenders first;
    QUERN_TRY(enter_named(task, device, "", first));
    names = all_names(*first.at(0));
    if (names.empty()) into.push_back(std::move(first[0]));  // an operator without kernels: a copy
  }
  for (const std::string& name : names) {
    const LeveledName leveled = parse_leveled(name);
    QUERN_TRY(leveled.level.empty() ? enter_named(task, device, leveled.entry, into)
                                    : enter_leveled(task, leveled, into));
  }
  return {};
}

// An implementation with fewer instructions than this CPU has. Of all, those that are no other
// kernel then do not enter.
Status Lab::enter_leveled(const Task& task, const LeveledName& name, Contenders& into) {
  QUERN_TRY(parse_levers(cat("simd=", name.level)).status());
  Progress progress(console_);
  progress.update(cat(name.entry, "@", name.level));
  QUERN_ASSIGN(auto contender,
               RemoteContender::start(task.problem.text, args_, name.entry, name.level));
  const bool is_known = std::ranges::any_of(into, [&](const auto& other) {
    return other->info().implementation == contender->info().implementation;
  });
  if (args_.impl == "all" && (contender->entry() != name.entry || is_known)) return {};
  into.push_back(std::move(contender));
  return {};
}

void Lab::note_own_reference(const Problem& problem) const {
  if (!ops_) return;
  for (const CustomOpInfo& info : ops_->list())
    if (problem.op == cat(info.domain, ".", info.name) && !info.has_reference)
      console_.note(cat(printable(problem.op), " has no reference: it is held to itself"));
}

Result<Lab::Task> Lab::task_for(const Problem& problem) {
  QUERN_ASSIGN(Model model, build_problem(problem, args_.seed, ops_));
  if (model.graph().inputs().empty())
    return Status(Code::invalid_argument,
                  cat("problem '", printable(problem.text, 120),
                      "' has no input: what is the same in each call is computed before"));
  Task task{.problem = problem, .model = std::move(model)};
  QUERN_ASSIGN(const auto cpu, device_named("cpu"));
  QUERN_ASSIGN(const auto executable, Executable::compile(task.model.clone(), cpu, compile_));
  QUERN_ASSIGN(const auto planned, Session::create(executable));
  const std::vector<OperandSpec> inputs = inputs_of(problem, task.model);
  std::vector<Tensor> numbers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    QUERN_ASSIGN(numbers.emplace_back(), generate_elements(inputs[i], args_.seed));
    QUERN_TRY(planned->set_input(i, numbers.back().view()));
  }
  QUERN_TRY(planned->prepare());
  task.flops = planned_flops(*planned);
  if (task.flops > most_checked_flops)
    return Status(Code::invalid_argument,
                  cat("problem '", printable(problem.text, 120), "' has ", count_text(task.flops),
                      "FLOP, which to check takes too long: at most ",
                      count_text(most_checked_flops), " are taken"));
  note_own_reference(problem);
  return task;
}

Status Lab::enter_all(Task& task, Contenders& into) {
  for (const auto& device : devices_) {
    QUERN_TRY(enter(task, device, into));
    QUERN_TRY(enter_own(task, device, into));
  }
  if (!into.empty()) return {};
  return {Code::invalid_argument, "no implementation that was named computes this problem"};
}

Status Lab::serve(const Problem& problem) {
  QUERN_ASSIGN(Task task, task_for(problem));
  QUERN_ASSIGN(const Answers* answers, answers_of(task, *devices_[0], args_.impl));
  // Where another implementation takes the problem, whoever asks is told so.
  QUERN_ASSIGN(const auto contender, LocalContender::make(task.model, devices_[0], *answers,
                                                          options_for(*devices_[0], args_.impl)));
  lab::serve(*contender);
  return {};
}

Result<ProblemResult> Lab::run(const Problem& problem) {
  QUERN_ASSIGN(Task task, task_for(problem));
  Contenders contenders;
  QUERN_TRY(enter_all(task, contenders));
  Progress progress(console_);
  ProblemResult result{.problem = problem};
  if (!task.answers.empty()) result.judge = task.answers.begin()->second.judge();
  result.kernels =
      measure(contenders, {.time_s = args_.time_s,
                           .precision = args_.precision / 100,
                           .seed = args_.seed,
                           .energy = energy_.can_read() && !args_.cold ? &energy_ : nullptr,
                           .progress = [&](std::string_view text) { progress.update(text); }});
  const LeastWork work = least_work(problem, task.model, compile_.math);
  for (Measured& m : result.kernels) {
    const auto device =
        std::ranges::find(devices_, m.info.device,
                          [](const auto& d) -> const std::string& { return d->info().name; });
    QUERN_TRY(refuse_impossible(m, work, **device, roofs_));
    QUERN_ASSIGN(result.roofs.emplace_back(), roofs_.of(**device, m.info.threads));
  }
  return result;
}

}  // namespace quern::tools::lab
