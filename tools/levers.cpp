// SPDX-License-Identifier: Apache-2.0
#include "tools/levers.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

#include "engine/vocabulary/platform/process.h"
#include "engine/vocabulary/text_util.h"
#include "tools/parse.h"
#include "tools/through_artefact.h"

namespace quern::tools {
namespace {

struct SwitchRow {
  std::string_view name;
  bool Levers::*value;
};
constexpr SwitchRow switches[] = {{"onednn", &Levers::onednn},
                                  {"scratch", &Levers::scratch},
                                  {"order", &Levers::order},
                                  {"alias", &Levers::alias},
                                  {"optimize", &Levers::optimize}};

// One of these words.
struct WordRow {
  std::string_view name;
  std::string Levers::*value;
  std::initializer_list<std::string_view> words;
};
// simd: QUERN_SIMD's levels, of all architectures: the other's disable nothing.
const WordRow word_rows[] = {
    {"simd", &Levers::simd, {"avx512", "avx2", "dotprod", "neon", "baseline"}},
    {"math", &Levers::math, {"bf16", "bf16x3"}},
    {"artefact", &Levers::artefact, {"sealed", "portable"}},
    {"rewritten", &Levers::rewritten, {"basic", "all"}}};

struct NumberRow {
  std::string_view name;
  int Levers::*value;
  std::int64_t least, most;
};
constexpr NumberRow number_rows[] = {{"threads", &Levers::threads, 1, 1024},
                                     {"pool", &Levers::pool, 1, 1024},
                                     {"stripes", &Levers::stripes, 0, 100},
                                     {"cache", &Levers::cache, 1, 1 << 30}};

// A lever that one value turns.
struct ValueRow {
  std::string_view name, value;
  bool Levers::*turned;
  bool to;
};
constexpr ValueRow value_rows[] = {{"cuts", "small", &Levers::small_cuts, true},
                                   {"memory", "nan", &Levers::nan_memory, true},
                                   {"stripes", "off", &Levers::cached_stripes, false}};

bool set_named(std::string_view name, std::string_view value, Levers& levers) {
  for (const ValueRow& row : value_rows)
    if (row.name == name && row.value == value) {
      levers.*row.turned = row.to;
      return true;
    }
  for (const WordRow& row : word_rows)
    if (row.name == name && std::ranges::find(row.words, value) != row.words.end()) {
      levers.*row.value = value;
      return true;
    }
  const bool is_free = name == "strategy" || (name == "entry" && !value.empty());
  if (is_free) (name == "entry" ? levers.entry : levers.strategy) = value;
  return is_free;
}

Status parse_one(std::string_view name, std::string_view value, Levers& levers) {
  for (const SwitchRow& row : switches) {
    if (row.name != name) continue;
    if (value != "on" && value != "off")
      return {Code::invalid_argument, cat("lever ", name, " is on or off, not '", value, "'")};
    levers.*row.value = value == "on";
    return {};
  }
  if (set_named(name, value, levers)) return {};
  const auto n = parse_integer(std::string(value));
  for (const NumberRow& row : number_rows)
    if (n && row.name == name && *n >= row.least && *n <= row.most) {
      levers.*row.value = static_cast<int>(*n);
      return {};
    }
  return {Code::invalid_argument,
          cat("no lever '", printable(name), "=", printable(value),
              "'; there is onednn, scratch, order, alias, optimize=on|off, "
              "simd=avx512|avx2|dotprod|neon|baseline, cuts=small, memory=nan, stripes=off|0..100, "
              "cache=BYTES, math=bf16|bf16x3, "
              "artefact=sealed|portable, rewritten=basic|all, entry=NAME, threads=N, pool=N, "
              "strategy=NAME")};
}

}  // namespace

std::string Levers::text() const {
  std::string s;
  const auto add = [&](std::string_view name, std::string_view value) {
    s += cat(s.empty() ? "" : ",", name, "=", value);
  };
  if (!simd.empty()) add("simd", simd);
  if (small_cuts) add("cuts", "small");
  if (nan_memory) add("memory", "nan");
  if (stripes >= 0) add("stripes", std::to_string(stripes));
  if (!cached_stripes) add("stripes", "off");
  if (cache != 0) add("cache", std::to_string(cache));
  for (const SwitchRow& row : switches)
    if (!(this->*row.value)) add(row.name, "off");
  if (!math.empty()) add("math", math);
  if (!artefact.empty()) add("artefact", artefact);
  if (!entry.empty()) add("entry", entry);
  if (!rewritten.empty()) add("rewritten", rewritten);
  if (threads != 0) add("threads", std::to_string(threads));
  if (pool != 0) add("pool", std::to_string(pool));
  if (!strategy.empty()) add("strategy", strategy);
  return s.empty() ? "default" : s;
}

CompileOptions Levers::options() const {
  return {.threads = threads,
          .thread_pool = pool ? make_thread_pool(pool).value() : nullptr,
          .strategy = strategy,
          .optimize = optimize,
          .order = order,
          .alias = alias,
          .math = math.empty() ? Math::f32 : math_named(math).value(),
          .scratch = scratch,
          .stripes = cached_stripes,
          .implementation = entry};
}

Result<std::shared_ptr<const Executable>> Levers::compile(
    Model model, std::shared_ptr<Device> device, const CompileOptions& options,
    std::shared_ptr<const CustomOps> ops) const {
  QUERN_ASSIGN(auto executable, Executable::compile(std::move(model), device, options));
  if (artefact.empty()) return executable;
  return through_artefact(std::move(executable), std::move(device),
                          {.is_portable = artefact == "portable"},
                          {.compile = options, .ops = std::move(ops)});
}

void Levers::apply_to_process() const {
  if (!onednn) platform::set_variable("QUERN_ONEDNN", "off");
  if (small_cuts) platform::set_variable("QUERN_CUTS", "small");
  if (nan_memory) platform::set_variable("QUERN_MEMORY", "nan");
  if (stripes >= 0) platform::set_variable("QUERN_STRIPES", std::to_string(stripes).c_str());
  if (cache > 0) platform::set_variable("QUERN_CACHE", std::to_string(cache).c_str());
  if (simd.empty()) return;
  platform::set_variable("QUERN_SIMD", simd.c_str());
  // oneDNN's own, under the names of both generations.
  const char* isa = simd == "avx512" ? "AVX512_CORE" : simd == "avx2" ? "AVX2" : "SSE41";
  platform::set_variable("ONEDNN_MAX_CPU_ISA", isa);
  platform::set_variable("DNNL_MAX_CPU_ISA", isa);
}

Result<Levers> parse_levers(std::string_view text) {
  Levers levers;
  if (text == "default") return levers;
  for (const std::string& part : split_list(std::string(text))) {
    const std::size_t at = part.find('=');
    const std::string_view whole = part;
    QUERN_TRY(parse_one(whole.substr(0, at), at == part.npos ? "" : whole.substr(at + 1), levers));
  }
  return levers;
}

std::vector<std::string> lower_simd_levels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
    return {"avx512", "avx2", "baseline"};
  if (__builtin_cpu_supports("avx2")) return {"baseline"};
  return {};
#else
  // The CPU's device says what it has: "NEON, dotprod, i8mm".
  std::string here;
  if (const auto cpu = open_device("cpu"))
    for (const auto& [name, value] : (*cpu)->info().properties)
      if (name == "instructions") here = value;
  const auto has = [&](std::string_view what) { return here.find(what) != here.npos; };
  std::vector<std::string> levels;
  if (has("i8mm")) levels.emplace_back("dotprod");
  if (has("dotprod")) levels.emplace_back("neon");
  if (has("NEON")) levels.emplace_back("baseline");
  return levels;
#endif
}

}  // namespace quern::tools
