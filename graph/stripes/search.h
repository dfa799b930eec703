// SPDX-License-Identifier: Apache-2.0
// Which nodes of a graph are computed in stripes, and of how many rows, so that what is live at one
// time stays within a number of bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/stripes/chain.h"
#include "graph/stripes/row_graph.h"

namespace quern {
class Stop;
}  // namespace quern

namespace quern::stripes {

struct Life;  // of a value: search.cpp

// Chains of a graph, and what they cost by the model of chain.h.
struct Choice {
  std::vector<Chain> chains;
  std::uint64_t peak = 0;
  double seconds = 0;
};

// All chains of a static graph that are worth a look, each in several numbers of steps.
class Search {
 public:
  // Looks at chains for a bounded amount of work, the short ones first. `scratch`: bytes that
  // kernels of whole tensors work in, by node; may be shorter. As few nodes as possible read or
  // make more than `most_operand` bytes of one value. `stop` may be null.
  Search(const RowGraph& graph, std::span<const std::uint64_t> scratch, const Stop* stop,
         std::uint64_t most_operand = std::numeric_limits<std::uint64_t>::max());

  // The cheapest choice whose peak is at most `bytes`; nullopt: there is none.
  std::optional<Choice> cheapest(std::uint64_t bytes) const;
  // The choice with the smallest peak.
  Choice smallest() const;

 private:
  struct Candidate {
    Chain chain;
    ChainCost cost;
  };

  // The peaks that candidates have, in order: between two of them no choice changes.
  std::vector<std::uint64_t> peaks() const;
  std::uint64_t add_candidates(std::size_t first, std::size_t last, std::span<const Life> lives);

  const RowGraph& graph_;
  const std::uint64_t most_operand_;
  std::vector<std::uint64_t> whole_;               // by position: bytes live while the node runs
  std::vector<double> whole_seconds_;              // by position: beside the node's arithmetic
  std::vector<std::vector<Candidate>> ending_at_;  // by the position after the last node
};

}  // namespace quern::stripes
