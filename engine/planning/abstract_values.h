// SPDX-License-Identifier: Apache-2.0
// The state of specialize.cpp: every value of a graph that is executed abstractly, as far as it is
// known.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include <quern/tensor.h>

#include "engine/compile/specialize.h"
#include "engine/compile/value.h"
#include "graph/graph.h"

namespace quern::specializing {

struct Abstract {
  enum class Kind : std::uint8_t {
    unknown,  // its producer has not been looked at, or waits
    tensor,   // type known; elements known where `constant` is valid
    sequence,
    none,     // an empty optional
    forward,  // the value `at` of scope `scope`
    in_slot,  // see State::slots
  };

  Kind kind = Kind::unknown;
  TensorType type;
  Tensor constant;
  std::optional<SlotRef> slot;  // where it lies, if an earlier segment made it
  ValueId here = no_value;      // in the graph of segment `epoch`
  std::uint32_t epoch = 0;
  std::vector<Abstract> elements;  // of a sequence
  std::uint32_t scope = 0;         // of a forward, with `at`
  ValueId at = no_value;
  Slot whole_slot = 0;  // of in_slot

  static Abstract forward(std::uint32_t scope, ValueId at) {
    Abstract a;
    a.kind = Kind::forward;
    a.scope = scope;
    a.at = at;
    return a;
  }
  static Abstract in_slot(Slot slot) {
    Abstract a;
    a.kind = Kind::in_slot;
    a.whole_slot = slot;
    return a;
  }
  static Abstract known(Tensor t) {
    Abstract a;
    a.kind = Kind::tensor;
    a.type = t.type();
    a.constant = std::move(t);
    return a;
  }
  static Abstract of_type(const TensorType& type) {
    Abstract a;
    a.kind = Kind::tensor;
    a.type = type;
    return a;
  }
  // The kind and the types of a value of the run, whose bytes `slot` holds.
  static Abstract in_run(const RuntimeValue& value, Slot slot) {
    const auto element = [&](std::uint32_t i) {
      Abstract a = of_type(value.tensors[i].type);
      a.slot = SlotRef{slot, i};
      return a;
    };
    if (value.kind == RuntimeValue::Kind::tensor) return element(0);
    Abstract a;
    a.kind = value.kind == RuntimeValue::Kind::none ? Kind::none : Kind::sequence;
    for (std::uint32_t i = 0; i < value.tensors.size(); ++i) a.elements.push_back(element(i));
    return a;
  }
};

// One graph being executed: the main one, or a body that was inlined.
struct Scope {
  const Graph* graph = nullptr;
  std::vector<Abstract> values;
  int depth = 0;
};

struct Waiting {
  std::uint32_t scope;
  NodeId node;
};

// Deques: references to values stay valid while scopes and slots are added.
struct State {
  std::deque<Scope> scopes;
  std::deque<Abstract> slots;  // unknown: its structure is not resolved yet
  std::vector<Waiting> waiting;
  std::vector<ValueId> wanted;  // of scope 0
  std::vector<UnresolvedValue> unresolved;
  std::uint32_t epoch = 0;
  std::size_t inlined_nodes = 0;
};

}  // namespace quern::specializing
