// SPDX-License-Identifier: Apache-2.0
// Constants in host memory, in the layouts that CPU kernels read, and code of kernels.
#pragma once

#include <array>
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
  // The bytes of weights that are held now.
  std::size_t bytes() const;
  // The same of code, estimated.
  std::size_t code_bytes() const;

 private:
  struct Entry {
    std::weak_ptr<const std::byte> packed;
    std::size_t bytes = 0;
  };
  static bool is_released(const Entry& entry) { return entry.packed.expired(); }
  static bool is_released(const std::weak_ptr<const void>& code) { return code.expired(); }
  template <class Entries>
  static void forget_released(Entries& entries, std::size_t& next_sweep);

  std::size_t held() const;

  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  mutable std::mutex code_mutex_;  // of its own: packing may generate code
  std::unordered_map<std::string, std::weak_ptr<const void>> code_;
  // Packing has its code no longer than it runs, and the next weights often have the same format.
  std::array<std::shared_ptr<const void>, 32> recent_;
  std::size_t next_recent_ = 0;
  // The number of entries at which released entries are dropped.
  std::size_t next_sweep_ = 64;
  std::size_t next_sweep_of_code_ = 64;
};

}  // namespace quern::cpu
