// SPDX-License-Identifier: Apache-2.0
// Plans below the peak of whole tensors: chains of nodes run in stripes of rows (graph/stripes).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "engine/compile/program.h"
#include "engine/lowering/lower.h"
#include "graph/graph.h"

namespace quern {

struct StripeLimits {
  // The bytes that the arenas of the program may take, as far as that is known before its weights
  // are packed: `fits` decides.
  std::uint64_t arena = 0;
  std::function<Status(const Program&)> fits;
  // The bytes that kernels of whole tensors work in, by node; may be shorter.
  std::vector<std::uint64_t> scratch = {};
  std::size_t memory = 0;  // bytes that tables of compiling may take (check_room); 0: any
  // The bytes of one value that nodes read or make, but for as few nodes as possible.
  std::uint64_t operand = std::numeric_limits<std::uint64_t>::max();
};

// Lowers the graph with as few stripes as the limits allow. `whole` is the error of the program
// without stripes: returned if no node can be computed by rows. Where no stripes fit, the error
// names the smallest arena that was found.
Result<std::unique_ptr<Program>> lower_in_stripes(const Graph& graph, const LowerOptions& options,
                                                  StripeLimits limits, Status whole);

// What a tuning says of a plan in stripes that take so much of the arena of whole tensors; nullopt:
// it says something else.
std::string stripes_entry(unsigned percent);
std::optional<unsigned> stripes_percent(std::string_view entry);

// By measurement (CompileOptions::tuning), in stripes whose arena is at most a share of that of
// `whole`, which gets the name of its work. Null: whole tensors are as fast, nothing was measured,
// or no stripes fit.
Result<std::unique_ptr<Program>> lower_in_measured_stripes(const Graph& graph,
                                                           const LowerOptions& options,
                                                           StripeLimits limits, Program& whole);

// What a tuning says of a plan in the stripes of lower_in_cached_stripes().
inline constexpr std::string_view cached_stripes_entry = "stripes=cache";

struct CachedStripes {
  // Null: whole tensors are as fast, by the model or measured.
  std::unique_ptr<Program> program = nullptr;
  // True: no arena of whole tensors is smaller. False: one may be.
  bool is_smaller = false;
};

// On the CPU, in stripes whose rows stay in the second-level cache where the model of
// graph/stripes/cached.h says that this is faster: it has one thread in mind. `memory_limit`: bytes
// that tables of compiling may take; 0: any.
Result<CachedStripes> lower_in_cached_stripes(const Graph& graph, LowerOptions options,
                                              std::size_t memory_limit);

// For tests: with QUERN_STRIPES=P in the environment, read once, every plan takes at most P percent
// of the way from its smallest arena to that of `whole`. Null: the variable is not set, or the plan
// has no stripes.
Result<std::unique_ptr<Program>> lower_in_forced_stripes(const Graph& graph,
                                                         const LowerOptions& options,
                                                         const Program& whole);

}  // namespace quern
