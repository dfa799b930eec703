// SPDX-License-Identifier: Apache-2.0
// One engine in a process of its own, so that libraries, thread pools, caches of allocators and
// peak memory of two engines never meet. The process does what it is told over a pipe and is
// stopped in between: whatever its threads would do while idle (spin, say) costs the other engine
// nothing.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include <quern/status.h>

#include "bench/compare/engine.h"
#include "tools/json.h"

namespace quern::bench {

// Bytes of a process.
struct Memory {
  double peak = 0;       // most that was ever resident
  double anonymous = 0;  // resident now: heap, arenas, packed weights
  double file = 0;       // resident now: mapped files, libraries
};

struct Opening {
  ColdTimes times;
  Memory memory;  // after the first run
};

struct Runs {
  std::vector<double> ms;   // each
  double processor_ms = 0;  // of one on average: time of all threads on a processor
};

class Worker {
 public:
  static Result<Worker> start();
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&&) = delete;
  ~Worker();  // ends the process

  // Errors of all calls: what the engine said, or busy when the process died.
  Result<Opening> open(const EngineOptions& options, const std::vector<TensorFile>& inputs);
  // One run unmeasured, then runs for this long, at least one.
  Result<Runs> run_for(double ms);
  Result<Memory> memory();
  // Writes the outputs of the last run into this folder.
  Result<std::vector<TensorFile>> outputs(const std::string& folder);

 private:
  Worker(pid_t pid, int commands, int answers);
  Result<tools::Json> call(const tools::Json& command);

  pid_t pid_ = -1;
  int commands_ = -1;
  int answers_ = -1;
};

// The loop that quern-compare-worker runs until its pipe closes; the result is the exit code.
int serve_worker();

}  // namespace quern::bench
