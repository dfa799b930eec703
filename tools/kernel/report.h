// SPDX-License-Identifier: Apache-2.0
// What `quern kernel` shows: tables, JSON, a page with a roofline.
#pragma once

#include <string>
#include <vector>

#include "tools/console.h"
#include "tools/json.h"
#include "tools/kernel/floor.h"
#include "tools/kernel/measure.h"
#include "tools/kernel/problem.h"
#include "tools/kernel/record.h"
#include "tools/roof.h"

namespace quern::tools::lab {

// A problem with what was measured of it.
struct ProblemResult {
  Problem problem;
  std::string judge;  // Answers::judge()
  std::vector<Measured> kernels;
  std::vector<Roof> roofs;  // by kernel
};

struct ReportContext {
  std::string mode = "warm";
  std::string math = "f32";
  std::string command;
  MachineLoad load_before, load_after;
  std::size_t evicted_bytes = 0;  // 0: warm
  double warm_line_ns = 0, cold_line_ns = 0;

  Caches caches() const { return evicted_bytes ? Caches::cold : Caches::warm; }
};

std::string results_text(const std::vector<ProblemResult>& results, const ReportContext& context,
                         const Console& console);
Json results_json(const std::vector<ProblemResult>& results, const ReportContext& context);
// One page that loads nothing from elsewhere: the page of a profile, a step for each kernel.
std::string results_page(const std::vector<ProblemResult>& results, const ReportContext& context);
std::vector<Record> records_of(const std::vector<ProblemResult>& results,
                               const ReportContext& context);

std::string comparison_text(const FileComparison& comparison, const ComparisonOptions& options,
                            const Console& console);
Json comparison_json(const FileComparison& comparison);

}  // namespace quern::tools::lab
