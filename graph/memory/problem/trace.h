// SPDX-License-Identifier: Apache-2.0
// Traces: what runs asked memory for, block by block, to be played to any pool.
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
  std::vector<TraceBlock> blocks;  // in the order in which they are allocated
  std::vector<TraceEvent> events;  // a block is freed at most once, after it was allocated
  std::vector<std::size_t> runs;   // where each run begins in `events`
  std::uint64_t last_run = 0;      // its number in the file

  std::span<const TraceEvent> run(std::size_t r) const;
};

// Events that a trace may have.
inline constexpr std::size_t max_trace_events = std::size_t{1} << 24;

// CSV: a header, then one event a line, in order:
//   run,event,id,bytes,alignment
// `run` is a number that never falls; `event` is alloc or free; `id` is a number that no other live
// block has; `bytes` and `alignment` (64 when empty) belong to alloc. Errors name the line.
bool is_trace_csv(std::string_view text);
Result<MemoryTrace> read_trace_csv(std::string_view text);
// Runs are numbered from `first_run`; without a header, to be appended to a file that has one.
enum class CsvHeader : std::uint8_t { no, yes };
std::string write_trace_csv(const MemoryTrace& trace, std::uint64_t first_run = 0,
                            CsvHeader header = CsvHeader::yes);

// A trace from lifetimes for each shape, a CSV of problems with a column `shape` or `seq` in
// addition, and the shape of each run, a CSV of run and shape or seq. Buffers are allocated and
// freed in order of time: at the same time frees come first, then the order of the file counts.
Result<MemoryTrace> trace_of_shapes(std::string_view lifetimes_csv, std::string_view runs_csv);

// The lives of the buffers of one run, in events; one that lives on, or has lived before, does so
// throughout.
MemoryProblem problem_of_run(const MemoryTrace& trace, std::size_t run);

// An arena that is kept and planned for each run: bytes of the largest plan. Runs that ask for the
// same are planned once; `limits.seconds` are shared by all. Bounds stand in for plans of more than
// 50,000 buffers.
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
  std::size_t events = 0;  // that were played
  Status status;           // out_of_memory, or busy: the time was up
};
Replay replay(const MemoryTrace& trace, MemoryPool& pool, double seconds_limit);

}  // namespace quern
