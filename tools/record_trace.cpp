// SPDX-License-Identifier: Apache-2.0
#include "tools/record_trace.h"

#include <filesystem>
#include <fstream>

#include "engine/vocabulary/text_util.h"
#include "tools/json.h"

namespace quern::tools {
namespace {

// The number of the run after the last one in the file; nothing: there is no file, or an empty one.
Result<std::optional<std::uint64_t>> next_run(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error || size == 0) return std::optional<std::uint64_t>();
  QUERN_ASSIGN(const std::string text, read_file(path));
  auto trace = read_trace_csv(text);
  if (!trace)
    return std::move(trace).error().in(cat("'", shown(path), "' is there and is no trace"));
  return std::optional<std::uint64_t>(trace->last_run + 1);
}

}  // namespace

Result<MemoryTrace> traced_run(Session& session) {
  QUERN_ASSIGN(const auto events, session.trace_memory());
  MemoryTrace trace{.runs = {0}};
  for (const Session::MemoryEvent& e : events) {
    const bool begins = e.kind == Session::MemoryEvent::Kind::allocate;
    if (begins) trace.blocks.push_back({e.bytes, e.alignment});
    trace.events.push_back({begins ? TraceEvent::Kind::allocate : TraceEvent::Kind::free,
                            static_cast<std::uint32_t>(e.buffer)});
  }
  return trace;
}

Status record_trace(Session& session, const std::string& path, const Console& console) {
  if (path.empty()) return {};
  QUERN_ASSIGN(const auto next, next_run(path));
  QUERN_ASSIGN(const MemoryTrace trace, traced_run(session));
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << write_trace_csv(trace, next.value_or(0), next ? CsvHeader::no : CsvHeader::yes);
  file.close();
  if (!file) return {Code::invalid_argument, cat("cannot write '", shown(path, 200), "'")};
  console.note(cat("run ", next.value_or(0), " with ", trace.events.size(), " events is in '",
                   shown(path, 200), "'"));
  return {};
}

}  // namespace quern::tools
