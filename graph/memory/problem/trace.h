// SPDX-License-Identifier: Apache-2.0
// Traces: the allocations and frees of runs, which can be replayed on any pool.
#pragma once

#include <cstdint>
#include <string>

#include "graph/memory/pools/pool.h"
#include "graph/memory/problem/plan.h"

namespace quern {

struct TraceBlock {
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 64;

  bool operator==(const TraceBlock&) const = default;
};

struct TraceEvent {
  enum class Kind : std::uint8_t { allocate, free };

  Kind kind = Kind::allocate;
  std::uint32_t block = 0;

  bool operator==(const TraceEvent&) const = default;
};

struct MemoryTrace {
  std::vector<TraceBlock> blocks;  // in order of allocation
  std::vector<TraceEvent> events;  // a block is freed at most once, after its allocation
  std::vector<std::size_t> runs;   // index in `events` of each run's first event
  std::uint64_t last_run = 0;      // its number in the file

  std::span<const TraceEvent> run(std::size_t r) const;
};

// Maximum number of events in a trace.
inline constexpr std::size_t max_trace_events = std::size_t{1} << 24;

// CSV: a header, then one event a line, in order:
//   run,event,id,bytes,alignment
// `run` is a number that never decreases; `event` is alloc or free; `id` is a number that no other
// live block has; `bytes` and `alignment` (64 when empty) belong to alloc. Errors name the line.
bool is_trace_csv(std::string_view text);
Result<MemoryTrace> read_trace_csv(std::string_view text);
// Numbers the runs from `first_run`. Without a header, the text can be appended to an existing
// file.
enum class CsvHeader : std::uint8_t { no, yes };
std::string write_trace_csv(const MemoryTrace& trace, std::uint64_t first_run = 0,
                            CsvHeader header = CsvHeader::yes);

// Builds a trace from the lifetimes for each shape (a CSV of problems with an additional column
// `shape` or `seq`) and the shape of each run (a CSV of run and shape or seq). Buffers are
// allocated and freed in order of time; at equal times frees come first, then the order of the file
// decides.
Result<MemoryTrace> trace_of_shapes(std::string_view lifetimes_csv, std::string_view runs_csv);

// The lives of the buffers of one run, in events. A buffer allocated before the run is live from
// its first event; one that the run does not free is live to its end.
MemoryProblem problem_of_run(const MemoryTrace& trace, std::size_t run);

// The size of an arena that is kept and planned anew for each run: that of the largest plan. Runs
// with equal requests are planned once; all share `limits.seconds`. For more than 50,000 buffers
// the lower bound replaces the plan.
struct StaticPeak {
  std::uint64_t bytes = 0;
  std::size_t plans = 0;
  bool is_bound = false;
};
StaticPeak static_peak(const MemoryTrace& trace, const Strategy& strategy,
                       const PlanLimits& limits);

struct Replay {
  PoolStats stats;
  double seconds = 0;
  std::size_t events = 0;  // replayed
  Status status;           // out_of_memory, or busy if the time ran out
};
Replay replay(const MemoryTrace& trace, MemoryPool& pool, double seconds_limit);

}  // namespace quern
