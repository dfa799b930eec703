// SPDX-License-Identifier: Apache-2.0
// Constants of a static graph as kernels ask for them: plain, or the result of an expression over
// constants that is evaluated while somebody packs it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "kernels/kernel.h"

namespace quern::cpu {

// Packed weights by key, kept alive by the programs that use them. Any thread.
class SharedWeights final : public WeightStore {
 public:
  Result<std::shared_ptr<const std::byte>> find_or_make(const std::string& key, std::size_t bytes,
                                                        const Fill& fill) override;
  // Bytes that are held now.
  std::size_t bytes() const;

 private:
  struct Entry {
    std::weak_ptr<const std::byte> packed;
    std::size_t bytes = 0;
  };
  void forget_released();

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  std::size_t next_sweep_ = 64;  // entries at which the released ones are dropped
};

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

}  // namespace quern::cpu
