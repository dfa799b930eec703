// SPDX-License-Identifier: Apache-2.0
#include "engine/planning/striped.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/compile/ledger.h"
#include "engine/planning/lower.h"
#include "engine/vocabulary/content_hash.h"
#include "engine/vocabulary/platform/process.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/conv.h"
#include "graph/stripes/cached.h"
#include "graph/stripes/rewrite.h"
#include "graph/stripes/search.h"
#include "graph/text.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/winograd.h"

namespace quern {
namespace {

// A choice is made by a model that knows no scratch memory of stripes, no copies between layouts
// and no space between buffers; so what a program takes beyond its model is taken off the next
// choice.
class Attempts {
 public:
  Attempts(const Graph& graph, const LowerOptions& options, StripeLimits limits)
      : options_(options),
        limits_(std::move(limits)),
        rows_(graph),
        search_(rows_, limits_.scratch, options.stop, limits_.operand) {
    options_.order = false;  // that of the stripes
    options_.stripes = Stripes::limit;
    options_.formats = &formats_;
    for (ValueId v : graph.outputs())
      outputs_ += TensorType{graph.type(v).dtype, *graph.type(v).shape()}.bytes();
  }

  Result<std::unique_ptr<Program>> run(Status whole) {
    const stripes::Choice least = search_.smallest();
    if (least.chains.empty()) {
      if (whole.ok()) return std::unique_ptr<Program>();
      return whole;
    }
    QUERN_ASSIGN(auto program, with_these_kernels(least));
    if (!program && options_.scratch) {
      options_.scratch = false;  // kernels for 8-bit integers take more than their rows have
      QUERN_ASSIGN(program, with_these_kernels(least));
    }
    if (program) return program;
    return Status(refused_.code(),
                  cat(refused_.message(), "; the smallest arena, in stripes of rows, has ", least_,
                      options_.backend ? " bytes on host and device" : " bytes"));
  }

 private:
  static constexpr std::size_t most_nodes = 40'000;  // of all attempts; some 0.1 ms each

  Result<std::unique_ptr<Program>> with_these_kernels(const stripes::Choice& least) {
    QUERN_ASSIGN(auto program, within(limits_.arena));
    if (!program) {
      QUERN_ASSIGN(program, smallest(least));
    }
    for (int further = 0; !program && further < 2; ++further) {
      QUERN_ASSIGN(program, within(least_ - least_ / 32));
    }
    return program;
  }

  // A program that fits, found on the way to an arena of at most so many bytes. Null: none is.
  Result<std::unique_ptr<Program>> within(std::uint64_t arena) {
    constexpr int most = 6;
    std::uint64_t budget = arena - std::min(arena, outputs_);
    for (int attempt = 0; attempt < most && has_time(); ++attempt) {
      const auto choice = search_.cheapest(budget);
      if (!choice || choice->chains.empty()) break;
      QUERN_ASSIGN(auto program, lowered(*choice));
      if (fits(*program)) return program;
      const std::uint64_t over = arena_bytes(*program) - std::min(arena_bytes(*program), arena);
      const std::uint64_t next = std::min(budget, choice->peak);
      budget = next - std::min(next, std::max<std::uint64_t>(over, 1));
    }
    return std::unique_ptr<Program>();
  }

  // What is smallest by the model may not be so with scratch memory and space between buffers:
  // somewhat larger choices are tried, too.
  Result<std::unique_ptr<Program>> smallest(const stripes::Choice& least) {
    std::vector<stripes::Chain> tried;
    for (const double larger : {1.0, 1.06, 1.15, 1.3}) {
      const auto bytes = static_cast<std::uint64_t>(larger * static_cast<double>(least.peak));
      const auto choice = search_.cheapest(bytes);
      if (!choice || choice->chains == tried || !has_time()) continue;
      tried = choice->chains;
      QUERN_ASSIGN(auto program, lowered(*choice));
      if (fits(*program)) return program;
    }
    return std::unique_ptr<Program>();
  }

  bool fits(const Program& program) {
    Status status = limits_.fits(program);
    const bool ok = status.ok();
    if (!ok && arena_bytes(program) <= least_) refused_ = std::move(status);
    return ok;
  }

  // The first attempt is always made.
  bool has_time() const { return nodes_ < most_nodes; }

  Result<std::unique_ptr<Program>> lowered(const stripes::Choice& choice) {
    QUERN_ASSIGN(const Graph graph, stripes::in_stripes(rows_, choice.chains));
    nodes_ += graph.node_count();
    QUERN_TRY(check_room(graph, CompilePhase::lowering, limits_.memory));
    QUERN_ASSIGN(auto program, lower(graph, options_));
    least_ = std::min(least_, arena_bytes(*program));
    return program;
  }

  LowerOptions options_;
  StripeLimits limits_;
  PackedFormats formats_;
  stripes::RowGraph rows_;
  stripes::Search search_;
  std::uint64_t outputs_ = 0;
  std::size_t nodes_ = 0;  // that were lowered, in all attempts
  std::uint64_t least_ = std::numeric_limits<std::uint64_t>::max();  // of all arenas so far
  Status refused_;                                                   // that of the least one
};

}  // namespace

Result<std::unique_ptr<Program>> lower_in_stripes(const Graph& graph, const LowerOptions& options,
                                                  StripeLimits limits, Status whole) {
  return Attempts(graph, options, std::move(limits)).run(std::move(whole));
}

namespace {

// The same for equal graphs that run as these options say.
std::string plan_work(const Graph& graph, const LowerOptions& options) {
  const std::string text = to_text(graph);
  const ContentHash hash = content_hash(std::as_bytes(std::span(text)));
  return cat("plan ", hash[0], ".", hash[1], " threads=", options.team.threads,
             options.scratch ? "" : " scratch=off");
}

constexpr std::string_view stripes_prefix = "stripes=";

}  // namespace

std::string stripes_entry(unsigned percent) {
  return cat(stripes_prefix, percent);
}

std::optional<unsigned> stripes_percent(std::string_view entry) {
  if (!entry.starts_with(stripes_prefix)) return std::nullopt;
  entry.remove_prefix(stripes_prefix.size());
  unsigned percent = 0;
  const auto [stop, error] = std::from_chars(entry.data(), entry.data() + entry.size(), percent);
  const bool is_share = error == std::errc() && stop == entry.data() + entry.size();
  return is_share && percent >= 1 && percent <= 99 ? std::optional(percent) : std::nullopt;
}

Result<std::unique_ptr<Program>> lower_in_measured_stripes(const Graph& graph,
                                                           const LowerOptions& options,
                                                           StripeLimits limits, Program& whole) {
  if (!options.measured || options.backend || options.reference_only)
    return std::unique_ptr<Program>();
  whole.work = plan_work(graph, options);
  const auto percent = stripes_percent(options.measured->entry_for(whole.work));
  if (!percent) return std::unique_ptr<Program>();
  const std::uint64_t most = std::min(limits.arena, arena_bytes(whole) / 100 * *percent);
  limits.arena = most;
  limits.fits = [most, fits = std::move(limits.fits)](const Program& p) -> Status {
    if (arena_bytes(p) > most) return {Code::out_of_memory, "more than the measured share"};
    return fits(p);
  };
  auto striped = Attempts(graph, options, std::move(limits))
                     .run({Code::unsupported, "no node can be computed by rows"});
  if (striped) (*striped)->work = whole.work;
  const Code code = striped ? Code::ok : striped.error().code();
  if (code == Code::unsupported || code == Code::out_of_memory) return std::unique_ptr<Program>();
  return striped;
}

namespace {

// -1: not set.
std::int64_t forced_percent() {
  static const std::int64_t answer = [] {
    const char* text = std::getenv("QUERN_STRIPES");
    return text ? std::clamp<std::int64_t>(std::atoll(text), 0, 100) : -1;
  }();
  return answer;
}

// The bytes of the second-level cache of a core, or what QUERN_CACHE in the environment says, for
// tests: then chains are taken whatever they gain.
stripes::CacheModel cache_here() {
  static const stripes::CacheModel here = [] {
    stripes::CacheModel model;
    const char* text = std::getenv("QUERN_CACHE");
    const long long wanted = text ? std::atoll(text) : 0;
    if (wanted > 0)
      model = {.bytes = static_cast<std::uint64_t>(wanted),
               .call = 0,
               .least_rows = 1,
               .least_ratio = 0,
               .least_gain = 0};
    else if (const std::size_t bytes = platform::second_level_cache(); bytes > 0)
      model.bytes = bytes;
    return model;
  }();
  return here;
}

TensorType type_of(const Graph& graph, ValueId v) {
  return {graph.type(v).dtype, *graph.type(v).shape()};
}

stripes::NodeWork work_of(const Graph& graph, const Node& node, const LowerOptions& options) {
  const auto types = [&](std::span<const ValueId> values) {
    std::vector<TensorType> list;
    for (ValueId v : values)
      list.push_back(v == no_value ? TensorType{DType::f32, {0}} : type_of(graph, v));
    return list;
  };
  const auto inputs = types(node.inputs);
  const auto outputs = types(node.outputs);
  const Cost cost = cost_of(node.op, inputs, outputs);
  const auto* conv = node.as<Conv>();
  const bool is_for_whole =
      conv && options.scratch && faster_by_winograd(*conv, inputs[1].shape, outputs[0].shape);
  return {cost.flops, cost.bytes, is_for_whole};
}

// A number of bytes that the arena of whole tensors has at least: a kernel that goes over windows
// reads one value while it writes another.
std::uint64_t least_of_whole(const stripes::RowGraph& rows) {
  const Graph& g = rows.graph();
  std::uint64_t most = 0;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const Node& n = rows.node(at);
    if (!n.op.is<Conv>()) continue;
    const bool is_in_arena = g.value(n.inputs[0]).producer != no_node;
    const std::uint64_t read = is_in_arena ? type_of(g, n.inputs[0]).bytes() : 0;
    most = std::max(most, read + type_of(g, n.outputs[0]).bytes());
  }
  return most;
}

// False where all that a node reads or makes stays in the cache anyway: then nothing is looked at.
bool leaves(const Graph& graph, std::uint64_t cache) {
  for (std::uint32_t v = 0; v < graph.value_count(); ++v) {
    const Value& value = graph.value(ValueId{v});
    if (value.producer != no_node && !value.uses.empty() &&
        type_of(graph, ValueId{v}).bytes() > cache / 4)
      return true;
  }
  return false;
}

}  // namespace

Result<CachedStripes> lower_in_cached_stripes(const Graph& graph, LowerOptions options,
                                              std::size_t memory_limit) {
  const stripes::CacheModel cache = cache_here();
  CachedStripes none;
  if (options.backend || options.reference_only || forced_percent() >= 0 ||
      !leaves(graph, cache.bytes))
    return none;
  std::string work;
  if (options.measured) {
    work = plan_work(graph, options);
    const std::string_view entry = options.measured->entry_for(work);
    if (!entry.empty() && entry != cached_stripes_entry) return none;
  }
  const stripes::RowGraph rows(graph);
  std::vector<stripes::NodeWork> works;
  for (std::size_t at = 0; at < rows.size(); ++at)
    works.push_back(work_of(graph, rows.node(at), options));
  const std::vector<stripes::Chain> chains = stripes::chains_for_cache(rows, works, cache);
  if (chains.empty()) return none;
  QUERN_ASSIGN(const Graph striped, stripes::in_stripes(rows, chains));
  if (!check_room(striped, CompilePhase::lowering, memory_limit).ok()) return none;
  PackedFormats formats;
  options.order = false;  // that of the stripes
  options.stripes = Stripes::cache;
  options.formats = &formats;
  // A search would take most of the time of a plan, for the last bytes of an arena that is smaller
  // anyway.
  if (!options.strategy) options.strategy = find_strategy("greedy-by-size");
  CachedStripes found;
  auto program = lower(striped, options);
  const Code code = program ? Code::ok : program.error().code();
  if (code == Code::unsupported || code == Code::out_of_memory) return none;
  QUERN_ASSIGN(found.program, std::move(program));
  found.program->work = std::move(work);
  found.is_smaller = arena_bytes(*found.program) <= least_of_whole(rows);
  return found;
}

Result<std::unique_ptr<Program>> lower_in_forced_stripes(const Graph& graph,
                                                         const LowerOptions& options,
                                                         const Program& whole) {
  const std::int64_t percent = forced_percent();
  if (percent < 0 || options.reference_only) return std::unique_ptr<Program>();
  const auto any = [](const Program&) { return Status(); };
  const auto lowered = [&](std::uint64_t arena) {
    return Attempts(graph, options, {arena, any}).run({});
  };
  QUERN_ASSIGN(auto smallest, lowered(0));
  if (!smallest) return smallest;
  const std::uint64_t least = std::min(arena_bytes(*smallest), arena_bytes(whole));
  const std::uint64_t room = arena_bytes(whole) - least;
  return percent == 0 ? std::move(smallest)
                      : lowered(least + room * static_cast<std::uint64_t>(percent) / 100);
}

}  // namespace quern
