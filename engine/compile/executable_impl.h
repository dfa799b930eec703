// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <quern/executable.h>
#include <quern/session.h>

#include "engine/compile/backend.h"
#include "engine/compile/plan.h"
#include "engine/vocabulary/text_util.h"
#include "graph/graph.h"
#include "graph/memory/pools/pool.h"
#include "kernels/contract/openmp.h"

namespace quern {

struct Executable::Impl {
  Impl(Model m, std::shared_ptr<Device> d, const MemoryPoolKind& p)
      : model(std::move(m)), device(std::move(d)), pool(p) {}

  // Weights packed for the CPU plus constants on the device.
  std::size_t weight_bytes() const {
    return weights->bytes() + (backend ? backend->constant_bytes() : 0);
  }

  // The bytes of the graph, of its plans and of generated code.
  std::size_t table_bytes() const { return graph_bytes + ledger->bytes() + weights->code_bytes(); }

  // The threads of a session: those that its options name, else the executable's.
  std::shared_ptr<ThreadPool> thread_pool_of(const SessionOptions& o) const {
    return o.thread_pool ? o.thread_pool : options.thread_pool;
  }
  Team team_of(const SessionOptions& o) const {
    const bool is_as_compiled = o.threads <= 0 && !o.thread_pool;
    return is_as_compiled ? team : team_of_run(o.threads, thread_pool_of(o).get());
  }

  Model model;  // after the passes
  std::size_t graph_bytes = 0;
  std::shared_ptr<Device> device;
  const MemoryPoolKind& pool;
  CompileOptions options;
  Team team;
  std::vector<ValueSpec> inputs;
  std::vector<ValueSpec> outputs;
  std::shared_ptr<cpu::SharedWeights> weights;
  std::shared_ptr<Backend> backend;                             // null: the CPU
  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();  // of plans
  std::shared_ptr<PlanTree> plans;
  // The plan made at compile time. It keeps its packed weights alive until a session uses the plan.
  std::shared_ptr<const PlanNode> first_plan;
};

// The error of a name that no row of a table has.
template <class Rows>
Status none_of(std::string_view what, std::string_view name, const Rows& rows) {
  std::string names;
  for (const auto& row : rows) names += cat(names.empty() ? "" : ", ", row.name);
  return {Code::not_found, cat("no ", what, " '", printable(name), "'; there is: ", names)};
}

// The steps of compile() and load_artefact(): an executable with its model, its device and the
// options, then (with the graph as the passes leave it) weights and plans. `packed` may be null.
Result<std::unique_ptr<Executable::Impl>> begin_executable(Model model,
                                                           std::shared_ptr<Device> device,
                                                           const CompileOptions& options);
// Without a maker of plans, and without a strategy: of a runner.
PlanOptions plan_options(const CompileOptions& options, const DeviceInfo& device);
Result<std::shared_ptr<const Executable>> finish_executable(
    std::unique_ptr<Executable::Impl> impl, PlanOptions plan,
    std::shared_ptr<const cpu::PackedWeights> packed);

}  // namespace quern
