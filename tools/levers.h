// SPDX-License-Identifier: Apache-2.0
// Ways for an engine to compute the same: what `quern verify --levers` turns.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <quern/custom_ops.h>
#include <quern/executable.h>
#include <quern/status.h>

namespace quern::tools {

struct Levers {
  bool onednn = true;
  std::string simd;            // "": the best that this CPU has
  bool nan_memory = false;     // QUERN_MEMORY: what is not written yet is NaN
  bool small_cuts = false;     // work is cut where it is small, too
  int stripes = -1;            // percent: QUERN_STRIPES; -1: not set
  bool cached_stripes = true;  // CompileOptions::stripes
  int cache = 0;               // bytes: QUERN_CACHE; 0: not set
  int threads = 0;
  int pool = 0;  // threads of a pool of quern's own; 0: OpenMP's
  std::string strategy;
  bool scratch = true;
  bool order = true;
  bool alias = true;
  bool optimize = true;
  std::string math;   // CompileOptions::math; empty: f32
  std::string entry;  // CompileOptions::implementation; empty: none
  // The executable is the one that its artefact gives: "sealed" or "portable"; empty: it is not.
  std::string artefact;
  // The model is the one that `quern optimize` makes of it: "basic" or "all"; empty: it is not.
  std::string rewritten;

  // "onednn=off,threads=2": those that are not as usual; "default" when all are.
  std::string text() const;
  CompileOptions options() const;
  // By these options, and through an artefact if the lever says so, which finds operators of the
  // host in `ops` (it may be null).
  Result<std::shared_ptr<const Executable>> compile(Model model, std::shared_ptr<Device> device,
                                                    const CompileOptions& options,
                                                    std::shared_ptr<const CustomOps> ops) const;
  // Applies the levers that only a new process can set, by the environment
  // (docs/adding-an-operator.md).
  void apply_to_process() const;
  // True if both can be tried in one process.
  bool same_process(const Levers& other) const {
    return onednn == other.onednn && simd == other.simd && small_cuts == other.small_cuts &&
           nan_memory == other.nan_memory && stripes == other.stripes && cache == other.cache;
  }
};

// Errors: invalid_argument.
Result<Levers> parse_levers(std::string_view text);
// Levels of QUERN_SIMD below the best of this CPU.
std::vector<std::string> lower_simd_levels();

}  // namespace quern::tools
