// SPDX-License-Identifier: Apache-2.0
// Comparisons as tables and as JSON.
#pragma once

#include <span>
#include <string>

#include "bench/compare/comparison.h"
#include "tools/console.h"
#include "tools/json.h"

namespace quern::bench {

// One table per number of threads, each with geometric means, then one of the best of all numbers
// of threads. Ratios are ONNX Runtime's number by quern's: above 1 quern needs less.
std::string report_text(std::span<const Comparison> comparisons, const tools::Console& console);

struct Circumstances {
  std::string ort_version;
  std::string device;  // quern's
  Plan plan;
};
tools::Json report_json(std::span<const Comparison> comparisons,
                        const Circumstances& circumstances);

}  // namespace quern::bench
