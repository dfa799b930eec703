// SPDX-License-Identifier: Apache-2.0
// The threads of quern's own pool. A call of run() is a job on its caller's stack; the jobs in
// progress are a list, from which threads take tasks one by one, the caller of a job from its own,
// others from the one that has the fewest of them for its weight. Callers and helpers together are
// as many as the pool's threads: more would take turns on the CPUs, a short run among them.
#include "kernels/contract/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <quern/thread_pool.h>

#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/platform/process.h"
#include "engine/vocabulary/platform/waiting.h"
#include "engine/vocabulary/text_util.h"
#include "kernels/contract/openmp.h"

namespace quern {
namespace {

constexpr int most_threads = 1024;

// The number of fork()s between the first pool's process and this one.
std::atomic<unsigned> generation = 0;

void count_forks() {
  static const bool counts = [] {
    platform::on_fork(nullptr, [] { ++generation; });
    return true;
  }();
  (void)counts;
}

// Waits until `changed` is no longer `known`: a while by looking, then asleep.
void wait_for_change(const std::atomic<unsigned>& changed, unsigned known) {
  constexpr auto looking = std::chrono::microseconds(2);
  const auto end = std::chrono::steady_clock::now() + looking;
  while (changed.load(std::memory_order_acquire) == known) {
    for (int i = 0; i < 16; ++i) {
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
      if (changed.load(std::memory_order_relaxed) != known) return;
    }
    if (std::chrono::steady_clock::now() > end) return platform::wait_while(changed, known);
  }
}

}  // namespace

class WorkerPool final : public ThreadPool {
 public:
  struct Job {
    ThreadPool::Task task;
    void* data;
    int count;
    int weight;
    std::atomic<int> next = 0;     // the first task that nobody has taken
    std::atomic<int> helpers = 0;  // threads of the pool at its tasks
    Job* before = nullptr;         // in the list, under its lock
    Job* after = nullptr;

    bool has_task() const { return next.load(std::memory_order_relaxed) < count; }
    // Runs a task that nobody has taken; returns false if there is none.
    bool run_task() {
      const int i = next.fetch_add(1);
      if (i < count) task(data, i);
      return i < count;
    }
    // Another thread is due to this job before one is to `other` if that has so many helpers.
    bool is_before(const Job& other, int helpers_of_other) const {
      return std::int64_t{other.weight} * (helpers + 1) <
             std::int64_t{weight} * (helpers_of_other + 1);
    }
  };

  explicit WorkerPool(int threads) : threads_(threads) { workers_->reserve(threads - 1U); }

  // Throws std::system_error and std::bad_alloc.
  void start() {
    for (int i = 1; i < threads_; ++i) {
      workers_->emplace_back([this] { work(); });
      platform::name_thread(workers_->back(), cat("quern-", i).c_str());
    }
  }
  // No call of run() is in progress.
  ~WorkerPool() override {
    // Threads that this process does not have can neither be woken nor joined.
    if (!is_of_this_process()) {
      (void)workers_.release();
      return;
    }
    ends_ = true;
    announce(threads_);
    for (std::thread& t : *workers_) t.join();
  }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const noexcept override { return threads_; }

  void run(int count, Task task, void* data) noexcept override {
    run_weighted(count, task, data, 1);
  }

  void run_weighted(int count, Task task, void* data, int weight) noexcept {
    if (count <= 1 || threads_ == 1 || !is_of_this_process()) {
      for (int i = 0; i < count; ++i) task(data, i);
      return;
    }
    Job job{task, data, count, weight};
    add(job);
    announce(count - 1);
    while (job.run_task()) {
    }
    remove(job);
    for (unsigned known = left_; job.helpers > 0; known = left_) wait_for_change(left_, known);
  }

  void begin_caller() noexcept { ++callers_; }
  void end_caller() noexcept {
    if (callers_-- <= threads_ && jobs_ > 0) announce(1);
  }

  // This thread helps with `mine`.
  bool is_due_elsewhere(const Job& mine) noexcept {
    if (jobs_ == 1 && busy_ <= most_helpers()) return false;
    const std::lock_guard lock(mutex_);
    if (busy_ > most_helpers()) return true;
    for (const Job* job = first_; job; job = job->after)
      if (job != &mine && job->has_task() && job->is_before(mine, mine.helpers - 1)) return true;
    return false;
  }

 private:
  bool is_of_this_process() const { return generation_ == generation; }

  void add(Job& job) {
    const std::lock_guard lock(mutex_);
    job.before = last_;
    (last_ ? last_->after : first_) = &job;
    last_ = &job;
    ++jobs_;
  }
  void remove(const Job& job) {
    const std::lock_guard lock(mutex_);
    (job.before ? job.before->after : first_) = job.after;
    (job.after ? job.after->before : last_) = job.before;
    --jobs_;
  }
  int most_helpers() const { return threads_ - std::max(callers_.load(), 1); }
  // A job with a task that nobody has taken, of those that a thread is due to the oldest; null:
  // there is none, or enough help. Its caller waits for leave().
  Job* join() {
    const std::lock_guard lock(mutex_);
    if (busy_ >= most_helpers()) return nullptr;
    Job* found = nullptr;
    for (Job* job = first_; job; job = job->after)
      if (job->has_task() && (!found || job->is_before(*found, found->helpers))) found = job;
    if (!found) return nullptr;
    ++found->helpers;
    ++busy_;
    return found;
  }
  void leave(Job& job) {
    --busy_;
    if (--job.helpers > 0) return;  // the job may be gone by now
    ++left_;
    platform::wake_all(left_);
  }
  void announce(int tasks) {
    ++announced_;
    if (tasks == 1)
      platform::wake_one(announced_);
    else
      platform::wake_all(announced_);
  }
  void work() {
    for (unsigned known = announced_; !ends_; known = announced_) {
      while (Job* const job = join()) {
        helping = {this, job};
        while (job->run_task() && !is_due_elsewhere(*job)) {
        }
        helping = {};
        leave(*job);
      }
      if (!ends_) wait_for_change(announced_, known);
    }
  }

  struct Helping {
    WorkerPool* pool = nullptr;  // null: this thread helps nobody
    Job* job = nullptr;
  };
  static thread_local Helping helping;
  friend bool helper_is_due_elsewhere() noexcept;

  const int threads_;
  const unsigned generation_ = generation;
  std::mutex mutex_;  // of the list
  Job* first_ = nullptr;
  Job* last_ = nullptr;
  std::atomic<int> jobs_ = 0;  // in the list
  std::atomic<int> busy_ = 0;  // the sum of their helpers; goes up under the lock
  std::atomic<int> callers_ = 0;
  std::atomic<unsigned> announced_ = 0;  // goes up with each job
  std::atomic<unsigned> left_ = 0;       // goes up when the last helper leaves a job
  std::atomic<bool> ends_ = false;
  std::unique_ptr<std::vector<std::thread>> workers_ = std::make_unique<std::vector<std::thread>>();
};

thread_local WorkerPool::Helping WorkerPool::helping;

bool helper_is_due_elsewhere() noexcept {
  const auto& [pool, job] = WorkerPool::helping;
  return pool && pool->is_due_elsewhere(*job);
}

namespace {

class WeightedPool final : public ThreadPool {
 public:
  WeightedPool(std::shared_ptr<WorkerPool> pool, int weight)
      : pool_(std::move(pool)), weight_(weight) {}
  int threads() const noexcept override { return pool_->threads(); }
  void run(int count, Task task, void* data) noexcept override {
    pool_->run_weighted(count, task, data, weight_);
  }
  const std::shared_ptr<WorkerPool>& pool() const { return pool_; }

 private:
  const std::shared_ptr<WorkerPool> pool_;
  const int weight_;
};

// Null: of a host.
WorkerPool* workers_of(ThreadPool* pool) {
  if (const auto* weighted = dynamic_cast<WeightedPool*>(pool)) return weighted->pool().get();
  return dynamic_cast<WorkerPool*>(pool);
}

}  // namespace

PoolCaller::PoolCaller(ThreadPool* pool) noexcept : pool_(workers_of(pool)) {
  if (pool_) pool_->begin_caller();
}
PoolCaller::~PoolCaller() {
  if (pool_) pool_->end_caller();
}

PoolRest::PoolRest(ThreadPool* pool) noexcept : pool_(workers_of(pool)) {
  if (pool_) pool_->end_caller();
}
PoolRest::~PoolRest() {
  if (pool_) pool_->begin_caller();
}

Result<std::shared_ptr<ThreadPool>> make_thread_pool(int threads) {
  return guarded([&]() -> Result<std::shared_ptr<ThreadPool>> {
    count_forks();
    auto pool = std::make_shared<WorkerPool>(threads > 0 ? std::min(threads, most_threads)
                                                         : default_threads());
    try {
      pool->start();
    } catch (const std::system_error& e) {
      return Status(Code::out_of_memory, cat("the system gives no thread for a pool of ",
                                             pool->threads(), ": ", e.what()));
    }
    return std::shared_ptr<ThreadPool>(std::move(pool));
  });
}

Result<std::shared_ptr<ThreadPool>> with_weight(const std::shared_ptr<ThreadPool>& pool,
                                                int weight) {
  return guarded([&]() -> Result<std::shared_ptr<ThreadPool>> {
    constexpr int most = 1'000'000;
    if (weight < 1 || weight > most)
      return Status(Code::invalid_argument,
                    cat("a weight of ", weight, ", from 1 to ", most, " is wanted"));
    if (!pool)
      return Status(Code::invalid_argument, cat("a weight of ", weight, " without a pool"));
    std::shared_ptr<WorkerPool> workers(pool, workers_of(pool.get()));
    if (!workers)
      return Status(Code::invalid_argument, "a weight for a pool that is not quern's own");
    return std::shared_ptr<ThreadPool>(std::make_shared<WeightedPool>(std::move(workers), weight));
  });
}

Result<std::shared_ptr<ThreadPool>> shared_thread_pool() {
  static std::mutex mutex;
  static std::weak_ptr<ThreadPool> known;
  static unsigned made_in = 0;  // a generation: a child of fork() has another pool
  return guarded([&]() -> Result<std::shared_ptr<ThreadPool>> {
    const std::lock_guard lock(mutex);
    if (auto pool = known.lock(); pool && made_in == generation) return pool;
    QUERN_ASSIGN(std::shared_ptr<ThreadPool> pool, make_thread_pool());
    known = pool;
    made_in = generation;
    return pool;
  });
}

}  // namespace quern
