// SPDX-License-Identifier: Apache-2.0
// Constants of a static graph as kernels request them: a constant of the model, or an expression
// over constants that is evaluated when it is packed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "kernels/contract/kernel.h"

namespace quern::lowering {

// The alignment that a constant's reader needs: elements aligned to their size, or any address.
enum class Address : std::uint8_t { aligned, any };

// The constants and constant expressions of one graph. One thread at a time.
class GraphConstants {
 public:
  // Constant expressions that are computed at one time take at most `memory_limit` bytes. `stop`
  // (it may be null) ends a computation with its error. `store` names large constants in keys;
  // null: their addresses do.
  GraphConstants(const Graph& graph, std::size_t memory_limit, const Stop* stop,
                 WeightStore* store);
  ~GraphConstants();

  // Returns null if the value depends on inputs.
  const ConstantSource* find(ValueId v) const;
  // Row-major elements whose address is fixed while `owner` is held.
  struct Pinned {
    std::shared_ptr<const void> owner;
    const std::byte* data = nullptr;
  };
  Result<Pinned> pin(ValueId v, WeightStore& weights, Address address) const;

 private:
  class Source;
  class Results;
  std::unique_ptr<Results> results_;
  std::vector<std::unique_ptr<Source>> sources_;  // by value
};

}  // namespace quern::lowering
