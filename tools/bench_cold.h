// SPDX-License-Identifier: Apache-2.0
// quern bench --cold: every sample is a process of its own, so that nothing is loaded, packed or
// cached. On a GPU the driver's caches on disk are a folder of the measurement's: one process more
// finds it empty, the others find what that one left.
#pragma once

#include <string>
#include <vector>

#include "tools/json.h"
#include "tools/measurement.h"
#include "tools/verbs.h"

namespace quern::tools {

struct ColdMeasurement {
  std::string model, device;
  int threads = 0;
  Distribution load, compile, plan, first_run, second_run;
  Distribution total;  // of the process, from its start to its end
  // Milliseconds of the process that found no caches, in the order above; empty on the CPU.
  std::vector<double> empty_caches;
  double peak_process_bytes = 0;
};

// Starts this program again with the same arguments, over and over.
Result<ColdMeasurement> measure_cold(const BenchArgs& args, const Console& console);
// The body of one such process: prints its numbers as JSON.
Result<ExitCode> cold_sample(const BenchArgs& args);

std::string cold_text(const ColdMeasurement& m, const Console& console);
Json cold_json(const ColdMeasurement& m);

}  // namespace quern::tools
