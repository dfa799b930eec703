// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace quern {

// Memory for the intermediate results of several sessions that never run at the same time: as much
// as the largest of them needs, instead of the sum. Of any executables. Any thread.
class SharedArena {
 public:
  static std::shared_ptr<SharedArena> create();
  ~SharedArena();
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  std::size_t bytes() const;
  // Gives the memory back to the system; outputs that lie in it are gone. False: a session runs.
  bool trim();

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  SharedArena();
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
