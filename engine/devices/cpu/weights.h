// SPDX-License-Identifier: Apache-2.0
// Constants in host memory, in the layouts that CPU kernels read, and code of kernels.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "kernels/contract/kernel.h"

namespace quern::cpu {

// Packed weights by key, kept alive by the programs that use them. Any thread.
class SharedWeights final : public WeightStore {
 public:
  // All packed weights together take at most `limit` bytes.
  explicit SharedWeights(std::size_t limit = std::numeric_limits<std::size_t>::max())
      : limit_(limit) {}

  Result<std::shared_ptr<const std::byte>> find_or_make(const std::string& key, std::size_t bytes,
                                                        const Fill& fill) override;
  std::shared_ptr<const void> find_or_make_code(const std::string& key,
                                                const MakeCode& make) override;
  // Lets go of code that nothing holds but this. Call it when a plan is made: a reorder of oneDNN
  // that packs may hold 2 MB.
  void forget_recent_code();
  // The bytes of weights that are held now.
  std::size_t bytes() const { return held_->load(std::memory_order_relaxed); }
  // The same of code, estimated.
  std::size_t code_bytes() const;

 private:
  template <class Entries>
  static void forget_released(Entries& entries, std::size_t& next_sweep);

  Result<std::shared_ptr<std::byte>> counted_memory(std::size_t bytes) const;

  const std::size_t limit_;
  // Bytes of weights that are alive, some maybe longer than this object.
  const std::shared_ptr<std::atomic<std::size_t>> held_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const std::byte>> entries_;
  mutable std::mutex code_mutex_;  // of its own: packing may generate code
  std::unordered_map<std::string, std::weak_ptr<const void>> code_;
  // Packing has its code no longer than it runs, and the next weights of a plan often have the same
  // format.
  std::array<std::shared_ptr<const void>, 32> recent_;
  std::size_t next_recent_ = 0;
  // The number of entries at which released entries are dropped.
  std::size_t next_sweep_ = 64;
  std::size_t next_sweep_of_code_ = 64;
};

}  // namespace quern::cpu
