// SPDX-License-Identifier: Apache-2.0
// Results as lines of JSON, a line for each contender of each problem: what `--save` writes and
// `--compare` reads.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "tools/json.h"
#include "tools/kernel/measure.h"

namespace quern::tools::lab {

// One line.
struct Record {
  std::string problem;
  std::string kernel;  // ContenderInfo::name
  std::string implementation;
  std::string device;
  int threads = 1;
  std::string mode;  // "warm", "cold" or "behind 40 MB"
  std::string math;
  double weight = 1;
  std::vector<double> wall_us;       // samples, in the order in which they were taken
  std::vector<double> processor_us;  // the same; zeros on a device
  std::string refused;
  std::string date;  // as date_text() has it; "": not known
  std::string command;
  Json machine;

  // What two records of one comparison have in common.
  std::string key() const;
};

// "2026-11-29T07:05:11Z": as text in the order of time.
std::string date_text(std::chrono::system_clock::time_point time);

Json record_json(const Record& record);
// Errors: invalid_argument, with the member that is missing or of another kind.
Result<Record> parse_record(const Json& json);
// At most 100,000 lines. Errors: not_found; invalid_argument, with the number of the line.
Result<std::vector<Record>> read_records(const std::string& path);

struct ComparisonOptions {
  double threshold = 0.02;  // a smaller change of the median is none
  double p = 0.001;         // of the rank test; divided by the number of comparisons
  bool by_wall = false;     // else processor time, where both have it
};

// A contender in both files.
struct ComparedKernel {
  enum class Verdict { same, faster, slower, not_believed };

  Record before, after;
  double median_before_us = 0;
  double median_after_us = 0;
  double p = 1;
  Verdict verdict = Verdict::same;

  double change() const {
    return median_before_us > 0 ? median_after_us / median_before_us - 1 : 0;
  }
};
bool has_processor_time(const Record& record);
// One of so many `comparisons`.
ComparedKernel compared_pair(const Record& before, const Record& after,
                             const ComparisonOptions& options, std::size_t comparisons);
std::string_view verdict_name(ComparedKernel::Verdict verdict);

struct FileComparison {
  std::vector<ComparedKernel> kernels;
  std::vector<std::string> only_before, only_after;  // keys
  bool is_other_machine = false;

  // Nothing is slower, and nothing that was believed before is not now.
  bool is_good() const;
};
// Errors: invalid_argument, where the files have no contender in common, or one twice.
Result<FileComparison> compare_records(std::span<const Record> before,
                                       std::span<const Record> after,
                                       const ComparisonOptions& options);

}  // namespace quern::tools::lab
