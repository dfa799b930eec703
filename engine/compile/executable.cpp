// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include <quern/executable.h>

#include "engine/compile/backend.h"
#include "engine/compile/executable_impl.h"
#include "engine/compile/ledger.h"
#include "engine/compile/memory_need.h"
#include "engine/vocabulary/host_memory.h"
#include "engine/vocabulary/text_util.h"
#include "graph/text.h"
#include "kernels/contract/bf16.h"
#include "kernels/contract/openmp.h"

namespace quern {

Executable::Executable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Executable::~Executable() = default;

const std::vector<ValueSpec>& Executable::inputs() const {
  return impl_->inputs;
}
const std::vector<ValueSpec>& Executable::outputs() const {
  return impl_->outputs;
}
const ModelMetadata& Executable::metadata() const {
  return impl_->model.metadata();
}
const Device& Executable::device() const {
  return *impl_->device;
}
std::size_t Executable::table_bytes() const {
  return impl_->table_bytes();
}
std::string Executable::text(std::size_t max_elements) const {
  return impl_->model.text(max_elements);
}

namespace {

// The inputs as the model declares them; nullopt if a declaration is not fully known.
std::optional<std::vector<RuntimeValue>> declared_inputs(const Graph& g) {
  static constexpr std::byte nothing{};  // only shapes are read
  std::vector<RuntimeValue> inputs;
  for (ValueId v : g.inputs()) {
    if (!g.type(v).fully_known()) return std::nullopt;
    inputs.emplace_back().tensors.push_back({{g.type(v).dtype, *g.type(v).shape()}, &nothing});
  }
  return inputs;
}

// Makes the plan for the declared shapes, so that its errors are reported here and the first run
// does not plan.
Status plan_declared_shapes(Executable::Impl& impl, const Stop& stop) {
  const auto inputs = declared_inputs(impl.plans->graph());
  if (!inputs) return {};
  std::vector<std::size_t> wanted(impl.outputs.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  const PlanKey key = root_key(impl.team, wanted, *inputs);
  QUERN_ASSIGN(impl.first_plan, impl.plans->root(key, *inputs, wanted, impl.team, &stop));
  return {};
}

Result<const MemoryPoolKind*> pool_named(const std::string& name) {
  if (name.empty()) return &default_pool();
  if (const MemoryPoolKind* pool = find_pool(name)) return pool;
  return none_of("pool", name, pools());
}

// Checks the sizes of inputs, which only their declarations determine. Inference checks results.
Status check_sizes(const Graph& graph) {
  for (ValueId v : graph.inputs()) {
    const ValueType& type = graph.type(v);
    const auto shape = type.shape();
    if (type.is_tensor() && shape && !shape->checked_elements(size_of(type.dtype)))
      return {Code::invalid_model, cat("input '", printable(graph.value(v).name), "' of ",
                                       type_text(type, &graph), " is too large")};
  }
  return {};
}

}  // namespace

std::optional<MemoryNeed> Executable::memory_need() const {
  if (!impl_->first_plan) return std::nullopt;
  const auto inputs = declared_inputs(impl_->plans->graph());
  return quern::memory_need({&impl_->first_plan, 1}, *inputs, impl_->weight_bytes(), impl_->pool);
}

Result<Math> math_named(std::string_view name) {
  if (name == "f32") return Math::f32;
  if (name == "bf16") return Math::bf16;
  if (name == "bf16x3") return Math::bf16x3;
  if (name == "auto") return Math::automatic;
  return Status(Code::invalid_argument,
                cat("no math '", printable(name), "', there is f32, bf16, bf16x3 and auto"));
}

Result<Denormals> denormals_named(std::string_view name) {
  if (name == "flush") return Denormals::flush;
  if (name == "keep") return Denormals::keep;
  return Status(Code::invalid_argument, cat("no way to treat denormals is called '",
                                            printable(name), "', there is flush and keep"));
}

PlanOptions plan_options(const CompileOptions& options, const DeviceInfo& device) {
  PlanOptions plan;
  plan.max_plans = options.max_plans;
  plan.memory_limit = options.memory_limit;
  plan.arena_limit = options.arena_limit;
  plan.max_plan_bytes = options.max_plan_bytes ? options.max_plan_bytes : options.memory_limit / 4;
  plan.reference_only = device.name == "reference";
  plan.entry = options.implementation;
  plan.tuning = options.tuning;
  plan.optimize = options.optimize && !plan.reference_only;
  plan.order = options.order;
  plan.alias = options.alias;
  plan.scratch = options.scratch;
  plan.flush_denormals = options.denormals == Denormals::flush;
  if (plan.optimize && device.kind == DeviceInfo::Kind::cpu) {
    plan.convolve_integers = true;
    if (options.math != Math::f32 && has_bf16_units()) plan.math = options.math;
  }
  return plan;
}

Result<std::unique_ptr<Executable::Impl>> begin_executable(Model model,
                                                           std::shared_ptr<Device> device,
                                                           const CompileOptions& options) {
  if (!device) {
    QUERN_ASSIGN(device, open_device("cpu"));
  }
  QUERN_ASSIGN(const MemoryPoolKind* pool, pool_named(options.pool));
  auto impl = std::make_unique<Executable::Impl>(std::move(model), std::move(device), *pool);
  impl->options = options;
  impl->team = team_of_run(options.threads, options.thread_pool.get());
  if (impl->team.threads < options.threads)
    tell_host(Host::Level::warning,
              cat(options.threads, " threads were asked for, ", impl->team.threads, " are used"));
  impl->inputs = impl->model.inputs();
  impl->outputs = impl->model.outputs();
  QUERN_TRY(check_sizes(impl->model.graph()));
  QUERN_TRY(check_room(impl->model.graph(), CompilePhase::passes, options.memory_limit));
  return impl;
}

Result<std::shared_ptr<const Executable>> finish_executable(
    std::unique_ptr<Executable::Impl> impl, PlanOptions plan,
    std::shared_ptr<const cpu::PackedWeights> packed) {
  const std::size_t limit = impl->options.memory_limit;
  impl->model.graph().compact();
  impl->graph_bytes += quern::table_bytes(impl->model.graph());
  impl->weights = std::make_shared<cpu::SharedWeights>(
      limit ? limit : std::numeric_limits<std::size_t>::max(), std::move(packed));
  if (auto* device_with_memory = dynamic_cast<BackendDevice*>(impl->device.get())) {
    QUERN_ASSIGN(impl->backend, device_with_memory->make_backend());
  }
  impl->plans = std::make_shared<PlanTree>(impl->model.graph(), impl->weights, std::move(plan),
                                           impl->ledger, impl->backend);
  const Stop stop({.deadline = impl->options.deadline});
  QUERN_TRY(plan_declared_shapes(*impl, stop));
  QUERN_TRY(stop.check());
  return std::make_shared<const Executable>(std::move(impl));
}

}  // namespace quern
