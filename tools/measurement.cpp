// SPDX-License-Identifier: Apache-2.0
#include "tools/measurement.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/vocabulary/platform/process.h"
#include "engine/vocabulary/text_util.h"

namespace quern::tools {
namespace {

// The sample below which `share` of all lie.
double percentile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::min(std::max<std::size_t>(rank, 1), sorted.size()) - 1];
}

double rate(double amount, double ms) {
  return ms > 0 ? amount / ms * 1e-6 : 0;
}  // in 1e9 a second

}  // namespace

double processor_ms() {
  return std::chrono::duration<double, std::milli>(platform::process_time()).count();
}

Distribution distribution(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  const std::size_t n = samples.size();
  const double median = n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  return {median, samples[0], percentile(samples, 0.9), percentile(samples, 0.99), n};
}

std::string measurement_text(const Measurement& m, const Console& console) {
  const double gflops = rate(m.flops, m.run.median);
  const double gbytes = rate(m.bytes, m.run.median);
  Table t({{""}, {"", Table::Align::left, 120}});
  t.add({"model", cat(shown(m.model), " on ", m.device, ", ", m.threads,
                      m.threads == 1 ? " thread" : " threads")});
  if (!m.onednn.empty()) t.add({"oneDNN", m.onednn});
  for (const std::string& input : m.inputs) t.add({"input", input});
  t.add({"load", time_text(m.phases.load_ms)});
  t.add({"compile", time_text(m.phases.compile_ms)});
  t.add({"plan", time_text(m.phases.plan_ms)});
  t.add({"first run", time_text(m.first_run_ms)});
  t.add({"run", cat("median ", time_text(m.run.median), ", min ", time_text(m.run.min), ", p90 ",
                    time_text(m.run.p90), ", p99 ", time_text(m.run.p99), " of ", m.run.count,
                    " runs; processor ", time_text(m.cpu_ms))},
        Colour::bold);
  t.add({"rate",
         cat(fixed_text(gflops, 1), " GFLOP/s, ",
             percent_text(m.roof.gflops > 0 ? gflops / m.roof.gflops : 0), " of ",
             fixed_text(m.roof.gflops, 1), " (", m.roof.instructions, "); ", fixed_text(gbytes, 1),
             " GB/s of ", fixed_text(m.roof.copy_gbytes, 1), " (memory copy)")});
  t.add(
      {"work", cat(count_text(m.flops), "FLOP, ", bytes_text(m.bytes), " in and out of kernels")});
  t.add({"memory", cat("weights ", bytes_text(static_cast<double>(m.memory.weights)), ", arena ",
                       bytes_text(static_cast<double>(m.arena_bytes)), ", session ",
                       bytes_text(static_cast<double>(m.memory.session)), ", process at most ",
                       bytes_text(static_cast<double>(m.memory.peak_process)))});
  if (m.on_gpu) {
    const DeviceCounters& c = m.per_run;
    t.add({"device", cat(c.submissions, c.submissions == 1 ? " submission, " : " submissions, ",
                         c.dispatches, " dispatches, ", c.barriers, " barriers, ",
                         bytes_text(static_cast<double>(c.bytes_up)), " up, ",
                         bytes_text(static_cast<double>(c.bytes_down)), " down")});
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(m.fallbacks.size(), 8); ++i)
      names += cat(i ? ", " : ": ", shown(m.fallbacks[i]));
    t.add({"fallbacks", cat(m.fallbacks.size(), names, m.fallbacks.size() > 8 ? ", ..." : "")},
          m.fallbacks.empty() ? Colour::none : Colour::yellow);
  }
  return t.text(console);
}

Json measurement_json(const Measurement& m) {
  Json context;
  context["executable"] = "quern";
  context["device"] = m.device;
  context["num_threads"] = m.threads;
  context["onednn"] = m.onednn;
  context["roof_gflops"] = m.roof.gflops;
  context["roof_copy_gbytes"] = m.roof.copy_gbytes;
  context["roof_instructions"] = m.roof.instructions;
  Json run;
  run["name"] = cat(m.model, "/", m.device, "/t", m.threads);
  run["run_type"] = "iteration";
  run["iterations"] = m.run.count;
  run["real_time"] = m.run.median;
  run["cpu_time"] = m.cpu_ms;
  run["time_unit"] = "ms";
  const std::array<std::pair<const char*, double>, 15> numbers = {
      {{"min_ms", m.run.min},
       {"p90_ms", m.run.p90},
       {"p99_ms", m.run.p99},
       {"load_ms", m.phases.load_ms},
       {"compile_ms", m.phases.compile_ms},
       {"plan_ms", m.phases.plan_ms},
       {"first_run_ms", m.first_run_ms},
       {"flops", m.flops},
       {"kernel_bytes", m.bytes},
       {"gflops_per_second", rate(m.flops, m.run.median)},
       {"gbytes_per_second", rate(m.bytes, m.run.median)},
       {"arena_bytes", static_cast<double>(m.arena_bytes)},
       {"weight_bytes", static_cast<double>(m.memory.weights)},
       {"session_bytes", static_cast<double>(m.memory.session)},
       {"peak_process_bytes", static_cast<double>(m.memory.peak_process)}}};
  for (const auto& [name, value] : numbers) run[name] = value;
  run["inputs"] = Json::array_of(m.inputs);
  if (m.on_gpu) {
    const DeviceCounters& c = m.per_run;
    const std::array<std::pair<const char*, std::uint64_t>, 5> counts = {
        {{"submissions", c.submissions},
         {"dispatches", c.dispatches},
         {"barriers", c.barriers},
         {"bytes_up", c.bytes_up},
         {"bytes_down", c.bytes_down}}};
    for (const auto& [name, value] : counts) run[name] = value;
    run["fallbacks"] = Json::array_of(m.fallbacks);
  }
  Json j;
  j["context"] = std::move(context);
  j["benchmarks"].push(std::move(run));
  return j;
}

namespace {

struct ComparedRow {
  std::string_view key, title;
  enum class Unit : std::uint8_t { time, bytes } unit;
};
constexpr std::array compared = {
    ComparedRow{"real_time", "run, median", ComparedRow::Unit::time},
    ComparedRow{"min_ms", "run, min", ComparedRow::Unit::time},
    ComparedRow{"p90_ms", "run, p90", ComparedRow::Unit::time},
    ComparedRow{"first_run_ms", "first run", ComparedRow::Unit::time},
    ComparedRow{"load_ms", "load", ComparedRow::Unit::time},
    ComparedRow{"compile_ms", "compile", ComparedRow::Unit::time},
    ComparedRow{"plan_ms", "plan", ComparedRow::Unit::time},
    ComparedRow{"total_ms", "process", ComparedRow::Unit::time},
    ComparedRow{"arena_bytes", "arena", ComparedRow::Unit::bytes},
    ComparedRow{"weight_bytes", "weights", ComparedRow::Unit::bytes},
    ComparedRow{"session_bytes", "session", ComparedRow::Unit::bytes},
    ComparedRow{"peak_process_bytes", "process at most", ComparedRow::Unit::bytes},
};

const Json* first_benchmark(const Json& result) {
  const Json* list = result.find("benchmarks");
  return list && !list->items().empty() ? &list->items()[0] : nullptr;
}

std::string amount(double value, ComparedRow::Unit unit) {
  return unit == ComparedRow::Unit::time ? time_text(value) : bytes_text(value);
}

}  // namespace

Result<std::string> comparison_text(const Json& old_result, const Json& new_result,
                                    const Console& console) {
  const Json* before = first_benchmark(old_result);
  const Json* now = first_benchmark(new_result);
  if (!before || !now || !before->find("name"))
    return Status(Code::invalid_argument,
                  "not the output of `quern bench --json`: it has no \"benchmarks\"");
  Table t({{""},
           {"before", Table::Align::right},
           {"now", Table::Align::right},
           {"change", Table::Align::right}});
  for (const ComparedRow& row : compared) {
    const Json* a = before->find(row.key);
    const Json* b = now->find(row.key);
    if (!a || !b) continue;
    const double change = a->number() > 0 ? b->number() / a->number() - 1 : 0;
    const Colour colour = change > 0.05    ? Colour::red
                          : change < -0.05 ? Colour::green
                                           : Colour::none;
    t.add({std::string(row.title), amount(a->number(), row.unit), amount(b->number(), row.unit),
           cat(change >= 0 ? "+" : "", percent_text(change))},
          colour);
  }
  std::string text = t.text(console);
  const std::string_view old_name = before->find("name")->text();
  if (old_name != now->find("name")->text()) text += cat("(before: ", shown(old_name), ")\n");
  return text;
}

}  // namespace quern::tools
