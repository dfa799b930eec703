// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/pools/chunks.h"

namespace quern {

void Chunks::reserve(std::size_t more) {
  const std::size_t wanted = chunks_.size() + more;
  if (wanted > chunks_.capacity()) chunks_.reserve(2 * wanted);
  // As many ids may be unused as there are.
  if (wanted > unused_.capacity()) unused_.reserve(2 * wanted);
}

std::uint32_t Chunks::add(std::uint64_t address, std::uint64_t bytes) {
  reserve(1);
  if (unused_.empty()) {
    unused_.push_back(end_id());
    chunks_.emplace_back();
  }
  const std::uint32_t id = unused_.back();
  unused_.pop_back();
  chunks_[id] = {.address = address, .bytes = bytes};
  return id;
}

void Chunks::remove(std::uint32_t id) {
  chunks_[id] = {};
  unused_.push_back(id);
}

std::uint32_t Chunks::split(std::uint32_t id, std::uint64_t bytes) {
  const std::uint32_t rest = add(chunks_[id].address + bytes, chunks_[id].bytes - bytes);
  Chunk& first = chunks_[id];
  Chunk& second = chunks_[rest];
  first.bytes = bytes;
  second.before = id;
  second.after = first.after;
  second.is_free = first.is_free;
  first.after = rest;
  if (second.after != no_chunk) chunks_[second.after].before = rest;
  return rest;
}

void Chunks::join_after(std::uint32_t id) {
  const std::uint32_t gone = chunks_[id].after;
  chunks_[id].bytes += chunks_[gone].bytes;
  chunks_[id].after = chunks_[gone].after;
  if (chunks_[id].after != no_chunk) chunks_[chunks_[id].after].before = id;
  remove(gone);
}

void Chunks::move_border(std::uint32_t id, std::uint64_t bytes) {
  Chunk& first = chunks_[id];
  Chunk& second = chunks_[first.after];
  second.bytes = second.end() - (first.address + bytes);
  second.address = first.address + bytes;
  first.bytes = bytes;
}

}  // namespace quern
