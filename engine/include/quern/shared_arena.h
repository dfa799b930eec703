// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace quern {

// Memory for the intermediate results of several sessions that never run at the same time: as much
// as the largest session needs, instead of the sum, on the host and on each device that they run
// on. The sessions may belong to different executables. A device that has run in it is kept open.
// Any thread.
class SharedArena {
 public:
  static std::shared_ptr<SharedArena> create();
  ~SharedArena();
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  std::size_t bytes() const;  // as of the end of the last run
  // Returns the memory to the system; outputs that lie in it are lost. Returns false if a session
  // is running in it.
  bool trim();

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  SharedArena();
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
