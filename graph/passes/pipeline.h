// SPDX-License-Identifier: Apache-2.0
// The rewrites that are applied to every graph, before and after its shapes are known.
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
  std::vector<std::string> disabled;  // names of passes to leave out
  // Maximum number of rewrites: with `counts`, a bisection finds a wrong rewrite.
  std::size_t max_rewrites = std::numeric_limits<std::size_t>::max();
  // False: elementwise nodes stay separate, so that patterns can still be matched when shapes are
  // known.
  bool fuse = true;
  bool verify = false;                       // verifies the graph after every rewrite: slow
  std::vector<PassCount>* counts = nullptr;  // one per pass, in order
  const Stop* stop = nullptr;                // ends the passes with its error
};

// Runs all rewrites to a fixpoint, in the bodies of control flow too. Nearly linear in the size of
// the graph. An error leaves a valid graph.
Status run_passes(Graph& graph, const PassOptions& options);
Status run_passes(Graph& graph);

// Names of the passes, in order.
std::vector<std::string_view> pass_names();

}  // namespace quern
