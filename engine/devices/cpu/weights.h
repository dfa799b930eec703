// SPDX-License-Identifier: Apache-2.0
// Constants in host memory, in the layouts that CPU kernels read, and code of kernels.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kernels/contract/kernel.h"

namespace quern::cpu {

// Packed weights that an artefact holds, and what it says of constants.
struct PackedWeights {
  std::shared_ptr<const void> owner;  // of all bytes
  std::unordered_map<std::string, const std::byte*> by_key;
  std::unordered_map<const std::byte*, std::uint64_t> numbers;  // of constants
  std::uint64_t next_number = 0;                                // larger than all
  std::unordered_set<const std::byte*> left_out;                // constants without elements
};

// Packed weights by key, kept alive by the programs that use them. Any thread.
class SharedWeights final : public WeightStore {
 public:
  // All weights that are packed here take at most `limit` bytes together. What is in `packed` (it
  // may be null) is not packed again, and is not counted.
  explicit SharedWeights(std::size_t limit = std::numeric_limits<std::size_t>::max(),
                         std::shared_ptr<const PackedWeights> packed = nullptr)
      : limit_(limit), packed_(std::move(packed)) {}

  Result<std::shared_ptr<const std::byte>> find_or_make(const std::string& key, std::size_t bytes,
                                                        const Fill& fill) override;
  std::shared_ptr<const void> find_or_make_code(const std::string& key,
                                                const MakeCode& make) override;
  std::uint64_t number_of(const std::byte* constant) override;
  Status reading(const std::byte* constant) override;

  // From now on, notes what is packed and keeps it; for an artefact.
  void record() { record_ = std::make_unique<Record>(); }
  struct Entry {
    std::string key;  // with the number of bytes
    std::shared_ptr<const std::byte> data;
    std::size_t bytes = 0;
  };
  struct Record {
    std::vector<Entry> packed;
    std::unordered_set<const std::byte*> read;  // constants, by others than the packing of another
  };
  // Null if nothing was to be recorded. While no plan is being made.
  const Record* recorded() const { return record_.get(); }
  std::unordered_map<const std::byte*, std::uint64_t> numbers() const;
  // How often this has packed.
  std::size_t packings() const { return packings_.load(std::memory_order_relaxed); }

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

  Result<std::shared_ptr<std::byte>> counted_memory(std::size_t bytes);
  std::shared_ptr<std::byte> zeroed_pages(std::size_t bytes);

  const std::size_t limit_;
  const std::shared_ptr<const PackedWeights> packed_;
  // Bytes of weights that are alive, some maybe longer than this object.
  const std::shared_ptr<std::atomic<std::size_t>> held_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  std::atomic<std::size_t> packings_ = 0;
  std::mutex mutex_;
  // Pages whose rest the next weights get.
  struct SharedPages {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes = 0;
    std::size_t used = 0;
  };
  SharedPages shared_;
  std::unique_ptr<Record> record_;
  int packing_ = 0;                  // of `record_`: depth of packings in progress
  mutable std::mutex number_mutex_;  // of its own: packing asks for numbers
  std::unordered_map<const std::byte*, std::uint64_t> numbers_;
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
