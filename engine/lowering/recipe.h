// SPDX-License-Identifier: Apache-2.0
// What one lowering was given and what it searched for: an artefact keeps it, and the same program
// is made of it without a search.
#pragma once

#include <vector>

#include "engine/compile/program.h"
#include "engine/lowering/schedule.h"
#include "graph/graph.h"

namespace quern {

struct Recipe {
  explicit Recipe(const OpSet& ops) : graph(ops) {}

  Graph graph;        // static, after passes, in stripes if there are any
  bool order = true;  // as in LowerOptions
  bool scratch = true;
  Stripes stripes = Stripes::none;
  // Of a device with memory of its own and of the host, or of the host alone.
  std::vector<lowering::MemoryChoice> memories;
};

}  // namespace quern
