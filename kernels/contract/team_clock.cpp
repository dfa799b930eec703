// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/team_clock.h"

#include <ctime>
#include <pthread.h>
#include <utility>

namespace quern {
namespace {

// 0 for a thread that is gone.
std::chrono::nanoseconds time_of(clockid_t clock) noexcept {
  timespec t{};
  if (clock_gettime(clock, &t) != 0) return std::chrono::nanoseconds(0);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

// That of this thread, if it has one. To ask for it must need no memory; to ask for what is
// destroyed with its thread does, for the first time, and glibc ends a process that has none then.
thread_local const std::shared_ptr<TeamClock>* made = nullptr;

struct OwnClock {
  ~OwnClock() { made = nullptr; }
  std::shared_ptr<TeamClock> clock;
};
thread_local OwnClock own;

}  // namespace

std::chrono::nanoseconds thread_time() noexcept {
  return time_of(CLOCK_THREAD_CPUTIME_ID);
}

struct TeamClock::Member {
  ~Member() { leave(); }
  void leave() noexcept {
    if (!clock) return;
    const std::lock_guard lock(clock->mutex_);
    Member** link = &clock->members_;
    while (*link != this) link = &(*link)->next;
    *link = next;
    clock->ended_ += thread_time() - joined_at;
  }

  std::shared_ptr<TeamClock> clock;
  clockid_t id{};
  std::chrono::nanoseconds joined_at{0};
  Member* next = nullptr;
};

TeamClock::Member& TeamClock::this_thread() noexcept {
  thread_local Member member;
  return member;
}

const std::shared_ptr<TeamClock>& TeamClock::mine() {
  if (!own.clock) own.clock = std::make_shared<TeamClock>();
  made = &own.clock;
  return own.clock;
}

const std::shared_ptr<TeamClock>* TeamClock::mine_if_made() noexcept {
  return made;
}

void TeamClock::forget_mine() noexcept {
  if (made) own.clock.reset();
  made = nullptr;
}

void TeamClock::join(const std::shared_ptr<TeamClock>& clock) noexcept {
  Member& member = this_thread();
  if (member.clock == clock) return;
  member.leave();
  member.clock = clock;
  if (pthread_getcpuclockid(pthread_self(), &member.id) != 0) member.id = CLOCK_THREAD_CPUTIME_ID;
  member.joined_at = thread_time();
  const std::lock_guard lock(clock->mutex_);
  member.next = std::exchange(clock->members_, &member);
}

void TeamClock::add(std::chrono::nanoseconds time) noexcept {
  const std::lock_guard lock(mutex_);
  ended_ += time;
}

bool TeamClock::is_new_size(int threads) noexcept {
  return std::exchange(size_, threads) != threads;
}

std::chrono::nanoseconds TeamClock::team_time() const noexcept {
  const std::lock_guard lock(mutex_);
  std::chrono::nanoseconds sum = ended_;
  for (const Member* m = members_; m; m = m->next) sum += time_of(m->id) - m->joined_at;
  return sum;
}

}  // namespace quern
