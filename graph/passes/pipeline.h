// SPDX-License-Identifier: Apache-2.0
// The rewrites that every graph goes through, before and after its shapes are known.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "graph/graph.h"

namespace quern {

struct PassCount {
  std::string_view pass;
  std::size_t fired = 0;

  bool operator==(const PassCount&) const = default;
};

struct PassOptions {
  std::vector<std::string> disabled;  // names of rows to leave out
  // No more rewrites than this: with `counts` it finds the one that does harm.
  std::size_t max_rewrites = std::numeric_limits<std::size_t>::max();
  // False: elementwise nodes stay apart, where patterns can still be seen when shapes are known.
  bool fuse = true;
  bool verify = false;                       // the graph after every rewrite: slow
  std::vector<PassCount>* counts = nullptr;  // one a row of the table, in its order
};

// Runs all rewrites to a fixpoint, in the bodies of control flow too. Linear in the size of the
// graph, nearly. An error leaves a valid graph.
Status run_passes(Graph& graph, const PassOptions& options);
Status run_passes(Graph& graph);

// Names of the rows, in order.
std::vector<std::string_view> pass_names();

}  // namespace quern
