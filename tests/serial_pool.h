// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include <quern/thread_pool.h>

namespace quern::testing {

// A host's pool without threads: all tasks on the caller's, the last one first. Counts them.
class SerialPool final : public ThreadPool {
 public:
  explicit SerialPool(int threads) : threads_(threads) {}
  int threads() const noexcept override { return threads_; }
  void run(int count, Task task, void* data) noexcept override {
    tasks += count;
    for (int i = count; i-- > 0;) task(data, i);
  }
  std::atomic<int> tasks = 0;

 private:
  int threads_;
};

}  // namespace quern::testing
