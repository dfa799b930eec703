// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <quern/status.h>

namespace quern {

// Threads that run the kernels of sessions (SessionOptions::thread_pool): those of quern, by
// make_thread_pool(), or a host's own, by a class of the host.
class ThreadPool {
 public:
  using Task = void (*)(void* data, int index);

  virtual ~ThreadPool() = default;
  // The number of tasks that may be in progress at one time, the caller's among them: at least 1,
  // always the same, from any thread.
  virtual int threads() const noexcept = 0;
  // Calls task(data, i) once for each i in [0, count), in any order and on any threads, and returns
  // when all calls have returned. The tasks do not throw, never wait for each other (one thread
  // after the other may run them all), and call no pool. Any number of threads may call run() at
  // one time. It must not allocate or throw.
  virtual void run(int count, Task task, void* data) noexcept = 0;
};

// Starts `threads` - 1 threads (0: one for each CPU that the process may use), which serve all
// callers: the tasks of one call go to whoever is free, its caller among them, so that nobody waits
// for a thread that has not begun. Runs of sessions in progress and the threads that help them are
// together at most as many as the pool has; where runs alone are that many, each has its caller's
// thread. In a long loop a thread that has become one too many, or is due to another call, leaves
// within 20 ms or so; what it was at is its caller's. A thread without tasks looks for some for 2
// us, then sleeps. A child of fork() has none of the threads, and callers there run their tasks
// alone. Errors: out_of_memory, also where the system gives no thread.
Result<std::shared_ptr<ThreadPool>> make_thread_pool(int threads = 0);

// The same threads of a pool of make_thread_pool(), for a caller whose calls have this weight (1 to
// 1,000,000; calls of `pool` itself have 1): the threads that help are shared out among the calls
// in progress in proportion to their weights, looked at before each task. The callers' own threads
// are shared out by the system. Errors: invalid_argument, also for a host's own pool.
Result<std::shared_ptr<ThreadPool>> with_weight(const std::shared_ptr<ThreadPool>& pool,
                                                int weight);

// The pool for everybody in this process, with a thread for each CPU: the one that others hold, or
// a new one. Errors: those of make_thread_pool().
Result<std::shared_ptr<ThreadPool>> shared_thread_pool();

}  // namespace quern
