// SPDX-License-Identifier: Apache-2.0
// quern bench --inflight N: N runs at a time in one arena (RunGroup), beside N sessions that have
// an arena each and beside one session, in turns.
#pragma once

#include <string>
#include <vector>

#include "tools/json.h"
#include "tools/measurement.h"
#include "tools/verbs.h"

namespace quern::tools {

// A number of sessions, each run again and again by a thread of its own.
struct Throughput {
  std::size_t sessions = 0;
  double runs_per_second = 0;   // of all, the median of the rounds
  double run_ms = 0;            // of one run, as its thread sees it: the median of the rounds
  double cpu_ms = 0;            // processor time of one run, all threads: the median of the rounds
  std::size_t arena_bytes = 0;  // of all
  std::size_t held_bytes = 0;   // of all: arenas, outputs outside of them, pools
};

struct InflightMeasurement {
  std::string model, device;
  int threads = 0;  // of a run
  bool on_pool = false;
  std::size_t rounds = 0;
  Throughput together, apart, one;
  // Of the runs in one arena, by run.
  double waits = 0;
  double wait_ms = 0;
};

Result<InflightMeasurement> measure_inflight(const BenchArgs& args, const Console& console);
std::string inflight_text(const InflightMeasurement& m, const Console& console);
// The form of Google Benchmark's output: together, apart and one.
Json inflight_json(const InflightMeasurement& m);

}  // namespace quern::tools
