// SPDX-License-Identifier: Apache-2.0
// Calls by which runs and loops tell quern's own pool (<quern/thread_pool.h>) beyond the interface
// of all pools, which hosts implement too.
#pragma once

namespace quern {

class ThreadPool;
class WorkerPool;

// A run on this thread, as long as it lives: the thread is at work between its loops, too. So many
// threads help as the pool has beside such callers; with more of them each runs alone. Of a host's
// pool, or null: nothing.
class PoolCaller {
 public:
  explicit PoolCaller(ThreadPool* pool) noexcept;
  ~PoolCaller();
  PoolCaller(const PoolCaller&) = delete;
  PoolCaller& operator=(const PoolCaller&) = delete;

 private:
  WorkerPool* pool_;
};

// The thread of a PoolCaller sleeps, as long as this lives: another thread may help in its place.
class PoolRest {
 public:
  explicit PoolRest(ThreadPool* pool) noexcept;
  ~PoolRest();
  PoolRest(const PoolRest&) = delete;
  PoolRest& operator=(const PoolRest&) = delete;

 private:
  WorkerPool* pool_;
};

// True on a thread of a pool that helps with a task while it is due to the job of another caller,
// or to none: the task leaves what it can to its caller.
bool helper_is_due_elsewhere() noexcept;

}  // namespace quern
