// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace of allocations, or as lifetimes by shape and runs with an empty line between
// them: an error that names a line, or a trace that every pool plays without blocks that overlap.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "graph/memory/problem/trace.h"

namespace {

using namespace quern;  // NOLINT

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

Result<MemoryTrace> read(std::string_view text) {
  if (is_trace_csv(text)) return read_trace_csv(text);
  const std::size_t gap = text.find("\n\n");
  if (gap == text.npos) return trace_of_shapes(text, "");
  return trace_of_shapes(text.substr(0, gap + 1), text.substr(gap + 2));
}

void play(const MemoryTrace& trace, const MemoryPoolKind& kind) {
  InventedSource source;
  const auto pool = kind.make(source, {.limit = std::uint64_t{1} << 40});
  std::map<std::uint64_t, std::uint64_t> live;  // address, end
  std::map<std::uint32_t, PoolBlock> blocks;
  for (const TraceEvent& e : trace.events) {
    if (e.kind == TraceEvent::Kind::free) {
      const auto at = blocks.find(e.block);
      if (at == blocks.end()) continue;  // there was no memory for it
      live.erase(at->second.address);
      pool->free(at->second);
      blocks.erase(at);
      continue;
    }
    const TraceBlock& b = trace.blocks[e.block];
    const auto block = pool->allocate(b.bytes, b.alignment);
    if (!block) {
      require(block.error().code() == Code::out_of_memory, "another error");
      continue;
    }
    require(block->address % b.alignment == 0, "not aligned");
    const std::uint64_t end = block->address + std::max<std::uint64_t>(b.bytes, 1);
    const auto next = live.lower_bound(block->address);
    require(next == live.end() || next->first >= end, "overlaps the next block");
    require(next == live.begin() || std::prev(next)->second <= block->address,
            "overlaps the block before");
    live.emplace(block->address, end);
    blocks.emplace(e.block, *block);
  }
  const PoolStats& s = pool->stats();
  require(s.live == blocks.size(), "blocks are lost");
  require(s.now.used <= s.now.reserved && s.now.requested <= s.now.used, "the books are wrong");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto trace = read(text);
  if (!trace) {
    require(trace.error().message().find("line ") != std::string_view::npos, "names no line");
    return 0;
  }
  if (trace->events.size() > 4096) return 0;
  for (const MemoryPoolKind& kind : pools()) play(*trace, kind);
  const StaticPeak peak = static_peak(*trace, *find_strategy("greedy-by-size"), {});
  require(peak.plans <= trace->runs.size(), "more plans than runs");
  return 0;
}
