// SPDX-License-Identifier: Apache-2.0
// Constants of a static graph as kernels ask for them: plain, or the result of an expression over
// constants that is evaluated while somebody packs it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "kernels/contract/kernel.h"

namespace quern::lowering {

// Where a constant's reader may find it: its elements aligned to their size, or not.
enum class Address : std::uint8_t { aligned, any };

// The constants and constant expressions of one graph.
class GraphConstants {
 public:
  explicit GraphConstants(const Graph& graph);
  ~GraphConstants();

  // Null: depends on inputs.
  const ConstantSource* find(ValueId v) const;
  // Row-major elements that stay where they are while the owner is held.
  struct Pinned {
    std::shared_ptr<const void> owner;
    const std::byte* data = nullptr;
  };
  Result<Pinned> pin(ValueId v, WeightStore& weights, Address address) const;

 private:
  class Source;
  std::vector<std::unique_ptr<Source>> sources_;  // by value
};

}  // namespace quern::lowering
