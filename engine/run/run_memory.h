// SPDX-License-Identifier: Apache-2.0
// Memory of a session's runs, in all graphs: a pool for what no plan knows, blocks of it, and the
// arena of a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <quern/host.h>

#include "engine/compile/mapped_source.h"
#include "engine/run/device_arena.h"
#include "engine/run/execution_context.h"
#include "engine/run/memory_recorder.h"
#include "graph/memory/pools/pool.h"
#include "graph/reference.h"

namespace quern {

class RunMemory {
 public:
  // Blocks are those of a pool, or of `host` (it may be null), whose allocator is pool enough.
  explicit RunMemory(const MemoryPoolKind& kind, std::shared_ptr<Host> host = nullptr)
      : kind_(kind), host_(std::move(host)) {}

  // Limits the bytes that the pool reserves for all blocks together.
  void set_limit(std::size_t bytes);
  std::size_t reserved_bytes() const { return pool_ ? pool_->stats().now.reserved : host_bytes_; }
  std::size_t peak_bytes() const { return pool_ ? pool_->stats().most.reserved : host_peak_; }
  void trim();

  // Records all blocks from now on; null: no recording.
  MemoryRecorder* recorder = nullptr;
  // Strings of the run, in all graphs inside of it: what a loop's body makes is carried on.
  StringPool strings;
  // Null on the CPU.
  std::shared_ptr<DeviceArena> device;
  // All contexts that run in `device`; they leave when they are destroyed.
  std::vector<ExecutionContext*> contexts;

 private:
  friend class RunBlock;
  MemoryPool& pool();
  Result<PoolBlock> allocate(std::size_t bytes);
  bool extend(PoolBlock& block, std::size_t bytes);
  void free(const PoolBlock& block);

  const MemoryPoolKind& kind_;
  std::shared_ptr<Host> host_;
  std::size_t host_bytes_ = 0;  // of blocks of the host
  std::size_t host_peak_ = 0;
  std::size_t limit_ = static_cast<std::size_t>(MemoryPoolOptions().limit);
  MappedSource source_;
  std::unique_ptr<MemoryPool> pool_;  // created on first use: most sessions need none
};

// A block that only grows, aligned to 64 bytes, or no block yet. The RunMemory must outlive it.
class RunBlock {
 public:
  // For an arena the recorder gets its buffers, not the block.
  enum class Holds : std::uint8_t { value, arena };

  explicit RunBlock(RunMemory& memory, Holds holds = Holds::value)
      : memory_(&memory), holds_(holds) {}
  ~RunBlock() { release(); }
  RunBlock(RunBlock&& other) noexcept { swap(other); }
  RunBlock& operator=(RunBlock&& other) noexcept {
    swap(other);
    return *this;
  }

  // Makes room for `bytes`; data() is not null even for 0 bytes. The contents are lost if the block
  // was smaller. Errors: out_of_memory.
  Status reserve(std::size_t bytes);
  // The same, but keeps the first `used` bytes.
  Status grow(std::size_t used, std::size_t bytes);
  void release();

  std::byte* data() const { return bytes_of(block_); }
  std::size_t size() const { return block_.bytes; }

 private:
  static std::byte* bytes_of(const PoolBlock& block) {
    return reinterpret_cast<std::byte*>(block.address);  // NOLINT: what a pool calls a number
  }
  bool holds_block() const { return block_.address != 0; }
  void swap(RunBlock& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(holds_, other.holds_);
    std::swap(block_, other.block_);
    std::swap(recorded_, other.recorded_);
  }
  void record();

  RunMemory* memory_ = nullptr;
  Holds holds_ = Holds::value;
  PoolBlock block_;
  MemoryRecorder::Id recorded_ = MemoryRecorder::none;
};

}  // namespace quern
