// SPDX-License-Identifier: Apache-2.0
// Chains of nodes that are computed in stripes: a few rows of each at a time, of which only those
// are kept that a later stripe reads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/stripes/row_graph.h"

namespace quern::stripes {

// The nodes at [first, last) of a RowGraph, computed in this number of steps.
struct Chain {
  std::size_t first = 0;
  std::size_t last = 0;
  std::int64_t steps = 1;

  bool operator==(const Chain&) const = default;
};

// One thing that is done in a chain.
struct Action {
  enum class Kind : std::uint8_t {
    compute,  // the node at `node` computes `rows` of its results
    join,     // the ranges of `value` that are held become one, `rows`
    trim,     // of the one range of `value` that is held only `rows` stay, as a copy
    drop,     // of the ranges of `value` those before `rows` are not read any more
  };
  Kind kind = Kind::compute;
  std::size_t node = 0;
  ValueId value = no_value;
  Rows rows;
};

// The number of bytes that a chain takes, and what it costs beside its arithmetic.
struct ChainCost {
  std::uint64_t peak = 0;     // bytes of its own results that are live at one time
  double seconds = 0;         // of calls and copies, estimated
  std::uint64_t largest = 0;  // bytes of rows that a node reads or makes, or a copy moves
};

// What is known about a range of nodes of a static graph, all of which have rules. The graph must
// outlive it.
class ChainModel {
 public:
  // nullopt: the nodes are no chain.
  static std::optional<ChainModel> make(const RowGraph& graph, std::size_t first, std::size_t last);

  // The largest number of steps: that of one row of the lowest result.
  std::int64_t most_steps() const { return most_steps_; }
  // What is done, in order.
  std::vector<Action> actions(std::int64_t steps) const;
  ChainCost cost(std::int64_t steps) const;

  bool is_inside(ValueId v) const { return inside_of(v) != nullptr; }
  // True if a value of the chain is read behind it or handed out: it is needed as a whole.
  bool is_whole(ValueId v) const { return inside_of(v)->is_whole; }
  // The dimension along which the rows of a value of the chain lie.
  std::size_t axis(ValueId v) const { return rule(inside_of(v)->producer).axis; }

 private:
  struct Reader {
    std::size_t node;  // in nodes_
    RowMap map;
  };
  struct Inside {
    ValueId value = no_value;
    std::size_t producer = 0;  // in nodes_
    std::int64_t height = 0;
    std::uint64_t row_bytes = 0;
    bool is_whole = false;
    std::vector<Reader> readers;
  };
  class Walk;

  ChainModel(const RowGraph& graph, std::size_t first, std::size_t last)
      : graph_(graph), first_(first), last_(last) {}
  bool fill();
  bool add_reads(std::size_t node);
  const Inside* inside_of(ValueId v) const;
  std::uint64_t most_read(std::size_t node, const Rows& rows) const;
  const Node& node(std::size_t k) const { return graph_.node(first_ + k); }
  const RowRule& rule(std::size_t k) const { return *graph_.rule(first_ + k); }

  const RowGraph& graph_;
  std::size_t first_, last_;
  std::vector<Inside> inside_;     // in order
  std::uint64_t whole_bytes_ = 0;  // of values that are needed as a whole
  std::int64_t most_steps_ = 1;
};

}  // namespace quern::stripes
