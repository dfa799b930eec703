// SPDX-License-Identifier: Apache-2.0
// Measures quern and ONNX Runtime on one model, in turns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "bench/compare/worker.h"
#include "tools/measurement.h"

namespace quern::bench {

struct Contestant {
  std::string label;     // "quern", "ort", "ort-no-spinning"
  EngineOptions engine;  // model and threads are filled in per comparison
};
struct Engines {
  std::string only;            // "quern" or "ort"; empty: both
  std::string ort_library;     // where it lies
  std::string device = "cpu";  // that quern runs on
  std::string math = "f32";    // of quern
};
// Those that run with so many threads. With more than one thread ONNX Runtime takes part twice,
// with and without spinning threads: which is faster depends on the model and the machine.
std::vector<Contestant> contestants(const Engines& engines, int threads);

struct Plan {
  int rounds = 15;
  double time_s = 20;  // after which no round begins, once there were three
  int cold = 5;        // processes
  // One number stands for the warm runs: their median, the least of them, or the processor time of
  // one run, median over the turns.
  enum class By : std::uint8_t { median, least, processor } by = By::median;
};

// These are the measurements of one contestant.
struct Performance {
  std::string label;
  double run_ms = 0;            // what stands for the warm runs
  tools::Distribution run;      // single runs, warm
  double processor_ms = 0;      // of a run, all threads; median over the turns
  tools::Distribution cold;     // library, load, compile and first run of a fresh process
  ColdTimes first;              // the parts of one of them
  Memory first_memory, memory;  // after the first run, and after all rounds
};

std::string_view name_of(Plan::By by);

struct Comparison {
  std::string model;
  int threads = 1;
  std::vector<Performance> performances;  // of the contestants that took part
  std::string failure;                    // why there is nothing, or no more; empty: all went well
  std::string disagreement;               // of the outputs; empty: they agree, or nobody to compare
  double one_minus_cosine = -1;  // of quern's outputs and the last one's; -1: none to compare

  const Performance* quern() const;
  // The faster of ONNX Runtime's.
  const Performance* ort() const;
};

// Hears where a comparison stands; false ends it.
using ProgressFn = std::function<bool(std::string_view)>;

// `model` is a folder with model.onnx and perhaps test_data_set_0, or a file.
Comparison compare_engines(const std::string& model, int threads,
                           const std::vector<Contestant>& contestants, const Plan& plan,
                           const ProgressFn& progress);

}  // namespace quern::bench
