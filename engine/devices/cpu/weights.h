// SPDX-License-Identifier: Apache-2.0
// Constants in host memory, in the layouts that CPU kernels read.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "kernels/contract/kernel.h"

namespace quern::cpu {

// Packed weights by key, kept alive by the programs that use them. Any thread.
class SharedWeights final : public WeightStore {
 public:
  Result<std::shared_ptr<const std::byte>> find_or_make(const std::string& key, std::size_t bytes,
                                                        const Fill& fill) override;
  // The bytes that are held now.
  std::size_t bytes() const;

 private:
  struct Entry {
    std::weak_ptr<const std::byte> packed;
    std::size_t bytes = 0;
  };
  void forget_released();

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  std::size_t next_sweep_ = 64;  // number of entries at which released entries are dropped
};

}  // namespace quern::cpu
