// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <utility>

#include <quern/status.h>

namespace quern {

// The first error of calls that several threads make.
class FirstError {
 public:
  // Any thread.
  void keep(Status status) noexcept {
    if (!status.ok() && !is_taken_.exchange(true)) status_ = std::move(status);
  }
  // Once all threads are done.
  Status take() { return std::move(status_); }

 private:
  std::atomic<bool> is_taken_ = false;
  Status status_;
};

}  // namespace quern
