// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/content_hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace quern {
namespace {

constexpr std::array<std::uint64_t, 4> odd = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f,
                                              0x165667b19e3779f9, 0x27d4eb2f165667c5};

// Every bit of the result depends on every bit of `v` (the finalisation of MurmurHash3).
std::uint64_t mixed(std::uint64_t v) {
  v = (v ^ v >> 33) * 0xff51afd7ed558ccd;
  v = (v ^ v >> 33) * 0xc4ceb9fe1a85ec53;
  return v ^ v >> 33;
}

using Lanes = std::array<std::uint64_t, 4>;

inline std::uint64_t taken(std::uint64_t lane, std::uint64_t word, std::uint64_t factor) {
  return std::rotl((lane ^ word) * factor, 29);
}

// Four lanes that do not wait for each other: one multiplication has the latency of several. They
// are written out, since gcc at -O2 leaves a loop over them as one through memory, which takes four
// times as long.
inline void take(Lanes& lanes, const std::byte* at) {
  Lanes words;
  std::memcpy(words.data(), at, sizeof words);
  lanes[0] = taken(lanes[0], words[0], odd[0]);
  lanes[1] = taken(lanes[1], words[1], odd[1]);
  lanes[2] = taken(lanes[2], words[2], odd[2]);
  lanes[3] = taken(lanes[3], words[3], odd[3]);
}

}  // namespace

ContentHasher::ContentHasher() : state_(odd) {}

void ContentHasher::add(std::span<const std::byte> bytes) {
  const std::size_t held = size_ % block;
  size_ += bytes.size();
  if (held > 0) {
    const std::size_t more = std::min(block - held, bytes.size());
    std::copy_n(bytes.begin(), more, rest_.begin() + static_cast<std::ptrdiff_t>(held));
    bytes = bytes.subspan(more);
    if (held + more < block) return;
    take(state_, rest_.data());
  }
  Lanes local = state_;  // in registers
  for (; bytes.size() >= block; bytes = bytes.subspan(block)) take(local, bytes.data());
  state_ = local;
  std::ranges::copy(bytes, rest_.begin());
}

ContentHash ContentHasher::value() const {
  ContentHasher last = *this;
  std::fill(last.rest_.begin() + static_cast<std::ptrdiff_t>(size_ % block), last.rest_.end(),
            std::byte{0});
  take(last.state_, last.rest_.data());
  ContentHash hash = {size_, ~size_};
  for (std::size_t i = 0; i < lanes; ++i) {
    hash[0] = mixed(hash[0] ^ last.state_[i]);
    hash[1] = mixed(hash[1] + std::rotl(last.state_[i], 32) + odd[i]);
  }
  return hash;
}

ContentHash content_hash(std::span<const std::byte> bytes) {
  ContentHasher hasher;
  hasher.add(bytes);
  return hasher.value();
}

}  // namespace quern
