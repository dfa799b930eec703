// SPDX-License-Identifier: Apache-2.0
// Converts a graph with symbolic dimensions to static segments.
//
// Given concrete inputs, a graph is executed abstractly: shapes are inferred, shape arithmetic is
// evaluated, branches whose condition is known are inlined, sequences and optionals resolve to the
// tensors that they hold. The result is a static graph in which every dimension is a number.
//
// If a shape or a plan-time operand depends on data that is known only at run time, the nodes that
// need it wait: the segment ends with a list of unresolved values (a shape or the elements of a
// tensor each), and the next segment is specialised with their values. The segments are a partition
// of the graph in the order of a run. Plans are a tree: the children of a plan are keyed by the
// values that it left unresolved. A model without such dependencies has exactly one segment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "engine/compile/value.h"
#include "graph/graph.h"

namespace quern {

// The number of a RuntimeValue in one partition: the graph's inputs first, then the results of
// segments and control operators.
using Slot = std::uint32_t;

// One tensor of a slot; element 0 unless the slot holds a sequence.
struct SlotRef {
  Slot slot = 0;
  std::uint32_t element = 0;

  bool operator==(const SlotRef&) const = default;
};

// The property of a slot that must be known before the next segment can be made.
struct UnresolvedValue {
  enum class About : std::uint8_t {
    structure,
    elements
  };  // kind and shapes, or a tensor's elements

  About about = About::structure;
  Slot slot = 0;

  bool operator==(const UnresolvedValue&) const = default;
};

// A value of the graph after all segments have run: tensors of slots, or everything in one slot.
struct ResultRef {
  std::optional<Slot> whole_slot;
  RuntimeValue::Kind kind = RuntimeValue::Kind::tensor;
  std::vector<SlotRef> tensors;
};

// Loop or Scan, run by the host after the program of its segment.
struct ControlOp {
  Op op;
  std::string name;
  const Graph* body = nullptr;  // lives as long as the graph that was specialised
  std::vector<ResultRef> inputs;
  std::vector<bool> present;
  std::vector<Slot> outputs;
};

class ResumePoint;

struct Segment {
  explicit Segment(const OpSet& ops) : graph(ops) {}

  Graph graph;                       // static; inputs and outputs are tensors of slots
  std::vector<SlotRef> inputs;       // of graph.inputs(), in order
  std::vector<Slot> outputs;         // of graph.outputs(), in order
  std::vector<bool> dynamic_output;  // the type is an upper bound; the run gives the actual shape
  std::vector<ControlOp> controls;
  std::size_t slot_count = 0;  // slots used by the segments up to this one
  std::vector<UnresolvedValue> unresolved;
  std::shared_ptr<const ResumePoint> rest;  // null: this is the last segment
  std::vector<ResultRef> results;           // of the last segment: one per wanted output
};

// Makes the first segment. Only the kinds and types of `inputs` are read. `wanted` has indices of
// graph outputs. The graph must outlive every segment. `stop` (it may be null) ends it with its
// error, here and below.
Result<Segment> first_segment(const Graph& graph, std::span<const RuntimeValue> inputs,
                              std::span<const std::size_t> wanted, const Stop* stop);
// Makes the next segment from the values that `rest` left unresolved, in their order.
Result<Segment> next_segment(const ResumePoint& rest, std::span<const RuntimeValue> resolved,
                             const Stop* stop);

}  // namespace quern
