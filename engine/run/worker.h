// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include <quern/status.h>

#include "engine/devices/device_tensor_impl.h"

namespace quern {

// A thread that runs the same work whenever it is started, so that starting allocates nothing.
class Worker final : public PendingRun {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Worker(std::function<Status()> work)
      : work_(std::move(work)), thread_([this] { loop(); }) {}
  // Waits for work in progress.
  ~Worker() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void start() {
    {
      const std::lock_guard lock(mutex_);
      is_busy_ = true;
    }
    changed_.notify_all();
  }
  bool is_done_by(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this] { return !is_busy_; });
  }
  void join() override { (void)is_done_by(Clock::time_point::max()); }
  bool is_in_order() const override { return false; }
  // Waits for the work and returns its status.
  Status wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_busy_; });
    return std::move(answer_);
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return is_busy_ || ends_; });
      if (!is_busy_) return;
      lock.unlock();
      Status answer = work_();
      lock.lock();
      answer_ = std::move(answer);
      is_busy_ = false;
      changed_.notify_all();
    }
  }

  std::function<Status()> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_busy_ = false;
  bool ends_ = false;
  Status answer_;
  std::thread thread_;
};

}  // namespace quern
