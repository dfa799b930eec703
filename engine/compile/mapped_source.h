// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/memory/pools/pool.h"

namespace quern {

// Pages of the process: open() reserves address space, and commit() backs a part of it with memory.
class MappedSource final : public PoolSource {
 public:
  MappedSource();

  std::uint64_t page() const override { return page_; }
  std::optional<std::uint64_t> open(std::uint64_t bytes) override;
  void close(std::uint64_t address, std::uint64_t bytes) override;
  bool commit(std::uint64_t address, std::uint64_t bytes) override;
  // Later reads of this range fault.
  void decommit(std::uint64_t address, std::uint64_t bytes) override;

 private:
  std::uint64_t page_;
};

}  // namespace quern
