// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/weights.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/devices/vulkan/recorder.h"
#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/slice.h"

namespace quern::vulkan {
namespace {

constexpr std::uint64_t least_block = 1 << 20;
constexpr std::uint64_t most_block = 64 << 20;
constexpr std::uint64_t most_pending = 64 << 20;

}  // namespace

Result<std::shared_ptr<const Slice>> Weights::find_or_make(const GpuConstant& constant) {
  const std::scoped_lock lock(mutex_);
  std::weak_ptr<const Slice>& entry = slices_[cat(constant.bytes, "|", constant.key)];
  if (auto slice = entry.lock()) return slice;
  QUERN_ASSIGN(Slice made, allocate(constant.bytes));
  QUERN_TRY(write(made, constant));
  auto slice = std::make_shared<const Slice>(std::move(made));
  entry = slice;
  return slice;
}

Result<Slice> Weights::allocate(std::uint64_t bytes) {
  const std::uint64_t alignment = core_->capabilities().alignment;
  const std::uint64_t rounded = std::max(round_up(bytes, alignment), alignment);
  if (!block_ || block_->bytes() - used_ < rounded) {
    const std::uint64_t most =
        std::min(most_block, core_->capabilities().max_allocation / 256 * 256);
    const std::uint64_t next = std::min(block_ ? 2 * block_->bytes() : least_block, most);
    QUERN_ASSIGN(block_, Buffer::create(core_, std::max(next, rounded), Buffer::Use::device));
    used_ = 0;
  }
  Slice s{block_, used_, rounded};
  used_ += rounded;
  return s;
}

Status Weights::write(const Slice& slice, const GpuConstant& constant) {
  if (std::byte* to = slice.block->mapped()) {
    std::memset(to + slice.offset, 0, slice.bytes);
    return constant.fill(to + slice.offset);
  }
  QUERN_ASSIGN(auto staging, Buffer::create(core_, slice.bytes, Buffer::Use::upload));
  std::memset(staging->mapped(), 0, slice.bytes);
  QUERN_TRY(constant.fill(staging->mapped()));
  QUERN_TRY(staging->flush());
  pending_bytes_ += slice.bytes;
  pending_.push_back({std::move(staging), slice});
  return pending_bytes_ > most_pending ? upload_locked() : Status();
}

Status Weights::upload() {
  const std::scoped_lock lock(mutex_);
  return upload_locked();
}

Status Weights::upload_locked() {
  if (pending_.empty()) return {};
  QUERN_ASSIGN(auto recorder, Recorder::create(core_));
  for (const Pending& p : pending_) {
    recorder->copy({p.staging->handle(), 0, p.slice.bytes},
                   {p.slice.block->handle(), p.slice.offset, p.slice.bytes});
    core_->counts.bytes_up += p.slice.bytes;
  }
  QUERN_TRY(recorder->finish());
  QUERN_TRY(recorder->submit());
  pending_.clear();
  pending_bytes_ = 0;
  return {};
}

std::size_t Weights::bytes() const {
  const std::scoped_lock lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [key, entry] : slices_)
    if (const auto slice = entry.lock()) sum += slice->bytes;
  return sum;
}

}  // namespace quern::vulkan
