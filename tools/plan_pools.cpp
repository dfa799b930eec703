// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_pools.h"

#include <algorithm>
#include <fstream>

#include "engine/vocabulary/text_util.h"
#include "graph/memory/problem/trace.h"
#include "tools/json.h"
#include "tools/opened.h"
#include "tools/record_trace.h"

namespace quern::tools {
namespace {

struct PoolRow {
  const MemoryPoolKind* pool = nullptr;
  Replay replay;
};

bool is_trace_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string header;
  char c = 0;
  while (header.size() < 1024 && file.get(c) && c != '\n') header += c;
  return file && is_trace_csv(header);
}

Result<std::vector<const MemoryPoolKind*>> chosen_pools(const std::string& name) {
  std::vector<const MemoryPoolKind*> all;
  for (const MemoryPoolKind& p : pools())
    if (name.empty() || name == "all" || name == p.name) all.push_back(&p);
  if (!all.empty()) return all;
  std::string list;
  for (const MemoryPoolKind& p : pools()) list += cat("\n  ", p.name, ": ", p.summary);
  return Status(Code::invalid_argument, cat("no pool '", shown(name), "'; there is:", list));
}

// The trace of a model: one run with the inputs of `args`.
Result<MemoryTrace> trace_of_model(const PlanArgs& args, const Console& console) {
  QUERN_ASSIGN(const Opened o, open_model(args.model, args.inputs, args.device));
  note_assumptions(o, console);
  return traced_run(*o.session);
}

Result<MemoryTrace> read_trace(const PlanArgs& args, const Console& console) {
  if (!is_csv(args.model) && args.runs.empty()) return trace_of_model(args, console);
  QUERN_ASSIGN(const std::string text, read_file(args.model));
  if (args.runs.empty()) {
    auto trace = read_trace_csv(text);
    if (!trace) return std::move(trace).error().in(shown(args.model));
    return trace;
  }
  QUERN_ASSIGN(const std::string runs, read_file(args.runs));
  return trace_of_shapes(text, runs);
}

Result<const Strategy*> static_strategy(const PlanArgs& args) {
  if (args.strategy == "all") return &default_strategy();
  if (const Strategy* s = find_strategy(args.strategy)) return s;
  return Status(Code::invalid_argument, cat("no strategy '", shown(args.strategy), "'"));
}

PoolRow play(const MemoryPoolKind& kind, const MemoryTrace& trace, const PlanArgs& args) {
  InventedSource source(args.page ? args.page : MemoryPool::granule);
  MemoryPoolOptions options;
  if (args.capacity) options.limit = args.capacity;
  const auto pool = kind.make(source, options);
  return {&kind, replay(trace, *pool, std::max(args.time_limit, 1.0) * 10)};
}

double nanoseconds_per_event(const Replay& r) {
  return r.events ? r.seconds * 1e9 / static_cast<double>(r.events) : 0;
}

Json row_json(const PoolRow& row, const StaticPeak& peak) {
  const PoolStats& s = row.replay.stats;
  Json j;
  j["pool"] = row.pool->name;
  j["completed"] = row.replay.status.ok();
  if (!row.replay.status.ok()) j["error"] = row.replay.status.message();
  j["peak_reserved"] = s.most.reserved;
  j["over_static"] = ratio(s.most.reserved, peak.bytes);
  j["end_reserved"] = s.now.reserved;
  j["peak_used"] = s.most.used;
  j["peak_requested"] = s.most.requested;
  j["hit_rate"] = s.hit_rate();
  j["allocations"] = s.allocations;
  j["system_allocations"] = s.system_allocations;
  j["system_releases"] = s.system_releases;
  j["internal_fragmentation"] = s.internal_fragmentation();
  j["external_fragmentation"] = s.external_fragmentation();
  j["ns_per_event"] = nanoseconds_per_event(row.replay);
  return j;
}

Json report_json(const PlanArgs& args, const MemoryTrace& trace, const StaticPeak& peak,
                 const std::vector<PoolRow>& rows) {
  Json j;
  j["trace"] = args.model;
  j["runs"] = trace.runs.size();
  j["events"] = trace.events.size();
  j["static_bytes"] = peak.bytes;
  j["static_plans"] = peak.plans;
  j["static_is_bound"] = peak.is_bound;
  j["pools"] = Json::array();
  for (const PoolRow& r : rows) j["pools"].push(row_json(r, peak));
  return j;
}

void show(const MemoryTrace& trace, const StaticPeak& peak, const std::vector<PoolRow>& rows,
          const Console& console) {
  const auto bytes = [](std::uint64_t n) { return bytes_text(static_cast<double>(n)); };
  Table t({{"pool"},
           {"peak reserved", Table::Align::right},
           {"over static", Table::Align::right},
           {"hit rate", Table::Align::right},
           {"system calls", Table::Align::right},
           {"rounding", Table::Align::right},
           {"between blocks", Table::Align::right},
           {"time an event", Table::Align::right}});
  for (const PoolRow& r : rows) {
    const PoolStats& s = r.replay.stats;
    t.add({std::string(r.pool->name), bytes(s.most.reserved),
           cat(fixed_text(ratio(s.most.reserved, peak.bytes), 3), " x"),
           percent_text(s.hit_rate(), 2), cat(s.system_allocations + s.system_releases),
           percent_text(s.internal_fragmentation()), percent_text(s.external_fragmentation()),
           time_text(nanoseconds_per_event(r.replay) / 1e6)});
  }
  print(cat(t.text(console),
            peak.is_bound ? "no plan for each run takes less than "
                          : "an arena that is kept and planned for each run takes ",
            bytes(peak.bytes), "; ", trace.runs.size(), " runs, ", peak.plans, " different, ",
            trace.events.size(), " events\n"));
  for (const PoolRow& r : rows)
    if (!r.replay.status.ok())
      print(cat(r.pool->name, " stopped at event ", r.replay.events + 1, ": ",
                r.replay.status.message(), "\n"));
}

ExitCode verdict(const PlanArgs& args, const std::vector<PoolRow>& rows, const Console& console) {
  std::uint64_t least = any_capacity;
  for (const PoolRow& r : rows)
    if (r.replay.status.ok()) least = std::min(least, r.replay.stats.most.reserved);
  if (least == any_capacity) {
    console.error("no pool got to the end of the trace");
    return ExitCode::failed;
  }
  if (!args.assert_peak || least <= args.assert_peak) return ExitCode::ok;
  console.error(cat("the best pool takes ", least, " bytes, wanted at most ", args.assert_peak));
  return ExitCode::failed;
}

}  // namespace

bool is_csv(std::string_view path) {
  return path.ends_with(".csv") || path.ends_with(".CSV");
}

double ratio(std::uint64_t a, std::uint64_t b) {
  return b ? static_cast<double>(a) / static_cast<double>(b) : 1;
}

bool wants_pools(const PlanArgs& args) {
  return !args.pools.empty() || !args.runs.empty() || is_trace_file(args.model);
}

Result<ExitCode> plan_pools(const PlanArgs& args, const Console& console) {
  if (args.page & (args.page - 1) || (args.page && args.page < MemoryPool::granule))
    return Status(Code::invalid_argument,
                  cat("--page ", args.page, ": wanted a power of two from ", MemoryPool::granule));
  QUERN_ASSIGN(const std::vector<const MemoryPoolKind*> kinds, chosen_pools(args.pools));
  QUERN_ASSIGN(const Strategy* strategy, static_strategy(args));
  QUERN_ASSIGN(const MemoryTrace trace, read_trace(args, console));
  const StaticPeak peak = static_peak(trace, *strategy, {.seconds = args.time_limit});
  std::vector<PoolRow> rows;
  rows.reserve(kinds.size());
  for (const MemoryPoolKind* kind : kinds) rows.push_back(play(*kind, trace, args));
  if (args.json)
    print(report_json(args, trace, peak, rows).document());
  else
    show(trace, peak, rows, console);
  return verdict(args, rows, console);
}

}  // namespace quern::tools
