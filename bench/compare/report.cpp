// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/report.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <thread>

#include <quern/device.h>

#include "engine/vocabulary/text_util.h"

namespace quern::bench {
namespace {

using tools::Json;
using tools::Table;

// The columns show these quantities, one number for each engine.
struct Quantity {
  std::string_view name, unit;
  double scale;
  double (*of)(const Performance&);
};
constexpr std::array quantities = {
    Quantity{"run", "ms", 1, [](const Performance& p) { return p.run_ms; }},
    Quantity{"cold", "ms", 1, [](const Performance& p) { return p.cold.median; }},
    Quantity{"peak", "MB", 1e-6, [](const Performance& p) { return p.memory.peak; }},
};

class GeometricMean {
 public:
  void add(double ratio) {
    if (ratio <= 0) return;
    logarithms_ += std::log(ratio);
    ++count_;
  }
  std::size_t count() const { return count_; }
  double value() const { return count_ ? std::exp(logarithms_ / static_cast<double>(count_)) : 0; }

 private:
  double logarithms_ = 0;
  std::size_t count_ = 0;
};
using Means = std::array<GeometricMean, quantities.size()>;

double ratio_of(double quern, double ort) {
  return quern > 0 && ort > 0 ? ort / quern : 0;
}

std::string amount(double value) {
  return value <= 0 ? "-" : fixed_text(value, value < 1 ? 3 : value < 100 ? 2 : 1);
}
std::string ratio_text(double ratio) {
  return ratio > 0 ? fixed_text(ratio, 2) : "-";
}

Table make_table() {
  std::vector<Table::Column> columns = {{"model"}};
  for (const Quantity& q : quantities) {
    columns.push_back({cat("quern ", q.name, " ", q.unit), Table::Align::right});
    columns.push_back({cat("ort ", q.unit), Table::Align::right});
    columns.push_back({"ratio", Table::Align::right});
  }
  columns.push_back({"outputs", Table::Align::left, 200});
  return Table(std::move(columns));
}

// One digit: 1.2e-05.
std::string scientific(double v) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1e", v);
  return text.data();
}

std::string outputs_text(const Comparison& c) {
  if (!c.failure.empty()) return c.failure;
  if (!c.disagreement.empty()) return "DIFFER: " + c.disagreement;
  if (c.performances.size() < 2) return "";
  // What rounding of f32 leaves is of no interest.
  constexpr double least = 1e-7;
  return c.one_minus_cosine < least ? "agree"
                                    : cat("agree, 1 - cos ", scientific(c.one_minus_cosine));
}

void add_row(Table& table, const Comparison& c, Means& means) {
  std::vector<std::string> cells = {c.model};
  const Performance* quern = c.quern();
  const Performance* ort = c.ort();
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    const Quantity& q = quantities[i];
    const double a = quern ? q.scale * q.of(*quern) : 0;
    const double b = ort ? q.scale * q.of(*ort) : 0;
    means[i].add(ratio_of(a, b));
    cells.insert(cells.end(), {amount(a), amount(b), ratio_text(ratio_of(a, b))});
  }
  std::string note = outputs_text(c);
  if (ort && ort->label != "ort") note += "; ort without spinning";
  cells.push_back(note);
  const bool good = c.failure.empty() && c.disagreement.empty();
  table.add(std::move(cells), good ? tools::Colour::none : tools::Colour::red);
}

void add_means(Table& table, const Means& means) {
  if (means[0].count() < 2) return;
  std::vector<std::string> cells = {cat("geometric mean of ", means[0].count())};
  for (const GeometricMean& m : means) cells.insert(cells.end(), {"", "", ratio_text(m.value())});
  table.add(std::move(cells), tools::Colour::bold);
}

// Per model the least time of each engine over all numbers of threads.
std::string best_text(std::span<const Comparison> comparisons) {
  std::map<std::string, std::pair<double, double>> best;
  const auto least = [](double& value, const Performance* p) {
    if (p && (value == 0 || p->run_ms < value)) value = p->run_ms;
  };
  for (const Comparison& c : comparisons) {
    least(best[c.model].first, c.quern());
    least(best[c.model].second, c.ort());
  }
  GeometricMean mean;
  for (const auto& [model, pair] : best) mean.add(ratio_of(pair.first, pair.second));
  if (mean.count() < 2) return "";
  return cat("Each engine with its best number of threads per model: geometric mean of run ratios ",
             ratio_text(mean.value()), " over ", mean.count(), " models\n");
}

Json distribution_json(const tools::Distribution& d) {
  Json j;
  j["median_ms"] = d.median;
  j["min_ms"] = d.min;
  j["p90_ms"] = d.p90;
  j["count"] = d.count;
  return j;
}

Json memory_json(const Memory& m) {
  Json j;
  j["peak"] = m.peak;
  j["anonymous"] = m.anonymous;
  j["file"] = m.file;
  return j;
}

Json performance_json(const Performance& p) {
  Json j;
  j["engine"] = p.label;
  j["run"] = distribution_json(p.run);
  j["run"]["processor_ms"] = p.processor_ms;
  j["cold"] = distribution_json(p.cold);
  j["cold"]["library_ms"] = p.first.library_ms;
  j["cold"]["load_ms"] = p.first.load_ms;
  j["cold"]["first_run_ms"] = p.first.first_run_ms;
  j["bytes_after_first_run"] = memory_json(p.first_memory);
  j["bytes_after_rounds"] = memory_json(p.memory);
  return j;
}

Json comparison_json(const Comparison& c) {
  Json j;
  j["model"] = c.model;
  j["threads"] = c.threads;
  j["engines"] = Json::array();
  for (const Performance& p : c.performances) j["engines"].push(performance_json(p));
  if (c.quern() && c.ort())
    for (const Quantity& q : quantities)
      j["ratios"][q.name] = ratio_of(q.of(*c.quern()), q.of(*c.ort()));
  if (!c.failure.empty()) j["failure"] = c.failure;
  if (!c.disagreement.empty()) j["disagreement"] = c.disagreement;
  if (c.one_minus_cosine >= 0) j["one_minus_cosine"] = c.one_minus_cosine;
  return j;
}

}  // namespace

std::string report_text(std::span<const Comparison> comparisons, const tools::Console& console) {
  std::set<int> thread_counts;
  for (const Comparison& c : comparisons) thread_counts.insert(c.threads);
  std::string text;
  for (const int threads : thread_counts) {
    Table table = make_table();
    Means means;
    for (const Comparison& c : comparisons)
      if (c.threads == threads) add_row(table, c, means);
    add_means(table, means);
    text += cat(threads, threads == 1 ? " thread\n" : " threads\n", table.text(console), "\n");
  }
  return thread_counts.size() > 1 ? text + best_text(comparisons) : text;
}

Json report_json(std::span<const Comparison> comparisons, const Circumstances& circumstances) {
  Json context;
  context["date"] = std::chrono::duration_cast<std::chrono::seconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
  for (const DeviceInfo& d : list_devices())
    if (d.kind == DeviceInfo::Kind::cpu && context.find("cpu") == nullptr) context["cpu"] = d.title;
  context["processors"] = std::thread::hardware_concurrency();
  context["quern_version"] = QUERN_VERSION;
  context["quern_build_type"] = QUERN_BUILD_TYPE;
  context["device"] = circumstances.device;
  context["ort_version"] = circumstances.ort_version;
  context["rounds"] = circumstances.plan.rounds;
  context["cold_starts"] = circumstances.plan.cold;
  context["warm_runs_by"] = name_of(circumstances.plan.by);
  Json j;
  j["context"] = std::move(context);
  j["comparisons"] = Json::array();
  for (const Comparison& c : comparisons) j["comparisons"].push(comparison_json(c));
  return j;
}

}  // namespace quern::bench
