// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/history.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "engine/vocabulary/text_util.h"

namespace quern::tools::lab {
namespace {

// When the file was written; "" where the system does not say.
std::string written_at(const std::string& path) {
  std::error_code error;
  const auto at = std::filesystem::last_write_time(path, error);
  return error ? "" : date_text(std::chrono::file_clock::to_sys(at));
}

// Samples of a line while its files go by: those of the first and of the last one are compared.
struct OpenLine {
  std::vector<const Record*> records;  // one for each point
  std::vector<std::size_t> files;
};

HistoryLine closed_line(const OpenLine& open, const ComparisonOptions& options, std::size_t lines) {
  HistoryLine line;
  line.by_wall = options.by_wall || !std::ranges::all_of(open.records, [](const Record* r) {
                   return !r->refused.empty() || has_processor_time(*r);
                 });
  for (std::size_t i = 0; i < open.records.size(); ++i) {
    const Record& r = *open.records[i];
    HistoryPoint& point = line.points.emplace_back(HistoryPoint{.file = open.files[i]});
    point.refused = r.refused;
    if (r.refused.empty()) point.time = median_interval(line.by_wall ? r.wall_us : r.processor_us);
  }
  ComparisonOptions by = options;
  by.by_wall = line.by_wall;
  line.overall = compared_pair(*open.records.front(), *open.records.back(), by, lines);
  line.record = *open.records.back();
  for (Record* r : {&line.record, &line.overall.before, &line.overall.after}) {
    r->wall_us.clear();
    r->processor_us.clear();
  }
  return line;
}

Json point_json(const HistoryPoint& p) {
  Json j;
  j["file"] = p.file;
  if (!p.refused.empty()) {
    j["refused"] = p.refused;
    return j;
  }
  j["median_us"] = p.time.median;
  j["low_us"] = p.time.low;
  j["high_us"] = p.time.high;
  return j;
}

}  // namespace

Result<SavedFile> read_saved(const std::string& path) {
  SavedFile file{.path = path};
  QUERN_ASSIGN(file.records, read_records(path));
  if (file.records.empty())
    return Status(Code::invalid_argument, cat(printable(path), " has no records"));
  for (const Record& r : file.records) file.date = std::max(file.date, r.date);
  if (file.date.empty()) file.date = written_at(path);
  return file;
}

Result<History> history_of(std::vector<SavedFile> files, const ComparisonOptions& options) {
  std::ranges::stable_sort(files, {}, &SavedFile::date);
  History history;
  std::map<std::string, OpenLine> by_key;
  std::vector<std::string> keys;  // as the files have them
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Record& any = files[i].records.front();
    history.files.push_back(
        {files[i].path, files[i].date,
         i > 0 && any.machine.dump() != files[i - 1].records.front().machine.dump()});
    std::set<std::string> of_file;
    for (const Record& r : files[i].records) {
      std::string key = r.key();
      if (!of_file.insert(key).second)
        return Status(Code::invalid_argument,
                      cat(printable(files[i].path), ": '", shown(key, 160), "' stands twice"));
      OpenLine& open = by_key[key];
      if (open.records.empty()) keys.push_back(std::move(key));
      open.records.push_back(&r);
      open.files.push_back(i);
    }
  }
  for (const std::string& key : keys)
    history.lines.push_back(closed_line(by_key[key], options, keys.size()));
  return history;
}

Json history_json(const History& history) {
  Json j;
  j["files"] = Json::array();
  for (const History::File& f : history.files) {
    Json one;
    one["file"] = f.path;
    one["date"] = f.date;
    one["is_other_machine"] = f.is_other_machine;
    j["files"].push(std::move(one));
  }
  j["lines"] = Json::array();
  for (const HistoryLine& line : history.lines) {
    Json one;
    one["problem"] = line.record.problem;
    one["kernel"] = line.record.kernel;
    one["device"] = line.record.device;
    one["threads"] = line.record.threads;
    one["mode"] = line.record.mode;
    one["math"] = line.record.math;
    one["by"] = line.by_wall ? "wall" : "processor";
    one["points"] = Json::array();
    for (const HistoryPoint& p : line.points) one["points"].push(point_json(p));
    one["change"] = line.overall.change();
    one["p"] = line.overall.p;
    one["verdict"] = verdict_name(line.overall.verdict);
    j["lines"].push(std::move(one));
  }
  return j;
}

}  // namespace quern::tools::lab
