// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/record.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "engine/vocabulary/text_util.h"

namespace quern::tools::lab {
namespace {

constexpr std::int64_t record_schema = 1;
constexpr std::size_t most_lines = 100'000;
constexpr std::size_t most_samples_of_a_line = 1'000'000;

struct TextMember {
  const char* name;
  std::string Record::*text;
};
constexpr std::array text_members = {TextMember{"problem", &Record::problem},
                                     TextMember{"kernel", &Record::kernel},
                                     TextMember{"implementation", &Record::implementation},
                                     TextMember{"device", &Record::device},
                                     TextMember{"mode", &Record::mode},
                                     TextMember{"math", &Record::math}};

Status bad_member(std::string_view name, std::string_view wanted) {
  return {Code::invalid_argument, cat("member '", name, "' is missing or no ", wanted)};
}

Result<std::vector<double>> samples_of(const Json& json, std::string_view name) {
  const Json* list = json.find(name);
  if (!list || !std::holds_alternative<Json::Array>(list->value()))
    return bad_member(name, "list of numbers");
  if (list->items().size() > most_samples_of_a_line)
    return bad_member(name, cat("list of ", most_samples_of_a_line, " numbers at most"));
  std::vector<double> samples;
  for (const Json& item : list->items()) {
    const double v = item.number(-1);
    if (!std::isfinite(v) || v < 0) return bad_member(name, "list of times");
    samples.push_back(v);
  }
  return samples;
}

std::map<std::string, const Record*> by_key(std::span<const Record> records) {
  std::map<std::string, const Record*> map;
  for (const Record& r : records) map.emplace(r.key(), &r);
  return map;
}

ComparedKernel::Verdict judge(const ComparedKernel& k, const ComparisonOptions& o,
                              std::size_t comparisons) {
  using Verdict = ComparedKernel::Verdict;
  if (!k.before.refused.empty() || !k.after.refused.empty()) return Verdict::not_believed;
  const bool differs = k.p * static_cast<double>(comparisons) < o.p;
  if (!differs || std::abs(k.change()) <= o.threshold) return Verdict::same;
  return k.change() > 0 ? Verdict::slower : Verdict::faster;
}

// "2026-11-29T07:05:11Z", by its form.
bool is_date(std::string_view text) {
  constexpr std::string_view form = "0000-00-00T00:00:00Z";
  return std::ranges::equal(text, form, [](char c, char wanted) {
    return wanted == '0' ? c >= '0' && c <= '9' : c == wanted;
  });
}

Status refuse_twice(std::span<const Record> records, std::size_t keys) {
  if (keys == records.size()) return {};
  return {Code::invalid_argument, "a file has one kernel of one problem twice"};
}

}  // namespace

bool has_processor_time(const Record& record) {
  return std::ranges::any_of(record.processor_us, [](double us) { return us > 0; });
}

ComparedKernel compared_pair(const Record& before, const Record& after,
                             const ComparisonOptions& options, std::size_t comparisons) {
  ComparedKernel k{.before = before, .after = after};
  const bool by_wall = options.by_wall || !has_processor_time(before) || !has_processor_time(after);
  const auto& a = by_wall ? before.wall_us : before.processor_us;
  const auto& b = by_wall ? after.wall_us : after.processor_us;
  k.median_before_us = median_interval(a).median;
  k.median_after_us = median_interval(b).median;
  k.p = rank_test(a, b).p;
  k.verdict = judge(k, options, comparisons);
  return k;
}

std::string date_text(std::chrono::system_clock::time_point time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  const auto digits = [](auto number, std::size_t width) {
    std::string text = cat(number);
    return text.insert(0, width - std::min(width, text.size()), '0');
  };
  return cat(digits(int{date.year()}, 4), "-", digits(unsigned{date.month()}, 2), "-",
             digits(unsigned{date.day()}, 2), "T", digits(clock.hours().count(), 2), ":",
             digits(clock.minutes().count(), 2), ":", digits(clock.seconds().count(), 2), "Z");
}

std::string Record::key() const {
  return cat(problem, " | ", kernel, " | ", device, " | ", threads, " threads | ", mode, " | ",
             math);
}

Json record_json(const Record& record) {
  Json j;
  j["schema"] = record_schema;
  for (const TextMember& m : text_members) j[m.name] = record.*m.text;
  j["threads"] = record.threads;
  j["weight"] = record.weight;
  j["wall_us"] = Json::array_of(record.wall_us);
  j["processor_us"] = Json::array_of(record.processor_us);
  if (!record.refused.empty()) j["refused"] = record.refused;
  if (!record.date.empty()) j["date"] = record.date;
  j["command"] = record.command;
  j["machine"] = record.machine;
  return j;
}

Result<Record> parse_record(const Json& json) {
  const Json* schema = json.find("schema");
  if (!schema || schema->number() != static_cast<double>(record_schema))
    return bad_member("schema", cat(record_schema));
  Record r;
  for (const TextMember& m : text_members) {
    const Json* member = json.find(m.name);
    if (!member || !std::holds_alternative<std::string>(member->value()))
      return bad_member(m.name, "text");
    r.*m.text = member->text();
  }
  const Json* threads = json.find("threads");
  const double count = threads ? threads->number(-1) : -1;
  if (!(count >= 1 && count <= 1024)) return bad_member("threads", "number of threads");
  r.threads = static_cast<int>(count);
  if (const Json* weight = json.find("weight")) r.weight = weight->number(1);
  QUERN_ASSIGN(r.wall_us, samples_of(json, "wall_us"));
  QUERN_ASSIGN(r.processor_us, samples_of(json, "processor_us"));
  if (const Json* refused = json.find("refused")) r.refused = refused->text();
  if (r.refused.empty() && r.wall_us.empty()) return bad_member("wall_us", "list with a sample");
  if (r.wall_us.size() != r.processor_us.size())
    return bad_member("processor_us", "list as long as wall_us");
  if (const Json* date = json.find("date")) r.date = date->text();
  if (!r.date.empty() && !is_date(r.date))
    return bad_member("date", "date such as 2026-11-29T07:05:11Z");
  if (const Json* command = json.find("command")) r.command = command->text();
  if (const Json* machine = json.find("machine")) r.machine = *machine;
  return r;
}

Result<std::vector<Record>> read_records(const std::string& path) {
  QUERN_ASSIGN(const std::string text, read_file(path));
  std::vector<Record> records;
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string where = cat(printable(path), ", line ", number);
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty()) continue;
    if (records.size() == most_lines)
      return Status(Code::invalid_argument, cat(where, ": more than ", most_lines, " lines"));
    auto json = parse_json(line);
    if (!json) return Status(Code::invalid_argument, cat(where, ": ", json.error().message()));
    auto record = parse_record(*json);
    if (!record) return std::move(record.error()).in(where);
    records.push_back(std::move(*record));
  }
  return records;
}

std::string_view verdict_name(ComparedKernel::Verdict verdict) {
  constexpr std::string_view names[] = {"same", "faster", "slower", "not believed"};
  return names[static_cast<std::size_t>(verdict)];
}

bool FileComparison::is_good() const {
  return std::ranges::all_of(kernels, [](const ComparedKernel& k) {
    const bool became_wrong = k.before.refused.empty() && !k.after.refused.empty();
    return k.verdict != ComparedKernel::Verdict::slower && !became_wrong;
  });
}

Result<FileComparison> compare_records(std::span<const Record> before,
                                       std::span<const Record> after,
                                       const ComparisonOptions& options) {
  FileComparison c;
  const auto old_ones = by_key(before);
  const auto new_ones = by_key(after);
  QUERN_TRY(refuse_twice(before, old_ones.size()));
  QUERN_TRY(refuse_twice(after, new_ones.size()));
  for (const auto& [key, record] : old_ones)
    if (!new_ones.contains(key)) c.only_before.push_back(key);
  std::vector<std::pair<const Record*, const Record*>> pairs;
  for (const Record& record : after) {
    const auto old_one = old_ones.find(record.key());
    if (old_one == old_ones.end()) {
      c.only_after.push_back(record.key());
      continue;
    }
    c.is_other_machine |= old_one->second->machine.dump() != record.machine.dump();
    pairs.emplace_back(old_one->second, &record);
  }
  if (pairs.empty())
    return Status(Code::invalid_argument, "the files have no kernel of a problem in common");
  for (const auto& [old_one, new_one] : pairs)
    c.kernels.push_back(compared_pair(*old_one, *new_one, options, pairs.size()));
  return c;
}

}  // namespace quern::tools::lab
