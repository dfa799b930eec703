// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <quern/session.h>
#include <quern/status.h>
#include <quern/tensor.h>

namespace quern {

struct RunGroupOptions {
  int threads = 0;                          // of each run: as SessionOptions::threads
  std::shared_ptr<ThreadPool> thread_pool;  // as SessionOptions::thread_pool
  // The types of the model's inputs; empty: as declared, if every dimension is a number.
  std::vector<TensorType> inputs;
};

// What the runs of a group have done since it was made.
struct RunGroupCounters {
  std::uint64_t runs = 0;        // that have begun
  std::uint64_t waits = 0;       // steps that waited for another run
  std::uint64_t wait_ns = 0;     // together
  std::size_t most_at_once = 0;  // runs in progress at one time
};

// Sessions of one executable that run at the same time in one arena, a phase apart, so that one
// needs little memory while another needs much: less than an arena for each
// (`quern plan --inflight`). The results are those of a session alone. A step waits, asleep, for
// the runs in progress that still use its memory; no run waits for one that is not in progress, and
// a run that fails, is cancelled or times out keeps no other from going on. Any thread may use the
// group; each session is one thread's at a time.
class RunGroup {
 public:
  static constexpr std::size_t most_runs = 16;

  // Plans for `runs` (1 to most_runs) runs and allocates all that they need but the states of
  // kernels, which a session's first run or prepare() makes. Errors: invalid_argument; unsupported
  // for devices other than the CPU and for models that no single static plan runs (loops, shapes or
  // branches that depend on data), and for inputs and outputs that are no tensors; out_of_memory,
  // also where the arena and the weights pass `memory_limit` of the executable, or the arena
  // `arena_limit`; timed_out at the executable's deadline; those of planning.
  static Result<std::unique_ptr<RunGroup>> create(std::shared_ptr<const Executable> executable,
                                                  std::size_t runs,
                                                  const RunGroupOptions& options = {});
  ~RunGroup();
  RunGroup(const RunGroup&) = delete;
  RunGroup& operator=(const RunGroup&) = delete;

  std::size_t size() const { return sessions_.size(); }
  // A run of the group, numbered from 0; valid as long as the group. It differs from other sessions
  // in this: inputs have the types that the group was made for, all outputs are computed, and an
  // output that is not bound lies in memory of the session's own, outside of the arena.
  Session& session(std::size_t run) { return *sessions_[run]; }
  // Runs each session once with what is bound to it, all at the same time: the first on this
  // thread, each other on a thread of its own, which the session keeps (submit()). Returns when all
  // have ended, with the first error in the order of the sessions. Allocates nothing after the
  // first time. Errors: those of Session::run().
  Status run();

  // The arena of all runs, as planned.
  std::size_t arena_bytes() const;
  // The bytes that the group holds now: arena, outputs of the sessions, and what they hold besides.
  // While no other thread uses the sessions.
  std::size_t resident_bytes() const;
  RunGroupCounters counters() const;  // any time

 private:
  struct Impl;
  explicit RunGroup(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

}  // namespace quern
