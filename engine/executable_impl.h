// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <quern/executable.h>

#include "engine/plan.h"
#include "graph/graph.h"
#include "graph/memory/pool.h"

namespace quern {

struct Executable::Impl {
  Impl(Model m, std::shared_ptr<Device> d, const MemoryPoolKind& p)
      : model(std::move(m)), device(std::move(d)), pool(p) {}

  Model model;  // after the passes
  std::shared_ptr<Device> device;
  const MemoryPoolKind& pool;
  CompileOptions options;
  int threads = 1;
  std::vector<ValueSpec> inputs;
  std::vector<ValueSpec> outputs;
  std::shared_ptr<cpu::SharedWeights> weights;
  std::shared_ptr<PlanTree> plans;
  // The plan made at compile, which keeps its weights packed until a session takes it.
  std::shared_ptr<const PlanNode> first_plan;
};

}  // namespace quern
