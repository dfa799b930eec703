// SPDX-License-Identifier: Apache-2.0
// The threads of quern's own pool: each task once, callers that never wait for the tasks of others,
// threads that sleep while there is nothing to do.
#include "kernels/contract/worker_pool.h"

#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <quern/thread_pool.h>

#include "kernels/contract/kernel.h"
#include "kernels/contract/openmp.h"
#include "tests/process_time.h"
#include "tests/serial_pool.h"

namespace quern::testing {
namespace {

template <class F>
void run(ThreadPool& pool, int count, const F& f) {
  pool.run(
      count, [](void* data, int i) { (*static_cast<const F*>(data))(i); }, const_cast<F*>(&f));
}

std::vector<int> calls_of(ThreadPool& pool, int count) {
  std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
  run(pool, count, [&](int i) { ++calls[static_cast<std::size_t>(i)]; });
  return {calls.begin(), calls.end()};
}

TEST(WorkerPool, RunsEachTaskOnce) {
  for (const int threads : {1, 2, 5}) {
    const auto pool = make_thread_pool(threads).value();
    EXPECT_EQ(pool->threads(), threads);
    for (const int count : {0, 1, 2, 3, 1000})
      EXPECT_EQ(calls_of(*pool, count), std::vector<int>(static_cast<std::size_t>(count), 1));
  }
}

TEST(WorkerPool, HasAThreadForEachCpuUnlessToldOtherwise) {
  EXPECT_EQ(make_thread_pool().value()->threads(), default_threads());
  EXPECT_EQ(make_thread_pool(-3).value()->threads(), default_threads());
}

TEST(WorkerPool, ServesManyCallersAtOneTime) {
  const auto pool = make_thread_pool(3).value();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i)
        if (calls_of(*pool, 7) != std::vector<int>(7, 1)) ++wrong;
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(WorkerPool, ACallerDoesNotWaitForTheTasksOfOthers) {
  const auto pool = make_thread_pool(2).value();
  std::latch started(2), may_end(1);
  // Both threads that there are for it, its own and the pool's.
  std::thread slow([&] {
    run(*pool, 2, [&](int) {
      started.count_down();
      may_end.wait();
    });
  });
  started.wait();
  EXPECT_EQ(calls_of(*pool, 20), std::vector<int>(20, 1));
  may_end.count_down();
  slow.join();
}

// Two calls of more tasks than there are threads: the threads that help, once they are free, go to
// them by their weights, and each caller works for its own.
TEST(WorkerPool, SharesItsThreadsOutByWeight) {
  constexpr int helpers = 8;
  const auto pool = make_thread_pool(helpers + 1).value();
  const auto light = with_weight(pool, 1).value(), heavy = with_weight(pool, 3).value();
  std::latch all_are_busy(helpers + 1), callers_began(2), all_are_shared_out(helpers + 2);
  std::thread first([&] {
    run(*pool, helpers + 1, [&](int) {
      all_are_busy.arrive_and_wait();
      callers_began.wait();
    });
  });
  all_are_busy.wait();
  std::atomic<int> of_light = 0, of_heavy = 0;
  const auto call = [&](ThreadPool& threads, std::atomic<int>& tasks) {
    run(threads, helpers + 1, [&, began = std::this_thread::get_id()](int) {
      if (all_are_shared_out.try_wait()) return;
      ++tasks;
      if (std::this_thread::get_id() == began) callers_began.count_down();
      all_are_shared_out.arrive_and_wait();
    });
  };
  std::thread light_caller([&] { call(*light, of_light); });
  std::thread heavy_caller([&] { call(*heavy, of_heavy); });
  first.join();
  light_caller.join();
  heavy_caller.join();
  // The callers themselves, and of the eight the fourth part and the rest, whoever called first.
  EXPECT_EQ(of_light, 1 + 2);
  EXPECT_EQ(of_heavy, 1 + 6);
}

std::size_t threads_at_work(ThreadPool& pool) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  run(pool, 60, [&](int) {
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  return seen.size();
}

TEST(WorkerPool, CallersAndHelpersAreAsManyAsItsThreads) {
  const auto pool = make_thread_pool(3).value();
  const auto weighted = with_weight(pool, 7).value();
  const PoolCaller mine(pool.get());
  const PoolCaller nobody(nullptr);
  const auto host = std::make_shared<SerialPool>(3);
  const PoolCaller of_host(host.get());
  const PoolCaller second(weighted.get());
  EXPECT_LE(threads_at_work(*pool), 2U);
  const PoolCaller third(pool.get());
  EXPECT_EQ(threads_at_work(*pool), 1U);
  const PoolCaller fourth(pool.get());
  EXPECT_EQ(threads_at_work(*pool), 1U);
}

TEST(WorkerPool, HelpsAgainWhenACallerHasEnded) {
  const auto pool = make_thread_pool(2).value();
  std::optional<PoolCaller> other(pool.get());
  std::latch both(2), began(1);
  std::thread caller([&] {
    const PoolCaller mine(pool.get());
    run(*pool, 2, [&](int) {
      began.count_down();
      both.arrive_and_wait();
    });
  });
  began.wait();
  EXPECT_FALSE(both.try_wait());
  other.reset();
  caller.join();
}

TEST(WorkerPool, AWeightIsANumberForThreadsOfQuern) {
  const auto pool = make_thread_pool(2).value();
  EXPECT_FALSE(with_weight(pool, 0));
  EXPECT_FALSE(with_weight(pool, 1'000'001));
  EXPECT_FALSE(with_weight(nullptr, 2));
  EXPECT_FALSE(with_weight(std::make_shared<SerialPool>(2), 2));
  const auto twice = with_weight(with_weight(pool, 5).value(), 1'000'000).value();
  EXPECT_EQ(twice->threads(), 2);
  EXPECT_EQ(calls_of(*twice, 100), std::vector<int>(100, 1));
}

TEST(WorkerPool, TheProcessHasOneForEverybody) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a child of fork() that starts threads";
#endif
  const auto one = shared_thread_pool().value();
  EXPECT_EQ(one, shared_thread_pool().value());
  EXPECT_EQ(one->threads(), default_threads());
  const pid_t child = fork();
  if (child == 0) _exit(shared_thread_pool().value() != one ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "a child has threads of its own";
}

TEST(WorkerPool, WithoutTasksItsThreadsSleep) {
  using std::chrono::milliseconds;
  const auto idle = [] {
    const auto pool = make_thread_pool(4).value();
    calls_of(*pool, 100);
    std::this_thread::sleep_for(milliseconds(20));
    return process_ms_of([] { std::this_thread::sleep_for(milliseconds(300)); });
  };
  EXPECT_LT(least_of(30, idle), 30);
}

TEST(WorkerPool, AChildOfForkRunsItsTasksAlone) {
  const auto pool = make_thread_pool(4).value();
  calls_of(*pool, 10);
  const pid_t child = fork();
  if (child == 0) {
    auto mine = pool;
    const bool right = calls_of(*mine, 100) == std::vector<int>(100, 1);
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(calls_of(*pool, 10), std::vector<int>(10, 1));
}

TEST(ParallelInPool, CoversTheRangeInPartsOfTheGrainAtLeast) {
  const auto pool = make_thread_pool(3).value();
  for (const std::int64_t n : {0, 1, 9, 10, 11, 1000}) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
    std::atomic<int> parts = 0, short_parts = 0;
    Parallel(3, nullptr, pool.get())(n, 10, [&](std::int64_t begin, std::int64_t end) {
      ++parts;
      if (end - begin < 10) ++short_parts;
      for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
    });
    EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& s) { return s == 1; })) << n;
    EXPECT_LE(parts, 12);
    EXPECT_EQ(short_parts, n > 0 && n < 10 ? 1 : 0) << n;
  }
}

// A slot is never in use twice at one time, and as few slots are used as there are threads.
TEST(ParallelInPool, GivesEachCallASlotOfItsOwn) {
  const auto own = make_thread_pool(3).value();
  for (ThreadPool* const pool : {own.get(), static_cast<ThreadPool*>(nullptr)}) {
    std::vector<std::atomic<int>> users(3), seen(500);
    std::atomic<bool> is_shared = false;
    Parallel(3, nullptr, pool).each(500, [&](std::size_t slot, std::int64_t i) {
      if (users.at(slot)++ > 0) is_shared = true;
      ++seen[static_cast<std::size_t>(i)];
      --users[slot];
    });
    EXPECT_FALSE(is_shared);
    EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& s) { return s == 1; }));
  }
}

// Counts the calls of helpers and of the caller. The first of a helper lasts until the pool has as
// many callers as threads, and the caller's do not end before.
class LongLoop {
 public:
  void call() {
    if (std::this_thread::get_id() == caller_) {
      helper_began_.wait();
      return;
    }
    ++calls_of_helper_;
    if (!std::exchange(is_begun_, true)) {
      others_.emplace(pool_.get());
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      helper_began_.count_down();
    }
  }
  ThreadPool* pool() const { return pool_.get(); }
  int calls_of_helper() const { return calls_of_helper_; }

 private:
  const std::thread::id caller_ = std::this_thread::get_id();
  const std::shared_ptr<ThreadPool> pool_ = make_thread_pool(2).value();
  const PoolCaller mine_{pool_.get()};
  std::optional<PoolCaller> others_;
  std::latch helper_began_{1};
  bool is_begun_ = false;
  int calls_of_helper_ = 0;
};

TEST(ParallelInPool, AHelperThatIsOneTooManyLeavesItsPartToTheCaller) {
  LongLoop loop;
  const Stop stop({});
  std::vector<int> seen(1000);
  Parallel(2, &stop, loop.pool())(1000, 1, [&](std::int64_t begin, std::int64_t end) {
    loop.call();
    for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
  });
  EXPECT_EQ(seen, std::vector<int>(1000, 1));
  EXPECT_EQ(loop.calls_of_helper(), 1);
}

TEST(ParallelInPool, AHelperThatIsOneTooManyLeavesItsSlot) {
  LongLoop loop;
  std::vector<int> seen(1000);
  Parallel(2, nullptr, loop.pool()).each(1000, [&](std::size_t, std::int64_t i) {
    loop.call();
    ++seen[static_cast<std::size_t>(i)];
  });
  EXPECT_EQ(seen, std::vector<int>(1000, 1));
  EXPECT_EQ(loop.calls_of_helper(), 1);
}

TEST(ParallelInPool, AHelperLeavesALongPartForACallerThatHasFewer) {
  const auto pool = make_thread_pool(3).value();
  static thread_local int calls_beside = 0;  // of the long loop, since the short one began
  std::atomic<bool> short_began = false, short_ended = false;
  std::latch all_are_busy(3), both(2);
  std::atomic<int> calls_before_leaving = -1;
  std::thread other([&] {
    all_are_busy.wait();
    run(*pool, 2, [&, caller = std::this_thread::get_id()](int) {
      short_began = true;
      if (std::this_thread::get_id() != caller) calls_before_leaving = calls_beside;
      both.arrive_and_wait();
    });
    short_ended = true;
  });
  const Stop stop({});
  std::vector<std::atomic<int>> seen(600);
  Parallel(3, &stop, pool.get())(600, 1, [&](std::int64_t begin, std::int64_t end) {
    if (seen[static_cast<std::size_t>(begin)]++ == 0 && begin % 50 == 0 && !short_ended)
      if (!all_are_busy.try_wait()) all_are_busy.arrive_and_wait();
    if (short_began) ++calls_beside;
    if (!short_ended) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    for (std::int64_t i = begin + 1; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
  });
  other.join();
  EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& s) { return s == 1; }));
  EXPECT_GE(calls_before_leaving, 0);
  EXPECT_LE(calls_before_leaving, 1) << "one was under way";
}

TEST(ParallelInPool, EndsEarlyWhereTheRunIsStopped) {
  const auto pool = make_thread_pool(2).value();
  const std::atomic<bool> cancelled = true;
  const Stop stop({.cancelled = &cancelled});
  std::atomic<int> calls = 0;
  Parallel(2, &stop, pool.get())(1000, 1, [&](std::int64_t, std::int64_t) { ++calls; });
  Parallel(2, &stop, pool.get()).each(1000, [&](std::size_t, std::int64_t) { ++calls; });
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace quern::testing
