// SPDX-License-Identifier: Apache-2.0
// Constants of a static graph as kernels ask for them: plain, or the result of an expression over
// constants that is evaluated while somebody packs it.
#pragma once

#include <memory>
#include <vector>

#include "graph/graph.h"
#include "kernels/kernel.h"

namespace quern::lowering {

// The constants and constant expressions of one graph.
class GraphConstants {
 public:
  explicit GraphConstants(const Graph& graph);
  ~GraphConstants();

  // Null: depends on inputs.
  const ConstantSource* find(ValueId v) const;
  // Aligned row-major elements that stay where they are while the owner is held.
  struct Pinned {
    std::shared_ptr<const void> owner;
    const std::byte* data = nullptr;
  };
  // `at_any_address`: the reader does not need its elements aligned.
  Result<Pinned> pin(ValueId v, WeightStore& weights, bool at_any_address = false) const;

 private:
  class Source;
  std::vector<std::unique_ptr<Source>> sources_;  // by value
};

}  // namespace quern::lowering
