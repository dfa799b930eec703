// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/pipeline.h"

namespace quern {

Status run_passes(Graph& graph) {
  graph.erase_dead();
  return {};
}

}  // namespace quern
