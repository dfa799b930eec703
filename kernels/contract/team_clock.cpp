// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/team_clock.h"

#include <utility>

#include "engine/vocabulary/platform/process.h"

namespace quern {
namespace {

// That of this thread, if it has one. To ask for it must need no memory; to ask for what is
// destroyed with its thread does, for the first time, and glibc ends a process that has none then.
thread_local const std::shared_ptr<TeamClock>* made = nullptr;

struct OwnClock {
  ~OwnClock() { made = nullptr; }
  std::shared_ptr<TeamClock> clock;
};
thread_local OwnClock own;

}  // namespace

struct TeamClock::Member {
  ~Member() { leave(); }
  void leave() noexcept {
    if (!clock) return;
    const std::lock_guard lock(clock->mutex_);
    Member** link = &clock->members_;
    while (*link != this) link = &(*link)->next;
    *link = next;
    clock->ended_ += platform::thread_time() - joined_at;
  }

  std::shared_ptr<TeamClock> clock;
  platform::ThreadClock id{};
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
  member.id = platform::this_thread_clock();
  member.joined_at = platform::thread_time();
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
  for (const Member* m = members_; m; m = m->next) sum += platform::time_of(m->id) - m->joined_at;
  return sum;
}

}  // namespace quern
