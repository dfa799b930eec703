// SPDX-License-Identifier: Apache-2.0
// The measurement of `quern bench` as a value, which is printed, written as JSON, read back and
// compared.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/json.h"
#include "tools/opened.h"
#include "tools/roof.h"

namespace quern::tools {

// The processor time that this process has taken, of all its threads, in milliseconds.
double processor_ms();

// The distribution of times in milliseconds.
struct Distribution {
  double median = 0, min = 0, p90 = 0, p99 = 0;
  std::size_t count = 0;
};
Distribution distribution(std::vector<double> samples);

struct Measurement {
  std::string model;
  std::string device;
  int threads = 0;
  std::string onednn;               // its version and file, or why there is none; of the CPU
  std::vector<std::string> inputs;  // "x f32[1,3,224,224]"
  Phases phases;
  double first_run_ms = 0;
  Distribution run;
  double cpu_ms = 0;  // processor time of a run, all threads
  Held memory;
  std::size_t arena_bytes = 0;
  double flops = 0;  // of one run
  double bytes = 0;  // inputs, weights and outputs of every kernel once
  Roof roof;
  // For a device with memory of its own: the counters of one run, and the nodes that it leaves to
  // the CPU.
  bool on_gpu = false;
  DeviceCounters per_run;
  std::vector<std::string> fallbacks;
};

std::string measurement_text(const Measurement& m, const Console& console);
// The form of Google Benchmark's output; what it has no place for stands beside.
Json measurement_json(const Measurement& m);
// A table of old and new numbers. Errors: invalid_argument when `old` is no output of bench --json.
Result<std::string> comparison_text(const Json& old_result, const Json& new_result,
                                    const Console& console);

}  // namespace quern::tools
