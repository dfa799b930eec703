// SPDX-License-Identifier: Apache-2.0
// Which nodes run in stripes of rows so that these stay in a cache of the CPU from the node that
// makes them to the one that reads them: a model of what moves between caches, without a search.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/stripes/chain.h"
#include "graph/stripes/row_graph.h"

namespace quern::stripes {

// A cache of one core, and what a stripe costs. The seconds were measured on Xeons with AVX-512
// (bench/results/2026-11-29-stripes-by-default.md).
struct CacheModel {
  std::uint64_t bytes = std::uint64_t{2} << 20;
  double moved = 30e-12;        // seconds of a byte that is read or written beyond the cache
  double call = 2.5e-6;         // seconds of a kernel beside its arithmetic and ChainCost
  std::int64_t least_rows = 4;  // of the lowest result, in each stripe
  double least_ratio = 1.4;     // of what a chain saves, by what it costs
  double least_gain = 0.055;    // of all chains, of a run; 0: whatever they gain
};

// What is known of a node beside its rows.
struct NodeWork {
  double flops = 0;
  double bytes = 0;           // inputs, weights and outputs
  bool is_for_whole = false;  // its fastest kernel is one of whole tensors
};

// The chains, in order; none where whole tensors are as fast. `works`: by position. The work is in
// proportion to the graph, and bounded for chains.
std::vector<Chain> chains_for_cache(const RowGraph& graph, std::span<const NodeWork> works,
                                    const CacheModel& cache);

}  // namespace quern::stripes
