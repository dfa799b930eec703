// SPDX-License-Identifier: Apache-2.0
// What almost is a pattern. Each graph of the tests in this folder is taken with one small change
// at a time: another number, operand, attribute, type or shape, a node less, a reader more. All
// rules may fire then; the results must stay, and what becomes of the graphs is held to what it was
// when last looked at: a rule that a guard no longer stops shows here, and so does one that fires
// no more.
//
// Where a difference is wanted, write the hashes anew, and commit them:
//   QUERN_WRITE_TEXTS=1 build/release/bin/graph_passes_tests --gtest_filter='NearMisses*'
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/vocabulary/text_util.h"
#include "graph/passes/match.h"
#include "graph/text.h"
#include "kernels/contract/kernel.h"
#include "tests/graph/changes.h"
#include "tests/graph/passes/golden.h"
#include "tests/held_texts.h"

namespace quern::testing {
namespace {

namespace fs = std::filesystem;

// The interpreter gives bodies what their nodes say that they take.
bool can_be_run(const Graph& g) {
  const auto is_known = [&](ValueId v) {
    return g.type(v).fully_known() && g.type(v).dtype != DType::string;
  };
  return std::ranges::all_of(g.inputs(), is_known) &&
         std::ranges::all_of(g.order(), [&](NodeId id) { return g.node(id).bodies.empty(); });
}

bool has_infinite_constants(const Graph& g) {
  for (std::size_t i = 0; i < g.value_count(); ++i) {
    const auto& v = g.value(static_cast<ValueId>(i));
    const auto elements = v.is_constant() ? passes::numbers(v.constant) : std::nullopt;
    if (elements && !std::ranges::all_of(*elements, [](double e) { return std::isfinite(e); }))
      return true;
  }
  return false;
}

// Whether results are those of before, where those are finite; 8-bit integers, which may be
// quantised, may be off by a step. Which integer NaN becomes is no operator's to say.
bool are_kept(const Graph& before, const Graph& after) {
  if (!can_be_run(before)) return true;
  const std::vector<Tensor> inputs = random_inputs(before, 3);
  const auto expected = interpret(before, inputs);
  if (!expected) return true;
  const auto actual = interpret(after, inputs);
  if (!actual) return false;
  const bool infinite = has_infinite_constants(before);
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const Tensor& wanted = (*expected)[i];
    const Tensor& got = (*actual)[i];
    if (wanted.type() != got.type()) return false;
    if (infinite && !is_float(wanted.dtype())) continue;
    if (wanted.dtype() == DType::boolean &&
        std::memcmp(wanted.data(), got.data(), wanted.bytes()) != 0)
      return false;
    const auto a = passes::numbers(wanted);
    const auto b = passes::numbers(got);
    if (!a || !b) continue;
    double greatest = 1;
    for (const double v : *a)
      if (std::isfinite(v)) greatest = std::max(greatest, std::fabs(v));
    const double allowed = size_of(wanted.dtype()) == 1 ? 1 : 1e-3 * greatest;
    for (std::size_t k = 0; k < a->size(); ++k)
      if (std::isfinite((*a)[k]) && !(std::fabs((*a)[k] - (*b)[k]) <= allowed)) return false;
  }
  return true;
}

// The graphs that are written as text in a test's source.
std::vector<std::string> graphs_in(const fs::path& path) {
  std::ostringstream source;
  source << std::ifstream(path).rdbuf();
  const std::string text = source.str();
  std::vector<std::string> found;
  constexpr std::string_view begin = "R\"(";
  constexpr std::string_view end = ")\"";
  for (std::size_t at = 0; (at = text.find(begin, at)) != text.npos;) {
    at += begin.size();
    const std::size_t last = text.find(end, at);
    found.push_back(text.substr(at, last - at));
  }
  return found;
}

TEST(NearMisses, AreAsTheyWere) {
  std::map<std::string, std::uint32_t> found;
  std::size_t graphs = 0;
  for (const auto& entry : fs::directory_iterator(QUERN_SOURCE_DIR "/tests/graph/passes")) {
    if (entry.path().extension() != ".cpp") continue;
    for (const std::string& statements : graphs_in(entry.path())) {
      const auto g = parse_text(cat("graph \"\" {\n", statements, "\n}"), builtin_ops());
      if (!g) continue;
      StableHash hash;
      for (const GraphChange& change : changes_of(*g)) {
        const auto changed = with_change(*g, change);
        if (!changed) continue;
        ++graphs;
        Graph after = changed->clone();
        const Status status = run_passes(after);
        hash.add(status.ok() ? plain_text(after) : std::string(status.message()));
        if (status.ok() && !are_kept(*changed, after))
          ADD_FAILURE() << entry.path().filename() << ", " << change.name << "\n"
                        << plain_text(*changed) << "became\n"
                        << plain_text(after);
      }
      found[cat(entry.path().stem().string(), ' ', stable_hash(statements))] = hash.value();
    }
  }
  EXPECT_GT(graphs, 20000U);
  expect_held(found, QUERN_SOURCE_DIR "/tests/graph/passes/near_misses.txt");
}

}  // namespace
}  // namespace quern::testing
