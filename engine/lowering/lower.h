// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/compile/program.h"
#include "engine/compile/program_check.h"
#include "engine/lowering/schedule.h"
#include "graph/graph.h"

namespace quern {

class Backend;
class MeasuredEntries;
struct Recipe;  // engine/lowering/recipe.h

struct LowerOptions {
  Team team;
  bool use_onednn = true;
  bool reference_only = false;  // the test oracle: every node runs its reference kernel
  std::string_view entry = {};  // CpuTarget::entry
  const MeasuredEntries* measured = nullptr;
  const Strategy* strategy = nullptr;
  bool order = true;    // steps may run in another order than the graph's
  bool alias = true;    // a result may be written directly into another buffer, which avoids copies
  bool scratch = true;  // kernels may use scratch memory where that makes them faster
  Stripes stripes = Stripes::none;   // of the graph's chains
  PackedFormats* formats = nullptr;  // see CpuTarget; of stripes
  WeightStore* weights = nullptr;
  Backend* backend = nullptr;   // of the device; null: the CPU
  bool half_products = false;   // operands of products may be rounded to f16
  bool flush_denormals = true;  // steps on the CPU that multiply and add take them for 0
  std::size_t memory_limit = std::numeric_limits<std::size_t>::max();  // of constant expressions
  std::span<const bool> dynamic_outputs;                               // of the graph
  const Stop* stop = nullptr;      // ends the lowering with its error
  const Recipe* recipe = nullptr;  // of an earlier lowering of the same graph: its memories
  bool record = false;             // the program gets a recipe
  std::atomic<std::size_t>* searches = nullptr;  // counts the memories that are searched
  // If not null, receives the meaning of each step of the program.
  std::vector<StepMeaning>* meanings = nullptr;
};

// Chooses a kernel per node, the layouts between them, and an offset for every buffer. All
// dimensions of the graph must be numbers. With a backend, every node that has a kernel for the
// device runs there, and the other nodes run on the CPU between its submissions. The returned
// program has passed check_program(). Where the device is strict, the nodes that are too large for
// its bindings (Program::too_large) may be with the CPU; all others are an error. `place` finds the
// order and the offsets that the recipe lacks.
Result<std::unique_ptr<Program>> lower_with(const Graph& graph, const LowerOptions& options,
                                            lowering::PlaceFn place);

// The error of a strict device for nodes that it does not compute.
Status no_kernel_error(std::span<const std::string> fallbacks);

}  // namespace quern
