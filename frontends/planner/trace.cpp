// SPDX-License-Identifier: Apache-2.0
// Traces, and what pools make of them.
#include <string>

#include "engine/vocabulary/text_util.h"
#include "frontends/planner/handles.h"

namespace quern::planner {
namespace {

constexpr std::uint64_t largest_page = std::uint64_t{1} << 30;

Result<const MemoryPoolKind*> pool_named(const char* name) {
  if (!name) return &default_pool();
  if (const MemoryPoolKind* p = find_pool(name)) return p;
  std::string known;
  for (const MemoryPoolKind& p : pools()) known += cat(known.empty() ? "" : ", ", p.name);
  return Status(Code::not_found, cat("no pool '", printable(name, 60), "'; there is: ", known));
}

Result<std::uint64_t> page_of(std::uint64_t given) {
  if (given == 0) return MemoryPool::granule;
  if ((given & (given - 1)) == 0 && given >= MemoryPool::granule && given <= largest_page)
    return given;
  return Status(Code::invalid_argument, cat("page is ", given, ", wanted a power of two from ",
                                            MemoryPool::granule, " to ", largest_page));
}

Result<Replay> play(const MemoryTrace& trace, const quern_planner_pool_options* options) {
  quern_planner_pool_options o{};
  QUERN_TRY(c_api::read_fields(options, &o));
  QUERN_ASSIGN(const MemoryPoolKind* kind, pool_named(o.pool));
  QUERN_ASSIGN(const std::uint64_t page, page_of(o.page));
  QUERN_ASSIGN(const double seconds, seconds_of(o.seconds, 10));
  MemoryPoolOptions pool_options;
  if (o.limit) pool_options.limit = o.limit;
  InventedSource source(page);
  return replay(trace, *kind->make(source, pool_options), seconds);
}

quern_planner_pool_figures figures_of(const Replay& r) {
  const PoolStats& s = r.stats;
  return {.struct_size = sizeof(quern_planner_pool_figures),
          .events = r.events,
          .peak_requested = s.most.requested,
          .peak_used = s.most.used,
          .peak_reserved = s.most.reserved,
          .end_reserved = s.now.reserved,
          .allocations = s.allocations,
          .hits = s.hits,
          .system_allocations = s.system_allocations,
          .system_releases = s.system_releases,
          .internal_fragmentation = s.internal_fragmentation(),
          .external_fragmentation = s.external_fragmentation(),
          .seconds = r.seconds};
}

}  // namespace
}  // namespace quern::planner

using namespace quern;           // NOLINT
using namespace quern::planner;  // NOLINT

quern_planner_status quern_planner_trace_read_csv(const char* csv, size_t bytes,
                                                  quern_planner_trace** trace) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(trace);
    QUERN_ASSIGN(const std::string_view text, text_of(csv, bytes, "csv"));
    QUERN_ASSIGN(MemoryTrace read, read_trace_csv(text));
    *trace = new quern_planner_trace{std::move(read)};
    return {};
  });
}

quern_planner_status quern_planner_trace_of_shapes(const char* lives_csv, size_t lives_bytes,
                                                   const char* runs_csv, size_t runs_bytes,
                                                   quern_planner_trace** trace) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(trace);
    QUERN_ASSIGN(const std::string_view lives, text_of(lives_csv, lives_bytes, "lives_csv"));
    QUERN_ASSIGN(const std::string_view runs, text_of(runs_csv, runs_bytes, "runs_csv"));
    QUERN_ASSIGN(MemoryTrace made, trace_of_shapes(lives, runs));
    *trace = new quern_planner_trace{std::move(made)};
    return {};
  });
}

void quern_planner_trace_destroy(quern_planner_trace* trace) {
  delete trace;
}

size_t quern_planner_trace_run_count(const quern_planner_trace* trace) {
  return trace ? trace->trace.runs.size() : 0;
}
size_t quern_planner_trace_event_count(const quern_planner_trace* trace) {
  return trace ? trace->trace.events.size() : 0;
}

quern_planner_status quern_planner_trace_problem(const quern_planner_trace* trace, size_t run,
                                                 quern_planner_problem** problem) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(trace);
    QUERN_PLANNER_NOT_NULL(problem);
    const std::size_t runs = trace->trace.runs.size();
    if (run >= runs) return {Code::not_found, cat("run ", run, ", the trace has ", runs)};
    QUERN_ASSIGN(*problem, new_problem(problem_of_run(trace->trace, run)));
    return {};
  });
}

quern_planner_status quern_planner_trace_static_peak(const quern_planner_trace* trace,
                                                     const quern_planner_options* options,
                                                     quern_planner_static_peak* peak) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(trace);
    QUERN_PLANNER_NOT_NULL(peak);
    QUERN_ASSIGN(const Request request, request_of(options));
    const StaticPeak p = static_peak(trace->trace, *request.strategy, request.limits);
    return c_api::write_struct(peak, {.struct_size = sizeof(quern_planner_static_peak),
                                      .bytes = p.bytes,
                                      .plans = p.plans,
                                      .is_bound = p.is_bound ? 1 : 0});
  });
}

quern_planner_status quern_planner_trace_replay(const quern_planner_trace* trace,
                                                const quern_planner_pool_options* options,
                                                quern_planner_pool_figures* figures) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(trace);
    QUERN_PLANNER_NOT_NULL(figures);
    QUERN_ASSIGN(Replay played, play(trace->trace, options));
    QUERN_TRY(c_api::write_struct(figures, figures_of(played)));
    return std::move(played.status);
  });
}
