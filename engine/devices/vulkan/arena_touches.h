// SPDX-License-Identifier: Apache-2.0
// Which bytes of an arena were touched when, for steps that are told one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace quern::vulkan {

// A call takes logarithmic time in the number of calls before it, in the mean of many that touch
// what they ask for.
class ArenaTouches {
 public:
  // The last step that touched one of the bytes [offset, offset + bytes), if there is one.
  std::optional<std::size_t> last(std::uint64_t offset, std::uint64_t bytes) const;
  void touch(std::uint64_t offset, std::uint64_t bytes, std::size_t step);

 private:
  struct Piece {
    std::uint64_t end;
    std::size_t step;
  };
  // Divides the piece that lies on both sides of this byte.
  void cut(std::uint64_t at);

  std::map<std::uint64_t, Piece> pieces_;  // by their first byte; disjoint
};

}  // namespace quern::vulkan
