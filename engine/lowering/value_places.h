// SPDX-License-Identifier: Apache-2.0
// Where the values of a graph lie in the buffers of an unallocated program, in how many layouts and
// memories it may be, and how often each is still read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/lowering/unallocated_program.h"
#include "graph/graph.h"

namespace quern::lowering {

class ValuePlaces {
 public:
  // Kernels find their operands in `native` memory, if they can. All dimensions of the graph are
  // numbers; it and the unallocated program outlive this.
  ValuePlaces(const Graph& graph, const UnallocatedProgram& unallocated, Space native);

  Space native() const { return native_; }
  TensorType type(ValueId v) const { return {graph_.type(v).dtype, *graph_.type(v).shape()}; }

  // Empty: nowhere yet. Valid until the next put() of this value, as all that follows.
  std::span<const Place> of(ValueId v) const { return places_[index(v)]; }
  // Null: nowhere in this memory.
  const Place* find(ValueId v, Space space) const;
  // The place that a kernel would start from, of those that there are.
  const Place& best(ValueId v) const;

  // The value lies here, too: whoever still reads it may read these bytes.
  void put(ValueId v, const Place& place);
  // The node has read its inputs.
  void consume(const Node& node);

  // Whether one operand of the current node, `v`, is the last to read its bytes. A value that a
  // node reads twice does not die there: in place over one operand would be seen through the other.
  bool is_read_last(ValueId v) const;
  // Whether anything but one operand of the current node still reads these bytes.
  bool is_read_elsewhere(const Place& place) const { return readers_of(place.buffer) > 1; }

 private:
  std::int64_t readers_of(BufferId b) const {
    return b < buffer_readers_.size() ? buffer_readers_[b] : 0;
  }

  const Graph& graph_;
  const UnallocatedProgram& unallocated_;
  Space native_;
  std::vector<std::vector<Place>> places_;    // by value
  std::vector<std::int64_t> readers_;         // by value: uses still to come
  std::vector<std::int64_t> buffer_readers_;  // the same of all values that lie there
};

}  // namespace quern::lowering
