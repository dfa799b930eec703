// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/cpu/weights.h"

#include <algorithm>

#include "engine/vocabulary/host_memory.h"
#include "engine/vocabulary/multiples.h"
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
  // Whatever a key forgets, no kernel reads past an end.
  const std::string sized_key = cat(bytes, "|", key);
  auto& entry = entries_[sized_key];
  if (auto packed = entry.lock()) return packed;
  if (packed_)
    if (const auto known = packed_->by_key.find(sized_key); known != packed_->by_key.end())
      return std::shared_ptr<const std::byte>(packed_->owner, known->second);
  QUERN_ASSIGN(const std::shared_ptr<std::byte> fresh, counted_memory(bytes));
  ++packings_;
  ++packing_;
  Status status = fill(fresh.get());
  --packing_;
  QUERN_TRY(std::move(status));
  if (record_) record_->packed.push_back({sized_key, fresh, bytes});
  entry = fresh;
  return std::shared_ptr<const std::byte>(fresh);
}

std::uint64_t SharedWeights::number_of(const std::byte* constant) {
  if (packed_)
    if (const auto known = packed_->numbers.find(constant); known != packed_->numbers.end())
      return known->second;
  const std::scoped_lock lock(number_mutex_);
  const std::uint64_t first = packed_ ? packed_->next_number : 0;
  return numbers_.try_emplace(constant, first + numbers_.size()).first->second;
}

std::unordered_map<const std::byte*, std::uint64_t> SharedWeights::numbers() const {
  const std::scoped_lock lock(number_mutex_);
  return numbers_;
}

Status SharedWeights::reading(const std::byte* constant) {
  if (packed_ && packed_->left_out.contains(constant))
    return {Code::unsupported,
            "weights are wanted that the artefact holds in another packed layout only, which its "
            "machine or other options made: compile the model again, here or with --portable"};
  if (record_ && packing_ == 0) record_->read.insert(constant);
  return {};
}

// Zeroed memory. A product of one row reads its weights once, at the pace at which pages are found:
// weights that fill no huge page share some with those that are packed next to them, once there are
// so many that what is left over at the end does not count. Not where a host gives the memory, or
// limits it. With the mutex.
std::shared_ptr<std::byte> SharedWeights::zeroed_pages(std::size_t bytes) {
  constexpr std::size_t huge_page = 2 << 20;
  constexpr std::size_t most_shared = 4 << 20;
  const std::size_t whole = std::min(this->bytes() / 2 / huge_page * huge_page, most_shared);
  const bool is_limited = limit_ != std::numeric_limits<std::size_t>::max();
  if (bytes == 0 || bytes >= huge_page || bytes > whole / 2 || is_limited || current_host())
    return zeroed_memory(bytes);
  const std::size_t room = round_up(bytes, 64);
  if (shared_.bytes - shared_.used < room) {
    shared_ = {zeroed_memory(whole), whole, 0};
    if (!shared_.memory) return shared_ = {}, nullptr;
  }
  std::byte* const at = shared_.memory.get() + shared_.used;
  shared_.used += room;
  return {shared_.memory, at};
}

// Memory that is counted as long as it is held. With the mutex.
Result<std::shared_ptr<std::byte>> SharedWeights::counted_memory(std::size_t bytes) {
  if (const std::size_t before = this->bytes(); bytes > limit_ - std::min(limit_, before))
    return Status(Code::out_of_memory, cat("packed weights of ", bytes, " bytes beside the ",
                                           before, " held, the limit is ", limit_));
  std::shared_ptr<std::byte> fresh = zeroed_pages(bytes);
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
