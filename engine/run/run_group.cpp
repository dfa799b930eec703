// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include <quern/run_group.h>

#include "engine/run/flight.h"
#include "engine/run/session_impl.h"
#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/host_memory.h"
#include "engine/vocabulary/text_util.h"

namespace quern {

struct RunGroup::Impl {
  std::shared_ptr<SharedFlight> flight;
  std::size_t output_bytes = 0;  // of all sessions
};

namespace {

// Inputs of these types without elements: what depends on elements is not planned.
Result<std::vector<RuntimeValue>> group_inputs(const Executable& executable,
                                               const std::vector<TensorType>& types) {
  const std::vector<ValueSpec>& specs = executable.inputs();
  if (!types.empty() && types.size() != specs.size())
    return Status(Code::invalid_argument, cat("a group was given the types of ", types.size(),
                                              " inputs, the model has ", specs.size()));
  std::vector<RuntimeValue> values(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const ValueSpec& s = specs[i];
    const auto name = cat("input '", printable(s.name), "'");
    if (s.is_sequence() || s.is_optional())
      return Status(Code::unsupported,
                    cat(name, " is a sequence or optional; runs of a group want tensors"));
    TensorType type;
    if (!types.empty()) {
      type = types[i];
      bool fits = type.dtype == s.dtype && type.shape.checked_elements(size_of(type.dtype));
      fits = fits && (!s.has_rank || s.dims.size() == type.shape.rank());
      for (std::size_t d = 0; fits && s.has_rank && d < s.dims.size(); ++d)
        fits = s.dims[d] < 0 || s.dims[d] == type.shape[d];
      if (!fits)
        return Status(Code::invalid_argument,
                      cat(name, " cannot be ", type.text(), " in this model"));
    } else {
      if (!s.has_rank || std::ranges::any_of(s.dims, [](std::int64_t d) { return d < 0; }))
        return Status(Code::invalid_argument,
                      cat(name, " has no declared shape; name the types of the group's inputs"));
      type = {s.dtype, Shape(s.dims)};
    }
    values[i].tensors.push_back({type, nullptr});
  }
  return values;
}

// The elements of a sequence lie in the arena, where other runs would write over them.
Status check_outputs(const Executable& executable) {
  for (const ValueSpec& s : executable.outputs())
    if (s.is_sequence() || s.is_optional())
      return {Code::unsupported, cat("output '", printable(s.name),
                                     "' is a sequence or optional; runs of a group want tensors")};
  return {};
}

Status check_static(const PlanNode& node) {
  if (!node.segment.rest && node.controls.empty()) return {};
  return {Code::unsupported,
          "runs in flight want one static plan; this model has loops, or shapes or branches that "
          "depend on data"};
}

Status check_group_limits(const Executable::Impl& e, std::size_t arena) {
  const CompileOptions& o = e.options;
  const auto refuse = [&](std::size_t most) {
    return Status(Code::out_of_memory,
                  cat("the runs in flight need an arena of ", arena, " bytes, allowed are ", most));
  };
  if (o.arena_limit && arena > o.arena_limit) return refuse(o.arena_limit);
  if (!o.memory_limit) return {};
  const std::size_t left = o.memory_limit - std::min(o.memory_limit, e.weight_bytes());
  return MemoryBlock::size_for(arena) > left ? refuse(left) : Status();
}

// Bytes of all; nullopt without memory.
std::optional<std::size_t> reserve_outputs(const Program& program, std::vector<MemoryBlock>& blocks,
                                           const PlanNode& node) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const ResultRef& result = node.segment.results[i];
    if (result.whole_slot || result.tensors.size() != 1) continue;
    std::size_t size = 0;
    for (std::size_t k = 0; k < node.segment.outputs.size(); ++k)
      if (node.segment.outputs[k] == result.tensors[0].slot) size = program.outputs[k].bytes();
    for (std::size_t k = 0; k < node.segment.inputs.size(); ++k)
      if (node.segment.inputs[k].slot == result.tensors[0].slot) size = program.inputs[k].bytes();
    if (size == 0) continue;
    if (!blocks[i].reserve(size)) return std::nullopt;
    bytes += blocks[i].size();
  }
  return bytes;
}

}  // namespace

RunGroup::RunGroup(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunGroup::~RunGroup() = default;

Result<std::unique_ptr<RunGroup>> RunGroup::create(std::shared_ptr<const Executable> executable,
                                                   std::size_t runs,
                                                   const RunGroupOptions& options) {
  return guarded([&]() -> Result<std::unique_ptr<RunGroup>> {
    if (!executable) return Status(Code::invalid_argument, "a group wants an executable");
    if (runs < 1 || runs > most_runs)
      return Status(Code::invalid_argument,
                    cat("a group of ", runs, " runs; 1 to ", most_runs, " are possible"));
    if (options.threads < 0)
      return Status(Code::invalid_argument, cat("runs of ", options.threads, " threads"));
    const Executable::Impl& e = executable->impl();
    const HostScope scope(e.options.host);
    QUERN_TRY(check_outputs(*executable));
    if (e.backend)
      return Status(Code::unsupported, cat("runs in flight are for the CPU, the executable is for ",
                                           executable->device().info().name));
    const SessionOptions session_options{.threads = options.threads,
                                         .thread_pool = options.thread_pool};
    const Team team = e.team_of(session_options);
    QUERN_ASSIGN(const std::vector<RuntimeValue> inputs, group_inputs(*executable, options.inputs));
    std::vector<std::size_t> wanted(executable->outputs().size());
    std::iota(wanted.begin(), wanted.end(), 0);
    PlanKey key = root_key(team, wanted, inputs);
    const Stop stop(StopSignals{nullptr, e.options.deadline});
    QUERN_ASSIGN(auto node, e.plans->root(key, inputs, wanted, team, &stop));
    QUERN_TRY(check_static(*node));
    const PlanOptions& planning = e.plans->options();
    if (!planning.maker) return no_plan_maker("runs in flight want a search for their places");
    const Strategy& strategy =
        planning.strategy ? *planning.strategy : planning.maker->default_strategy();
    QUERN_ASSIGN(FlightPlan plan, plan_flight(*node->program, runs, strategy, &stop));
    QUERN_TRY(check_group_limits(e, plan.arena_bytes));
    auto flight = std::make_shared<SharedFlight>(std::move(node), std::move(key), std::move(plan));
    if (!flight->arena.reserve(flight->plan.arena_bytes))
      return Status(Code::out_of_memory,
                    cat("no ", flight->plan.arena_bytes, " bytes for the arena of the runs"));
    std::unique_ptr<RunGroup> group(new RunGroup(std::make_unique<Impl>(Impl{flight, 0})));
    for (std::size_t run = 0; run < runs; ++run) {
      QUERN_ASSIGN(auto session, Session::create(executable, session_options));
      Session::Impl& s = *session->impl_;
      s.runner.join(flight, run);
      s.flight_group = flight;
      s.own_outputs.resize(wanted.size());
      const auto bytes = reserve_outputs(*flight->node->program, s.own_outputs, *flight->node);
      if (!bytes) return Status(Code::out_of_memory, "no memory for the outputs of the runs");
      group->impl_->output_bytes += *bytes;
      group->sessions_.push_back(std::move(session));
    }
    return group;
  });
}

Status RunGroup::run() {
  std::size_t submitted = 1;
  Status first;
  const auto note = [&](Status status) {
    if (first.ok()) first = std::move(status);
  };
  Status refused;
  for (; submitted < sessions_.size(); ++submitted) {
    refused = sessions_[submitted]->submit();
    if (!refused.ok()) break;
  }
  if (refused.ok()) note(sessions_[0]->run());
  for (std::size_t i = 1; i < submitted; ++i) note(sessions_[i]->wait());
  note(std::move(refused));
  return first;
}

RunGroupCounters RunGroup::counters() const {
  return impl_->flight->gate.counters();
}

std::size_t RunGroup::arena_bytes() const {
  return impl_->flight->plan.arena_bytes;
}

std::size_t RunGroup::resident_bytes() const {
  std::size_t bytes = impl_->flight->arena.size() + impl_->output_bytes;
  for (const auto& s : sessions_) bytes += s->resident_bytes();
  return bytes;
}

}  // namespace quern
