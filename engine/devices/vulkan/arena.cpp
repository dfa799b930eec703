// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/arena.h"

#include <algorithm>

namespace quern::vulkan {

Status Arena::reserve(Buffer::Use use, std::uint64_t bytes) {
  const std::uint64_t before = held(use);
  if (bytes <= before) return {};
  std::shared_ptr<Buffer>& buffer = buffers_[static_cast<std::size_t>(use)];
  note_move();
  buffer = nullptr;
  const std::uint64_t most = core_->capabilities().max_allocation;
  const std::uint64_t ahead = std::max(std::min(grown(before, bytes), most), bytes);
  auto made = Buffer::create(core_, ahead, use);
  if (!made && ahead > bytes) made = Buffer::create(core_, bytes, use);
  if (made) {
    buffer = std::move(*made);
    return {};
  }
  if (before == 0) return std::move(made).error();
  if (auto restored = Buffer::create(core_, before, use)) buffer = std::move(*restored);
  return std::move(made).error();
}

void Arena::release() {
  note_move();
  buffers_ = {};
}

}  // namespace quern::vulkan
