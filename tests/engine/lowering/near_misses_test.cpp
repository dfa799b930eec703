// SPDX-License-Identifier: Apache-2.0
// The programs of small graphs with one change at a time: other attributes, operands, types and
// shapes, a reader more. Each is valid, stays inside of its buffers, and is held by a hash to what
// it was when last looked at: a choice that a guard no longer stops shows here, where no family of
// families() is on both sides of it.
//
// Where a difference is wanted, write the hashes anew, and commit them:
//   QUERN_WRITE_TEXTS=1 build/release/bin/engine_lowering_tests --gtest_filter='*NearPrograms*'
#include <map>
#include <set>
#include <string>

#include "engine/compile/dispatch_check.h"
#include "engine/devices/cpu/weights.h"
#include "engine/planning/lower.h"
#include "engine/vocabulary/text_util.h"
#include "graph/passes/pipeline.h"
#include "graph/text.h"
#include "tests/engine/all_families.h"
#include "tests/engine/known_plans.h"
#include "tests/engine/paper_device.h"
#include "tests/graph/changes.h"
#include "tests/held_texts.h"

namespace quern {
namespace {

using testing::NamedTarget;
using testing::PaperBackend;

// The program, or why there is none.
std::string text_of(const Graph& graph, const std::optional<GpuTarget>& target) {
  cpu::SharedWeights packed;
  // The search for an order takes longer than all else, and has tests of its own.
  LowerOptions options{
      .use_onednn = false, .strategy = &testing::known_plans(), .order = false, .weights = &packed};
  std::optional<PaperBackend> backend;
  if (target) {
    options.backend = &backend.emplace(*target);
  } else {
    options.reference_only = true;
  }
  const auto program = lower(graph, options);
  if (!program) return std::string(program.error().message());
  if (target) {
    const Status fits =
        check_dispatches(**program, {*target, backend->alignment(), testing::paper_bytes});
    EXPECT_TRUE(fits.ok()) << fits.message();
  }
  return testing::text(**program);
}

bool has_known_shapes(const Graph& g) {
  return std::ranges::all_of(g.inputs(), [&](ValueId v) { return g.type(v).fully_known(); });
}

class NearPrograms : public ::testing::TestWithParam<NamedTarget> {};

TEST_P(NearPrograms, AreAsTheyWere) {
#ifdef __clang__
  GTEST_SKIP() << "the models have inputs in the order in which GCC evaluates arguments of a call";
#endif
  std::map<std::string, std::uint32_t> found;
  for (const testing::Family& family : testing::all_families()) {
    testing::StableHash hash;
    std::set<std::string> seen;
    const Model model = family.make();
    const Graph& graph = model.graph();
    for (const testing::GraphChange& change : testing::changes_of(graph)) {
      auto changed = testing::with_change(graph, change);
      if (!changed || !has_known_shapes(*changed) || !run_passes(*changed).ok()) continue;
      if (!seen.insert(to_text(*changed, {.names = false})).second) continue;
      SCOPED_TRACE(cat(family.name, ", ", change.name));
      hash.add(text_of(*changed, GetParam().target));
    }
    found[std::string(family.name)] = hash.value();
  }
  testing::expect_held(found, cat(QUERN_SOURCE_DIR "/tests/engine/lowering/near_programs/",
                                  GetParam().name, ".txt"));
}

INSTANTIATE_TEST_SUITE_P(On, NearPrograms, ::testing::ValuesIn(testing::paper_targets()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quern
