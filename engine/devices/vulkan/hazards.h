// SPDX-License-Identifier: Apache-2.0
// Finds where a list of commands needs barriers, from the bytes that the commands read and write.
// Independent of any device.
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

// All commands before the barrier are done, and their writes visible, before any command after it
// begins.
struct Barrier {
  std::uint8_t stages = 0;   // Stage bits of the commands before it
  std::uint8_t writers = 0;  // the stages among them that wrote

  bool operator==(const Barrier&) const = default;
};

// Walks over commands in order. A barrier is requested only if a command reads or writes bytes that
// a command since the last barrier wrote, or writes bytes that such a command read.
class HazardTracker {
 public:
  // Returns the barrier that is needed before this command, if any.
  std::optional<Barrier> add(Stage stage, std::span<const Access> accesses);
  // Returns the barrier that is needed at the end to make the writes visible to others; nullopt if
  // nothing was written.
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
