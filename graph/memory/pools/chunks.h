// SPDX-License-Identifier: Apache-2.0
// Regions cut into chunks that know their neighbours: the books of pools that split and join.
#pragma once

#include <cstdint>
#include <vector>

namespace quern {

inline constexpr std::uint32_t no_chunk = ~std::uint32_t{0};

struct Chunk {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t before = no_chunk;  // neighbours in the same region
  std::uint32_t after = no_chunk;
  bool is_free = true;

  std::uint64_t end() const { return address + bytes; }
  bool is_region() const { return before == no_chunk && after == no_chunk; }
};

class Chunks {
 public:
  Chunk& operator[](std::uint32_t id) { return chunks_[id]; }
  const Chunk& operator[](std::uint32_t id) const { return chunks_[id]; }
  // Ids in use are below it; an unused one has no bytes.
  std::uint32_t end_id() const { return static_cast<std::uint32_t>(chunks_.size()); }

  // A region as one free chunk.
  std::uint32_t add(std::uint64_t address, std::uint64_t bytes);
  void remove(std::uint32_t id);
  // Leaves `bytes` to the chunk; the rest becomes a new one behind it, free as it is.
  std::uint32_t split(std::uint32_t id, std::uint64_t bytes);
  // Takes over the chunk behind it.
  void join_after(std::uint32_t id);
  // Moves the border between the chunk and the one behind it.
  void move_border(std::uint32_t id, std::uint64_t bytes);

 private:
  std::vector<Chunk> chunks_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace quern
