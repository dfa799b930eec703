// SPDX-License-Identifier: Apache-2.0
// quern-compare --random: made-up models on quern and on ONNX Runtime, both held to the right
// answer (tools/random/judge.h). What the two share, such as a wrong idea of an operator that
// quern's reference and its kernels have in common, only another implementation shows.
#pragma once

#include <string>

#include <quern/status.h>

#include "tools/console.h"
#include "tools/random/random_model.h"

namespace quern::bench {

struct RandomPlan {
  std::string library;  // ONNX Runtime's
  int models = 0;       // those of options.seed, options.seed + 1, ...
  tools::RandomOptions options;
  std::string nodes;  // as it was written
  int jobs = 1;
  bool json = false;
  std::string write;  // a folder for the smallest models that show what was found; "": none
};

// Prints what it finds. Models that ONNX Runtime refuses are counted, not failed.
Result<tools::ExitCode> compare_random(const RandomPlan& plan, const tools::Console& console);

}  // namespace quern::bench
