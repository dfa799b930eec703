// SPDX-License-Identifier: Apache-2.0
// The places of a graph's values in the buffers of an unallocated program, one per layout and
// memory, and the number of reads that are still to come.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/lowering/unallocated_program.h"
#include "graph/graph.h"

namespace quern::lowering {

class ValuePlaces {
 public:
  // Kernels read their operands from `native` memory if possible. All dimensions of the graph must
  // be numbers; the graph and the unallocated program must outlive this object.
  ValuePlaces(const Graph& graph, const UnallocatedProgram& unallocated, Space native);

  Space native() const { return native_; }
  TensorType type(ValueId v) const { return {graph_.type(v).dtype, *graph_.type(v).shape()}; }

  // The places of a value; empty: it has none yet. Valid until the next put() of this value, as are
  // the results of find() and best().
  std::span<const Place> of(ValueId v) const { return places_[index(v)]; }
  // Returns null if the value has no place in this memory.
  const Place* find(ValueId v, Space space) const;
  // The existing place that a kernel would read: the one in native memory if there is one.
  const Place& best(ValueId v) const;

  // Adds a place: all readers still to come may read the value there.
  void put(ValueId v, const Place& place);
  // Records that the node has read its inputs.
  void consume(const Node& node);

  // Returns true if the operand `v` of the current node is the last reader of its bytes. A value
  // that the node reads twice does not count: writing in place over one operand would change the
  // other.
  bool is_read_last(ValueId v) const;
  // Returns true if these bytes have a reader besides one operand of the current node.
  bool is_read_elsewhere(const Place& place) const { return readers_of(place.buffer) > 1; }

 private:
  std::int64_t readers_of(BufferId b) const {
    return b < buffer_readers_.size() ? buffer_readers_[b] : 0;
  }

  const Graph& graph_;
  const UnallocatedProgram& unallocated_;
  Space native_;
  std::vector<std::vector<Place>> places_;    // by value
  std::vector<std::int64_t> readers_;         // by value: reads still to come
  std::vector<std::int64_t> buffer_readers_;  // by buffer: the same for all values in it
};

}  // namespace quern::lowering
