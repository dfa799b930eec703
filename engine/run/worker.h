// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <quern/status.h>

#include "engine/devices/device_tensor_impl.h"
#include "engine/vocabulary/platform/process.h"

namespace quern {

// A thread that runs the same work whenever it is started, so that starting allocates nothing. A
// child of fork() has no such thread: what is left of it there can be asked, waited for and
// destroyed, but neither started nor awaited with success.
class Worker final : public PendingRun {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Worker(std::function<Status()> work)
      : work_(std::move(work)), state_(std::make_unique<State>()) {
    state_->thread = std::thread([this] { loop(); });
  }
  // Waits for work in progress.
  ~Worker() override {
    // Joining, or destroying what the thread waits for, would not end.
    if (!is_of_this_process()) {
      (void)state_.release();
      return;
    }
    {
      const std::lock_guard lock(state_->mutex);
      state_->ends = true;
    }
    state_->changed.notify_all();
    state_->thread.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  bool is_of_this_process() const { return process_ == platform::process_id(); }

  void start() {
    {
      const std::lock_guard lock(state_->mutex);
      state_->is_busy = true;
    }
    state_->changed.notify_all();
  }
  bool is_done_by(Clock::time_point deadline) {
    if (!is_of_this_process()) return true;
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_until(lock, deadline, [this] { return !state_->is_busy; });
  }
  void join() override { (void)is_done_by(Clock::time_point::max()); }
  bool is_in_order() const override { return false; }
  // Waits for the work and returns its status. Errors: also invalid_argument, in a child of fork().
  Status wait() {
    if (!is_of_this_process())
      return {Code::invalid_argument,
              "the run was submitted before fork(); its thread is the parent's"};
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [this] { return !state_->is_busy; });
    return std::move(state_->answer);
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_busy = false;
    bool ends = false;
    Status answer;
    std::thread thread;
  };

  void loop() {
    std::unique_lock lock(state_->mutex);
    for (;;) {
      state_->changed.wait(lock, [this] { return state_->is_busy || state_->ends; });
      if (!state_->is_busy) return;
      lock.unlock();
      Status answer = work_();
      lock.lock();
      state_->answer = std::move(answer);
      state_->is_busy = false;
      state_->changed.notify_all();
    }
  }

  const std::function<Status()> work_;
  const std::int64_t process_ = platform::process_id();
  std::unique_ptr<State> state_;
};

}  // namespace quern
