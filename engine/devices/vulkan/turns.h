// SPDX-License-Identifier: Apache-2.0
// How many pieces of a long run go out together, so that runs share a queue by turns: its commands
// run in the order of their submission, whoever submitted them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "engine/vocabulary/stop.h"

namespace quern::vulkan {

// The turns of one run. While nobody else submits, a turn is so long (8 to 20 ms) that waiting for
// its end costs nothing. Where others do, it is half as long as the last one had to wait for them,
// and 2 to 20 ms: short runs wait for one turn of a long one, which gets a share of the time still.
class Turns {
 public:
  using Clock = std::chrono::steady_clock;

  // What others have submitted since the last turn was.
  enum class Others : std::uint8_t { nothing, something };

  // The number of pieces of the next turn.
  std::size_t next(Others others, Clock::time_point now);
  // The last turn is over: it began `waited` after it was submitted, and took `ran`.
  void end(Clock::duration waited, Clock::duration ran);

 private:
  std::size_t pieces_ = 1;
  Clock::duration waited_{}, ran_{};
  Clock::time_point shared_until_{};
};

// Runs in pieces that have had little of a device so far: those that have had more let them go
// first for a while, so that what is over soon is not stretched to twice its time. Any thread.
class YoungRuns {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration youth = std::chrono::milliseconds(200);  // of the device's time

  // One run among them, until it has had its youth or ends.
  class Member {
   public:
    explicit Member(YoungRuns& runs) : runs_(runs) { runs_.change(1); }
    ~Member() { leave(); }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    void spend(Clock::duration ran);
    // Before a turn: waits for runs that are younger, 50 ms at most. Returns the time that took.
    Clock::duration yield(const Stop& stop);

   private:
    void leave();

    YoungRuns& runs_;
    bool is_young_ = true;
    Clock::duration ran_{};
  };

 private:
  void change(int by);

  std::mutex mutex_;
  std::condition_variable none_;
  int count_ = 0;
};

}  // namespace quern::vulkan
