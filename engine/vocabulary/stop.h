// SPDX-License-Identifier: Apache-2.0
// Why a run may end early, and how long loops ask for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <quern/status.h>

namespace quern {

// The conditions of one run: its deadline, and a flag that any thread may raise.
struct StopSignals {
  const std::atomic<bool>* cancelled = nullptr;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

// The kernels of one run ask this whether to end, from any of its threads. After a first yes the
// answer stays yes, so that unfinished work is never taken for a result.
class Stop {
 public:
  explicit Stop(const StopSignals& signals) : signals_(signals) {}
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  bool has_deadline() const noexcept {
    return signals_.deadline != std::chrono::steady_clock::time_point::max();
  }
  // Some 25 ns.
  bool is_reached() const noexcept {
    if (reason_.load(std::memory_order_relaxed) != Reason::none) return true;
    if (signals_.cancelled && signals_.cancelled->load(std::memory_order_relaxed))
      reason_.store(Reason::cancelled, std::memory_order_relaxed);
    else if (has_deadline() && std::chrono::steady_clock::now() > signals_.deadline)
      reason_.store(Reason::deadline, std::memory_order_relaxed);
    else
      return false;
    return true;
  }
  // Errors: busy (cancelled), timed_out.
  Status check() const {
    if (!is_reached()) return {};
    if (reason_.load(std::memory_order_relaxed) == Reason::cancelled)
      return {Code::busy, "cancelled"};
    return {Code::timed_out, "the deadline has passed"};
  }

 private:
  enum class Reason : std::uint8_t { none, cancelled, deadline };

  StopSignals signals_;
  mutable std::atomic<Reason> reason_ = Reason::none;
};

// Counts what a loop does and asks once in a while. One thread's.
class StopCheck {
 public:
  // `stop` may be null: then nothing ends the loop.
  explicit StopCheck(const Stop* stop) : stop_(stop) {}

  // Returns true if the loop must end, and from then on always. A unit is about a nanosecond; the
  // time is looked at every two milliseconds or so.
  bool spend(std::int64_t units) {
    left_ -= units;
    return left_ < 0 && ask();
  }
  // The same for the loop in which a loop ended.
  bool is_over() const { return is_over_; }

 private:
  static constexpr std::int64_t interval = 2'000'000;

  bool ask() {
    is_over_ = is_over_ || (stop_ && stop_->is_reached());
    left_ = is_over_ ? -1 : interval;
    return is_over_;
  }

  const Stop* stop_;
  std::int64_t left_ = interval;
  bool is_over_ = false;
};

}  // namespace quern
