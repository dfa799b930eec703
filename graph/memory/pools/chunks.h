// SPDX-License-Identifier: Apache-2.0
// Regions divided into chunks that know their neighbours: bookkeeping for pools that split and
// merge.
#pragma once

#include <cstddef>
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
  // All ids in use are below it; an unused id has 0 bytes.
  std::uint32_t end_id() const { return static_cast<std::uint32_t>(chunks_.size()); }

  // Makes room for `more` chunks, so that the next functions need no memory until then.
  void reserve(std::size_t more);
  // Adds a region as one free chunk. Only this and split() may need memory; without it nothing has
  // changed.
  std::uint32_t add(std::uint64_t address, std::uint64_t bytes);
  void remove(std::uint32_t id);
  // Shrinks the chunk to `bytes`; the rest becomes a new chunk after it, free if the chunk is.
  // Returns its id.
  std::uint32_t split(std::uint32_t id, std::uint64_t bytes);
  // Merges the chunk with the one after it.
  void join_after(std::uint32_t id);
  // Moves the border between the chunk and the one after it.
  void move_border(std::uint32_t id, std::uint64_t bytes);

 private:
  std::vector<Chunk> chunks_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace quern
