// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "engine/vocabulary/text_util.h"
#include "graph/memory/problem/csv_rows.h"
#include "graph/memory/problem/stable_sort.h"
#include "graph/memory/problem/trace.h"

namespace quern {
namespace {

constexpr std::string_view header_line = "run,event,id,bytes,alignment\n";

Status check_block(const CsvRows& rows, std::int64_t alignment) {
  if ((alignment & (alignment - 1)) == 0) return {};
  return rows.wrong(cat("alignment ", alignment, " is no power of two"));
}

class TraceReader {
 public:
  explicit TraceReader(std::string_view text) : rows_(text, "trace") {}

  Result<MemoryTrace> read() {
    QUERN_ASSIGN(run_, rows_.required("run"));
    QUERN_ASSIGN(event_, rows_.required("event"));
    QUERN_ASSIGN(id_, rows_.required("id"));
    QUERN_ASSIGN(bytes_, rows_.required("bytes"));
    alignment_ = rows_.column("alignment");
    while (true) {
      QUERN_ASSIGN(const bool more, rows_.next());
      if (!more) return std::move(trace_);
      QUERN_TRY(read_row());
    }
  }

 private:
  Status read_row() {
    if (trace_.events.size() == max_trace_events)
      return rows_.wrong(cat("more than ", max_trace_events, " events"));
    QUERN_ASSIGN(const std::int64_t run, rows_.integer(run_, 0, max_csv_number));
    if (run < last_run_) return rows_.wrong(cat("run ", run, " after run ", last_run_));
    if (run > last_run_) trace_.runs.push_back(trace_.events.size());
    last_run_ = run;
    trace_.last_run = static_cast<std::uint64_t>(run);
    QUERN_ASSIGN(const std::int64_t id,
                 rows_.integer(id_, 0, std::numeric_limits<std::int64_t>::max()));
    const std::string_view event = rows_.cell(event_);
    if (event == "alloc") return allocate(id);
    if (event == "free") return free(id);
    return rows_.wrong(cat("event is ", in_quotes(printable(event, 40)), ", wanted alloc or free"));
  }

  Status allocate(std::int64_t id) {
    QUERN_ASSIGN(const std::int64_t bytes, rows_.integer(bytes_, 0, max_csv_number));
    QUERN_ASSIGN(const std::int64_t alignment, rows_.integer(alignment_, 1, max_csv_number, 64));
    QUERN_TRY(check_block(rows_, alignment));
    const auto block = static_cast<std::uint32_t>(trace_.blocks.size());
    const auto [at, is_new] = live_.emplace(id, Live{block, rows_.line()});
    if (!is_new) return rows_.wrong(cat("id ", id, " lives since line ", at->second.line));
    trace_.blocks.push_back(
        {static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(alignment)});
    trace_.events.push_back({TraceEvent::Kind::allocate, block});
    return {};
  }

  Status free(std::int64_t id) {
    const auto at = live_.find(id);
    if (at == live_.end()) return rows_.wrong(cat("id ", id, " does not live"));
    trace_.events.push_back({TraceEvent::Kind::free, at->second.block});
    live_.erase(at);
    return {};
  }

  struct Live {
    std::uint32_t block;
    std::size_t line;
  };

  CsvRows rows_;
  std::size_t run_ = 0, event_ = 0, id_ = 0, bytes_ = 0, alignment_ = 0;
  std::int64_t last_run_ = -1;
  std::unordered_map<std::int64_t, Live> live_;
  MemoryTrace trace_;
};

}  // namespace

bool is_trace_csv(std::string_view text) {
  const CsvRows rows(text, "trace");
  return rows.column("run") != CsvRows::none && rows.column("event") != CsvRows::none;
}

Result<MemoryTrace> read_trace_csv(std::string_view text) {
  return TraceReader(text).read();
}

std::string write_trace_csv(const MemoryTrace& trace, std::uint64_t first_run, CsvHeader header) {
  std::string text(header == CsvHeader::yes ? header_line : "");
  for (std::size_t r = 0; r < trace.runs.size(); ++r) {
    for (const TraceEvent& e : trace.run(r)) {
      const TraceBlock& b = trace.blocks[e.block];
      if (e.kind == TraceEvent::Kind::allocate)
        text += cat(first_run + r, ",alloc,", e.block, ",", b.bytes, ",", b.alignment, "\n");
      else
        text += cat(first_run + r, ",free,", e.block, ",,\n");
    }
  }
  return text;
}

// ---- lifetimes by shape ------------------------------------------------------------------------

namespace {

struct Life {
  std::int64_t time = 0;
  TraceEvent::Kind kind = TraceEvent::Kind::allocate;
  std::size_t buffer = 0;
};

// Events of one run, in order of time.
struct ShapeRun {
  std::vector<TraceBlock> buffers;
  std::vector<Life> events;

  void add(std::int64_t first, std::int64_t end, TraceBlock b) {
    if (first >= end) return;
    events.push_back({first, TraceEvent::Kind::allocate, buffers.size()});
    events.push_back({end, TraceEvent::Kind::free, buffers.size()});
    buffers.push_back(b);
  }
  void settle() {
    sort_stably(events, [](const Life& a, const Life& b) {
      if (a.time != b.time) return a.time < b.time;
      return a.kind == TraceEvent::Kind::free && b.kind == TraceEvent::Kind::allocate;
    });
  }
};

using ShapeRuns = std::unordered_map<std::string_view, ShapeRun>;

Result<std::size_t> shape_column(const CsvRows& rows) {
  const std::size_t seq = rows.column("seq");
  return seq != CsvRows::none ? seq : rows.required("shape");
}

Result<ShapeRuns> read_shapes(std::string_view csv) {
  CsvRows rows(csv, "lifetimes");
  ShapeRuns shapes;
  QUERN_ASSIGN(const std::size_t shape, shape_column(rows));
  QUERN_ASSIGN(const std::size_t lower, rows.required("lower"));
  QUERN_ASSIGN(const std::size_t upper, rows.required("upper"));
  QUERN_ASSIGN(const std::size_t size, rows.required("size"));
  const std::size_t alignment = rows.column("alignment");
  while (true) {
    QUERN_ASSIGN(const bool more, rows.next());
    if (!more) break;
    QUERN_ASSIGN(const std::int64_t first, rows.integer(lower, -max_csv_number, max_csv_number));
    QUERN_ASSIGN(const std::int64_t end, rows.integer(upper, -max_csv_number, max_csv_number));
    QUERN_ASSIGN(const std::int64_t bytes, rows.integer(size, 0, max_csv_number));
    QUERN_ASSIGN(const std::int64_t aligned, rows.integer(alignment, 1, max_csv_number, 64));
    QUERN_TRY(check_block(rows, aligned));
    if (end < first) return rows.wrong(cat("lives from ", first, " to ", end));
    shapes[rows.cell(shape)].add(
        first, end, {static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(aligned)});
  }
  for (auto& [name, run] : shapes) run.settle();
  return shapes;
}

void append_run(const ShapeRun& run, MemoryTrace& trace) {
  trace.runs.push_back(trace.events.size());
  std::vector<std::uint32_t> block_of(run.buffers.size());
  for (const Life& l : run.events) {
    if (l.kind == TraceEvent::Kind::allocate) {
      block_of[l.buffer] = static_cast<std::uint32_t>(trace.blocks.size());
      trace.blocks.push_back(run.buffers[l.buffer]);
    }
    trace.events.push_back({l.kind, block_of[l.buffer]});
  }
}

}  // namespace

Result<MemoryTrace> trace_of_shapes(std::string_view lifetimes_csv, std::string_view runs_csv) {
  QUERN_ASSIGN(const ShapeRuns shapes, read_shapes(lifetimes_csv));
  CsvRows rows(runs_csv, "runs");
  QUERN_ASSIGN(const std::size_t shape, shape_column(rows));
  MemoryTrace trace;
  while (true) {
    QUERN_ASSIGN(const bool more, rows.next());
    if (!more) return trace;
    const auto at = shapes.find(rows.cell(shape));
    if (at == shapes.end())
      return rows.wrong(cat("no lifetimes of shape ", in_quotes(printable(rows.cell(shape), 40))));
    if (trace.events.size() + at->second.events.size() > max_trace_events)
      return rows.wrong(cat("more than ", max_trace_events, " events"));
    append_run(at->second, trace);
  }
}

}  // namespace quern
