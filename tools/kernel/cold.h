// SPDX-License-Identifier: Apache-2.0
// Caches without what a kernel reads: memory is walked through until what was in them is gone,
// which is measured, or as far as a model does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quern::tools::lab {

class CacheEvictor {
 public:
  // Finds how many bytes to walk through, at most `most_bytes`: the least after which reading a
  // probe takes nine tenths of the longest that it ever takes. Takes a second or less.
  explicit CacheEvictor(std::size_t most_bytes = std::size_t{256} << 20);

  // Walks through the bytes, on the calling thread.
  void evict();

  std::size_t bytes() const { return bytes_; }
  // The time to read a line of the probe that was just read, and after an eviction.
  double warm_ns() const { return warm_ns_; }
  double cold_ns() const { return cold_ns_; }

 private:
  double probe_ns();  // a line of the probe
  double probe_after(std::size_t bytes);
  void walk(std::size_t bytes);

  std::vector<unsigned char> memory_;
  std::vector<std::uint32_t> probe_;  // a cycle through lines, in an order that nothing foresees
  std::size_t bytes_ = 0;
  double warm_ns_ = 0;
  double cold_ns_ = 0;
};

// The memory that other kernels of a model read between two calls of one.
class OtherMemory {
 public:
  // Takes at most 256 MiB.
  explicit OtherMemory(std::size_t bytes);

  // Reads so many bytes, or all that there are, on the calling thread.
  void read(std::size_t bytes) const;

 private:
  std::vector<unsigned char> memory_;
};

}  // namespace quern::tools::lab
