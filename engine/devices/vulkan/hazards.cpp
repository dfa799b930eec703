// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/hazards.h"

#include <algorithm>

namespace quern::vulkan {
namespace {

bool overlap(const Access& a, const Access& b) {
  return a.buffer == b.buffer && a.bytes && b.bytes && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

}  // namespace

bool HazardTracker::conflicts(const Access& a) const {
  return std::ranges::any_of(pending_, [&](const Pending& p) {
    return (a.written || p.access.written) && overlap(a, p.access);
  });
}

Barrier HazardTracker::barrier() const {
  Barrier b;
  for (const Pending& p : pending_) {
    b.stages |= static_cast<std::uint8_t>(p.stage);
    if (p.access.written) b.writers |= static_cast<std::uint8_t>(p.stage);
  }
  return b;
}

std::optional<Barrier> HazardTracker::add(Stage stage, std::span<const Access> accesses) {
  std::optional<Barrier> needed;
  if (std::ranges::any_of(accesses, [&](const Access& a) { return conflicts(a); })) {
    needed = barrier();
    pending_.clear();
  }
  for (const Access& a : accesses)
    if (a.bytes) pending_.push_back({a, stage});
  return needed;
}

std::optional<Barrier> HazardTracker::finish() const {
  const Barrier b = barrier();
  return b.writers ? std::optional(b) : std::nullopt;
}

}  // namespace quern::vulkan
