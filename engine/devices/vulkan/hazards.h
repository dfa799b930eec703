// SPDX-License-Identifier: Apache-2.0
// Where a list of commands needs barriers, from the bytes that they read and write. Pure: knows no
// device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace quern::vulkan {

enum class Stage : std::uint8_t { transfer = 1, compute = 2 };

struct Access {
  std::uint32_t buffer = 0;  // any numbering
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool written = false;

  bool operator==(const Access&) const = default;
};

// Everything before it is done, and its writes are seen, before anything after it begins.
struct Barrier {
  std::uint8_t stages = 0;   // Stage bits of what came before
  std::uint8_t writers = 0;  // those of them that wrote

  bool operator==(const Barrier&) const = default;
};

// Walks over commands in order. A barrier is asked for only where a command meets bytes that one
// since the last barrier wrote, or writes bytes that one read.
class HazardTracker {
 public:
  // What must stand before this command, if anything.
  std::optional<Barrier> add(Stage stage, std::span<const Access> accesses);
  // What must stand at the end, for somebody else to read what was written; none: nothing was.
  std::optional<Barrier> finish() const;

 private:
  struct Pending {
    Access access;
    Stage stage;
  };
  bool conflicts(const Access& a) const;
  Barrier barrier() const;

  std::vector<Pending> pending_;
};

}  // namespace quern::vulkan
