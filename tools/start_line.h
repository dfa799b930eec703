// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

namespace quern::tools {

// Where threads wait, awake, until all of them have come.
class StartLine {
 public:
  explicit StartLine(std::size_t threads) : missing_(threads) {}

  void arrive_and_wait() {
    --missing_;
    while (missing_ > 0) std::this_thread::yield();
  }

 private:
  std::atomic<std::size_t> missing_;
};

}  // namespace quern::tools
