// SPDX-License-Identifier: Apache-2.0
// The processor time of a thread together with that of the threads that work for it: libgomp gives
// each thread that opens parallel regions a team of its own, whose threads serve nobody else.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>

namespace quern {

class TeamClock {
 public:
  // The clock of the calling thread; its first call makes it.
  static const std::shared_ptr<TeamClock>& mine();
  // The same, or null where no call of mine() was made. Valid until the thread ends or forks.
  static const std::shared_ptr<TeamClock>* mine_if_made() noexcept;
  // Forgets the calling thread's: after a fork its team is gone.
  static void forget_mine() noexcept;

  // Counts the calling thread, from now to its end, as one of the team. Allocates nothing.
  static void join(const std::shared_ptr<TeamClock>& clock) noexcept;

  // Counts time that a thread of others has worked for the owner.
  void add(std::chrono::nanoseconds time) noexcept;
  // Remembers a number of threads; returns true if it was another one before.
  bool is_new_size(int threads) noexcept;
  // The processor time of the team's threads since they joined, without that of the caller itself.
  std::chrono::nanoseconds team_time() const noexcept;

 private:
  struct Member;
  static Member& this_thread() noexcept;

  mutable std::mutex mutex_;
  Member* members_ = nullptr;          // a list through the threads' own memory
  std::chrono::nanoseconds ended_{0};  // of members that are gone
  int size_ = 1;                       // under no lock: the owner's
};

}  // namespace quern
