// SPDX-License-Identifier: Apache-2.0
// What kernels took over many files of `--save`, in the order of their dates.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "tools/console.h"
#include "tools/json.h"
#include "tools/kernel/record.h"
#include "tools/kernel/statistics.h"

namespace quern::tools::lab {

struct SavedFile {
  std::string path;
  std::string date;  // of its latest record, as date_text() has it
  std::vector<Record> records;
};

struct HistoryPoint {
  std::size_t file = 0;  // in History::files
  MedianInterval time;   // microseconds
  std::string refused;   // then there is no time
};

// A kernel of a problem, in all files that have it.
struct HistoryLine {
  Record record;  // of the last file, without samples
  std::vector<HistoryPoint> points;
  bool by_wall = false;    // else by processor time
  ComparedKernel overall;  // from its first file to its last
};

struct History {
  struct File {
    std::string path;
    std::string date;
    bool is_other_machine = false;  // than that of the file before: a machine or a build
  };
  std::vector<File> files;         // by date
  std::vector<HistoryLine> lines;  // as the files have them, the earliest first
};

inline constexpr std::size_t most_files_of_history = 1000;

// The records of a file and when they were made: where they do not say, when the file was written.
// Errors: those of read_records(); invalid_argument, for a file without records.
Result<SavedFile> read_saved(const std::string& path);
// Files of one date stay in the order in which they are given. Errors: invalid_argument, where one
// has a kernel twice.
Result<History> history_of(std::vector<SavedFile> files, const ComparisonOptions& options);

std::string history_text(const History& history, const ComparisonOptions& options,
                         const Console& console);
Json history_json(const History& history);
// One page that loads nothing from elsewhere: a small picture for each line.
std::string history_page(const History& history, const ComparisonOptions& options);

}  // namespace quern::tools::lab
