// SPDX-License-Identifier: Apache-2.0
// A graph made anew, node by node, from other inputs: what inference knows then comes from them.
#pragma once

#include <functional>
#include <vector>

#include <quern/status.h>

#include "graph/graph.h"

namespace quern::tools {

class Remake {
 public:
  // Gives what stands for input `i` in the new graph, to which it may add nodes.
  using InputMaker = std::function<Result<ValueId>(Graph& into, std::size_t i)>;
  // The type of an input of a body, of which nothing but the kind and the rank has to stay.
  using BodyTypes = std::function<ValueType(ValueType)>;

  // `from` must outlive it. Without `body_types` bodies stay as they are.
  explicit Remake(const Graph& from, BodyTypes body_types = {});

  // All nodes; outputs are up to the caller. Errors: those of inference.
  Status run(const InputMaker& make_input);
  // The new value for a value of the old graph.
  ValueId at(ValueId old);
  Graph& graph() { return into_; }
  // Adds the old graph's outputs and returns the new graph.
  Graph finish();

 private:
  Status add(NodeId id);
  Result<Graph> body(const Graph& old) const;

  const Graph& from_;
  BodyTypes body_types_;
  Graph into_;
  std::vector<ValueId> map_;
};

}  // namespace quern::tools
