// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/arena_touches.h"

#include <algorithm>
#include <iterator>

namespace quern::vulkan {

std::optional<std::size_t> ArenaTouches::last(std::uint64_t offset, std::uint64_t bytes) const {
  std::optional<std::size_t> latest;
  if (bytes == 0) return latest;
  auto piece = pieces_.upper_bound(offset);
  if (piece != pieces_.begin() && std::prev(piece)->second.end > offset) --piece;
  for (; piece != pieces_.end() && piece->first < offset + bytes; ++piece)
    latest = std::max(latest.value_or(0), piece->second.step);
  return latest;
}

void ArenaTouches::touch(std::uint64_t offset, std::uint64_t bytes, std::size_t step) {
  if (bytes == 0) return;
  cut(offset);
  cut(offset + bytes);
  pieces_.erase(pieces_.lower_bound(offset), pieces_.lower_bound(offset + bytes));
  pieces_[offset] = {offset + bytes, step};
}

void ArenaTouches::cut(std::uint64_t at) {
  const auto next = pieces_.lower_bound(at);
  if (next == pieces_.begin()) return;
  Piece& before = std::prev(next)->second;
  if (before.end <= at) return;
  pieces_.emplace_hint(next, at, before);
  before.end = at;
}

}  // namespace quern::vulkan
