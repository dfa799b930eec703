// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/report.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "engine/vocabulary/text_util.h"
#include "tools/kernel/floor.h"
#include "tools/profile_data.h"

namespace quern::tools::lab {
namespace {

using Align = Table::Align;

double gflops_of(const Measured& m) {
  return m.wall.median > 0 ? 1e-3 * m.info.flops / m.wall.median : 0;
}
double gbytes_of(const Measured& m) {
  return m.wall.median > 0 ? 1e-3 * m.info.bytes / m.wall.median : 0;
}
std::string time_of_us(double us) {
  return time_text(1e-3 * us);
}
std::string spread_text(const MedianInterval& i) {
  return cat("+-", percent_text(i.half_width()));
}

// The contender that the others are held to: the fastest of those that are believed.
const Measured* fastest(const std::vector<Measured>& kernels) {
  const Measured* best = nullptr;
  for (const Measured& m : kernels)
    if (m.is_believed() && (!best || m.wall.median < best->wall.median)) best = &m;
  return best;
}

std::string energy_text(double uj) {
  if (uj < 1e3) return cat(fixed_text(uj, 1), " uJ");
  return uj < 1e6 ? cat(fixed_text(1e-3 * uj, 2), " mJ") : cat(fixed_text(1e-6 * uj, 2), " J");
}

bool has_energy(const std::vector<Measured>& kernels) {
  return std::ranges::any_of(kernels, [](const Measured& m) { return m.energy_uj.has_value(); });
}

enum class EnergyColumn : std::uint8_t { without, with };

std::vector<Table::Column> kernel_columns(EnergyColumn energy) {
  std::vector<Table::Column> columns = {{"kernel", Align::left, 28},
                                        {"time", Align::right},
                                        {"", Align::right},
                                        {"processor", Align::right},
                                        {"", Align::right}};
  if (energy == EnergyColumn::with) columns.push_back({"energy", Align::right});
  columns.insert(columns.end(), {{"GFLOP/s", Align::right},
                                 {"GB/s", Align::right},
                                 {"of roof", Align::right},
                                 {"slower", Align::right},
                                 {"implementation", Align::left, 100}});
  return columns;
}

std::vector<std::string> cells_of(const Measured& m, const Roof& roof, const Measured* best,
                                  Caches caches, EnergyColumn energy) {
  std::vector<std::string> cells = {m.info.name};
  if (!m.is_believed()) {
    cells.resize(kernel_columns(energy).size());
    cells.back() = cat("NOT BELIEVED: ", m.refused);
    return cells;
  }
  const bool has_processor = m.processor.median > 0;
  cells.push_back(time_of_us(m.wall.median));
  cells.push_back(spread_text(m.wall));
  cells.push_back(has_processor ? time_of_us(m.processor.median) : "");
  cells.push_back(has_processor ? spread_text(m.processor) : "");
  if (energy == EnergyColumn::with) cells.push_back(m.energy_uj ? energy_text(*m.energy_uj) : "");
  cells.push_back(m.info.flops > 0 ? fixed_text(gflops_of(m), 1) : "");
  cells.push_back(fixed_text(gbytes_of(m), 1));
  const double share = roof_share(m, roof, caches);
  cells.push_back(share > 0 ? percent_text(share) : "");
  cells.push_back(&m == best ? "" : cat("x", fixed_text(m.wall.median / best->wall.median, 2)));
  cells.push_back(m.info.implementation);
  return cells;
}

std::string context_text(const std::vector<ProblemResult>& results, const ReportContext& c) {
  std::string s = cat(c.mode, ", math ", c.math);
  for (const ProblemResult& r : results) {
    if (r.roofs.empty()) continue;
    const Roof& roof = r.roofs[0];
    s += cat("; roof ", fixed_text(roof.gflops, 1), " GFLOP/s (", roof.instructions, "), copy ",
             fixed_text(roof.copy_gbytes, 1), " GB/s");
    break;
  }
  if (c.evicted_bytes)
    s += cat("; caches evicted by ", bytes_text(static_cast<double>(c.evicted_bytes)),
             ", a line takes ", fixed_text(c.cold_line_ns, 1), " ns then, ",
             fixed_text(c.warm_line_ns, 1), " before");
  if (c.load_before.load >= 0)
    s +=
        cat("; load ", fixed_text(c.load_before.load, 2), " to ", fixed_text(c.load_after.load, 2));
  if (c.load_after.mhz > 0) s += cat(", ", fixed_text(c.load_after.mhz, 0), " MHz");
  return s + "\n";
}

Json interval_json(const MedianInterval& i) {
  Json j;
  j["median"] = i.median;
  j["low"] = i.low;
  j["high"] = i.high;
  return j;
}

Json kernel_json(const Measured& m, const Roof& roof, Caches caches) {
  Json j;
  j["kernel"] = m.info.name;
  j["device"] = m.info.device;
  j["implementation"] = m.info.implementation;
  j["layouts"] = m.info.layouts;
  j["threads"] = m.info.threads;
  j["samples"] = m.samples.size();
  j["wall_us"] = interval_json(m.wall);
  j["processor_us"] = interval_json(m.processor);
  j["energy_uj"] = m.energy_uj ? Json(*m.energy_uj) : Json();
  j["flops"] = m.info.flops;
  j["bytes"] = m.info.bytes;
  j["gflops_per_second"] = gflops_of(m);
  j["gbytes_per_second"] = gbytes_of(m);
  j["roof_share"] = roof_share(m, roof, caches);
  j["is_believed"] = m.is_believed();
  if (!m.refused.empty()) j["refused"] = m.refused;
  return j;
}

Json load_json(const MachineLoad& load) {
  Json j;
  j["load"] = load.load;
  j["mhz"] = load.mhz;
  return j;
}

}  // namespace

std::string results_text(const std::vector<ProblemResult>& results, const ReportContext& context,
                         const Console& console) {
  std::string text;
  for (const ProblemResult& r : results) {
    const Measured* best = fastest(r.kernels);
    const EnergyColumn energy = has_energy(r.kernels) ? EnergyColumn::with : EnergyColumn::without;
    Table t(kernel_columns(energy));
    for (std::size_t i = 0; i < r.kernels.size(); ++i)
      t.add(cells_of(r.kernels[i], r.roofs[i], best, context.caches(), energy),
            !r.kernels[i].is_believed() ? Colour::red
            : &r.kernels[i] == best     ? Colour::bold
                                        : Colour::none);
    const std::string times =
        r.problem.weight != 1 ? cat("  (", number_text(r.problem.weight), " times)") : "";
    text += cat(shown(r.problem.text, 200), times, "\n", t.text(console), "\n");
  }
  return text + context_text(results, context);
}

Json results_json(const std::vector<ProblemResult>& results, const ReportContext& context) {
  Json j;
  j["machine"] = machine_json();
  j["command"] = context.command;
  j["mode"] = context.mode;
  j["math"] = context.math;
  j["load_before"] = load_json(context.load_before);
  j["load_after"] = load_json(context.load_after);
  if (context.evicted_bytes) {
    j["evicted"]["bytes"] = context.evicted_bytes;
    j["evicted"]["warm_line_ns"] = context.warm_line_ns;
    j["evicted"]["cold_line_ns"] = context.cold_line_ns;
  }
  j["problems"] = Json::array();
  for (const ProblemResult& r : results) {
    Json p;
    p["problem"] = r.problem.text;
    p["weight"] = r.problem.weight;
    p["judge"] = r.judge;
    p["kernels"] = Json::array();
    for (std::size_t i = 0; i < r.kernels.size(); ++i)
      p["kernels"].push(kernel_json(r.kernels[i], r.roofs[i], context.caches()));
    if (!r.roofs.empty()) {
      p["roof"]["gflops_per_second"] = r.roofs[0].gflops;
      p["roof"]["copy_gbytes_per_second"] = r.roofs[0].copy_gbytes;
      p["roof"]["cache_gbytes_per_second"] = r.roofs[0].cache_gbytes;
      p["roof"]["instructions"] = r.roofs[0].instructions;
    }
    j["problems"].push(std::move(p));
  }
  return j;
}

std::string results_page(const std::vector<ProblemResult>& results, const ReportContext& context) {
  Profile profile;
  profile.model = cat("Kernels, ", context.mode);
  double at_us = 0;
  for (const ProblemResult& r : results)
    for (std::size_t i = 0; i < r.kernels.size(); ++i) {
      const Measured& m = r.kernels[i];
      if (!m.is_believed()) continue;
      profile.device = m.info.device;
      profile.threads = m.info.threads;
      profile.runs = static_cast<int>(m.samples.size());
      profile.roof = r.roofs[i];
      StepInfo step;
      step.node = r.problem.text;
      step.op = cat(r.problem.op, ".", m.info.name);
      step.implementation = m.info.implementation;
      step.flops = m.info.flops;
      step.bytes = m.info.bytes;
      step.layouts = m.info.layouts;
      profile.timeline.push_back({step, at_us, at_us + m.wall.median});
      profile.steps.push_back({step, 1, 1e-3 * m.wall.median, 1e-3 * at_us});
      at_us += m.wall.median;
    }
  profile.run_ms = 1e-3 * at_us;
  return html_page(profile);
}

namespace {

// To the nanosecond, which is what clocks tell.
std::vector<double> in_nanoseconds(std::vector<double> samples_us) {
  for (double& us : samples_us) us = std::round(1e3 * us) / 1e3;
  return samples_us;
}

}  // namespace

std::vector<Record> records_of(const std::vector<ProblemResult>& results,
                               const ReportContext& context) {
  std::vector<Record> records;
  Json machine = machine_json();
  const std::string date = date_text(std::chrono::system_clock::now());
  for (const ProblemResult& r : results)
    for (const Measured& m : r.kernels)
      records.push_back({.problem = r.problem.text,
                         .kernel = m.info.name,
                         .implementation = m.info.implementation,
                         .device = m.info.device,
                         .threads = m.info.threads,
                         .mode = context.mode,
                         .math = context.math,
                         .weight = r.problem.weight,
                         .wall_us = in_nanoseconds(wall_of(m)),
                         .processor_us = in_nanoseconds(processor_of(m)),
                         .refused = m.refused,
                         .date = date,
                         .command = context.command,
                         .machine = machine});
  return records;
}

std::string comparison_text(const FileComparison& comparison, const ComparisonOptions& options,
                            const Console& console) {
  Table t({{"problem", Align::left, 70},
           {"kernel", Align::left, 28},
           {"before", Align::right},
           {"after", Align::right},
           {"change", Align::right},
           {"p", Align::right},
           {"verdict"}});
  using Verdict = ComparedKernel::Verdict;
  for (const ComparedKernel& k : comparison.kernels) {
    const Colour colour = k.verdict == Verdict::slower || k.verdict == Verdict::not_believed
                              ? Colour::red
                          : k.verdict == Verdict::faster ? Colour::green
                                                         : Colour::none;
    t.add({shown(k.after.problem, 70), shown(k.after.kernel), time_of_us(k.median_before_us),
           time_of_us(k.median_after_us), cat(k.change() >= 0 ? "+" : "", percent_text(k.change())),
           number_text(k.p), std::string(verdict_name(k.verdict))},
          colour);
  }
  std::string text = t.text(console);
  for (const std::string& key : comparison.only_before)
    text += cat("only before: ", shown(key, 160), "\n");
  for (const std::string& key : comparison.only_after)
    text += cat("only after: ", shown(key, 160), "\n");
  text += cat("by ", options.by_wall ? "wall" : "processor", " time; slower or faster: the rank ",
              "test says so (p below ", number_text(options.p), " divided by ",
              comparison.kernels.size(), ") and the median moved by more than ",
              percent_text(options.threshold), "\n");
  if (comparison.is_other_machine) text += "the files are of two machines or builds\n";
  return text;
}

Json comparison_json(const FileComparison& comparison) {
  Json j;
  j["is_good"] = comparison.is_good();
  j["is_other_machine"] = comparison.is_other_machine;
  j["kernels"] = Json::array();
  for (const ComparedKernel& k : comparison.kernels) {
    Json one;
    one["problem"] = k.after.problem;
    one["kernel"] = k.after.kernel;
    one["before_us"] = k.median_before_us;
    one["after_us"] = k.median_after_us;
    one["change"] = k.change();
    one["p"] = k.p;
    one["verdict"] = verdict_name(k.verdict);
    j["kernels"].push(std::move(one));
  }
  j["only_before"] = Json::array_of(comparison.only_before);
  j["only_after"] = Json::array_of(comparison.only_after);
  return j;
}

}  // namespace quern::tools::lab
