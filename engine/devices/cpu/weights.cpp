// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/cpu/weights.h"

#include <algorithm>

#include "engine/vocabulary/text_util.h"
#include "engine/vocabulary/zeroed_memory.h"

namespace quern::cpu {
// Plans change with the shapes of inputs, and each may have small constants and code of its own.
template <class Entries>
void SharedWeights::forget_released(Entries& entries, std::size_t& next_sweep) {
  if (entries.size() < next_sweep) return;
  std::erase_if(entries, [](const auto& e) { return e.second.expired(); });
  next_sweep = 2 * entries.size() + 64;
}

Result<std::shared_ptr<const std::byte>> SharedWeights::find_or_make(const std::string& key,
                                                                     std::size_t bytes,
                                                                     const Fill& fill) {
  const std::scoped_lock lock(mutex_);
  forget_released(entries_, next_sweep_);
  auto& entry =
      entries_[cat(bytes, "|", key)];  // whatever a key forgets, no kernel reads past an end
  if (auto packed = entry.lock()) return packed;
  QUERN_ASSIGN(const std::shared_ptr<std::byte> fresh, counted_memory(bytes));
  QUERN_TRY(fill(fresh.get()));
  entry = fresh;
  return std::shared_ptr<const std::byte>(fresh);
}

// Zeroed memory that is counted as long as it is held. With the mutex.
Result<std::shared_ptr<std::byte>> SharedWeights::counted_memory(std::size_t bytes) const {
  if (const std::size_t before = this->bytes(); bytes > limit_ - std::min(limit_, before))
    return Status(Code::out_of_memory, cat("packed weights of ", bytes, " bytes beside the ",
                                           before, " held, the limit is ", limit_));
  std::shared_ptr<std::byte> fresh = zeroed_memory(bytes);
  if (!fresh) return Status(Code::out_of_memory, cat("no ", bytes, " bytes for packed weights"));
  std::byte* const data = fresh.get();
  *held_ += bytes;
  return std::shared_ptr<std::byte>(data,
                                    [fresh = std::move(fresh), held = held_, bytes](auto*) mutable {
                                      fresh.reset();
                                      *held -= bytes;
                                    });
}

std::shared_ptr<const void> SharedWeights::find_or_make_code(const std::string& key,
                                                             const MakeCode& make) {
  {
    const std::scoped_lock lock(code_mutex_);
    const auto known = code_.find(key);
    if (known != code_.end())
      if (auto code = known->second.lock()) return code;
  }
  auto fresh = make();  // may ask for code itself
  const std::scoped_lock lock(code_mutex_);
  forget_released(code_, next_sweep_of_code_);
  code_[key] = fresh;
  recent_[next_recent_++ % recent_.size()] = fresh;
  return fresh;
}

void SharedWeights::forget_recent_code() {
  const std::scoped_lock lock(code_mutex_);
  recent_.fill(nullptr);
}

std::size_t SharedWeights::code_bytes() const {
  // A primitive of oneDNN with its description takes 8 to 20 kB in 2.6 (31 on average for small
  // convolutions with AVX-512 of AMD's fifth generation), and up to 28 in 3.6. The plan of 40
  // different small convolutions holds 50 kB for each beyond what else is counted.
  constexpr std::size_t each = 56 << 10;
  const std::scoped_lock lock(code_mutex_);
  return each * static_cast<std::size_t>(std::ranges::count_if(
                    code_, [](const auto& c) { return !c.second.expired(); }));
}

}  // namespace quern::cpu
