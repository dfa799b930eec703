// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <quern/executable.h>

#include "engine/compile/backend.h"
#include "engine/compile/plan.h"
#include "graph/graph.h"
#include "graph/memory/pools/pool.h"

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

  Model model;  // after the passes
  std::size_t graph_bytes = 0;
  std::shared_ptr<Device> device;
  const MemoryPoolKind& pool;
  CompileOptions options;
  int threads = 1;
  std::vector<ValueSpec> inputs;
  std::vector<ValueSpec> outputs;
  std::shared_ptr<cpu::SharedWeights> weights;
  std::shared_ptr<Backend> backend;                             // null: the CPU
  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();  // of plans
  std::shared_ptr<PlanTree> plans;
  // The plan made at compile time. It keeps its packed weights alive until a session uses the plan.
  std::shared_ptr<const PlanNode> first_plan;
};

}  // namespace quern
