// SPDX-License-Identifier: Apache-2.0
// Counts the bytes of tables: graphs, programs, generated code and the state that a session keeps
// for each kernel. They are estimates, a little above what allocators say; weights and arenas are
// counted where they are allocated.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <quern/status.h>

#include "engine/compile/program.h"
#include "graph/graph.h"

namespace quern {

// The sum of what is alive. Any thread.
class Ledger {
 public:
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  friend class LedgerEntry;
  std::atomic<std::size_t> bytes_ = 0;
};

// An amount in a ledger, until the entry is destroyed. One thread at a time.
class LedgerEntry {
 public:
  LedgerEntry() = default;
  LedgerEntry(std::shared_ptr<Ledger> ledger, std::size_t bytes)
      : ledger_(std::move(ledger)), bytes_(bytes) {
    ledger_->bytes_ += bytes_;
  }
  LedgerEntry(LedgerEntry&& other) noexcept { swap(other); }
  LedgerEntry& operator=(LedgerEntry&& other) noexcept {
    swap(other);
    return *this;
  }
  ~LedgerEntry() {
    if (ledger_) ledger_->bytes_ -= bytes_;
  }

  std::size_t bytes() const { return bytes_; }

 private:
  void swap(LedgerEntry& other) noexcept {
    std::swap(ledger_, other.ledger_);
    std::swap(bytes_, other.bytes_);
  }

  std::shared_ptr<Ledger> ledger_;
  std::size_t bytes_ = 0;
};

// Nodes, values and bodies, without the elements of constants.
std::size_t table_bytes(const Graph& graph);
std::size_t table_bytes(const Program& program);

// The memory that compiling holds at one time, most of it for as long as it takes: `passes`: the
// graph of the model and the copy that passes change; `lowering`: the same, and the steps with and
// without places in memory.
enum class CompilePhase : std::uint8_t { passes, lowering };
// Errors: out_of_memory where that is more than `limit` (0: none) and 4 MiB.
Status check_room(const Graph& graph, CompilePhase phase, std::size_t limit);

}  // namespace quern
