// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/compile/program.h"
#include "engine/compile/program_check.h"
#include "graph/graph.h"

namespace quern {

class Backend;

struct LowerOptions {
  int threads = 1;
  bool use_onednn = true;
  bool reference_only = false;  // the oracle: every node by its reference
  const Strategy* strategy = nullptr;
  bool order = true;    // steps may run in another order than the graph's
  bool alias = true;    // results may be made in their place in another, which spares copies
  bool scratch = true;  // kernels may take memory to work in where that makes them faster
  WeightStore* weights = nullptr;
  Backend* backend = nullptr;             // the device's, unless it is the CPU
  bool half_products = false;             // operands of products may be rounded to f16
  std::span<const bool> dynamic_outputs;  // of the graph
  // Not null: gets what each step of the program is for.
  std::vector<StepMeaning>* meanings = nullptr;
};

// Chooses a kernel per node, layouts between them, and a place for every buffer. All dimensions of
// the graph are numbers. With a backend every node that has a kernel for the device runs there, the
// others on the CPU between its submissions. The program has passed check_program().
Result<std::unique_ptr<Program>> lower(const Graph& graph, const LowerOptions& options);

}  // namespace quern
