// SPDX-License-Identifier: Apache-2.0
#include "tools/random/shrink.h"

#include <algorithm>
#include <filesystem>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/opened.h"
#include "tools/random/judge.h"
#include "tools/verify_case.h"

namespace quern::tools {
namespace {

// A defect that a device might have: every Transpose whose operand a Concat or an elementwise
// operator made. The reference must accept what shows it.
bool shows_defect(const RandomModel& m) {
  const auto& nodes = m.graph().nodes;
  const bool there = std::any_of(nodes.begin(), nodes.end(), [&](const onnx::NodeProto& n) {
    return n.op_type == "Transpose" && std::any_of(nodes.begin(), nodes.end(), [&](auto& made) {
             return made.op_type != "Transpose" && made.outputs[0] == n.inputs[0];
           });
  });
  return there && reference_outputs(m).has_value();
}

RandomModel defective_model() {
  for (std::uint64_t seed = 0;; ++seed) {
    RandomModel m = make_random_model({.seed = seed});
    if (m.runs.size() > 1 && shows_defect(m)) return m;
  }
}

TEST(Shrink, APlantedDefectComesDownToTheNodesThatShowIt) {
  const RandomModel m = defective_model();
  ASSERT_GT(count_nodes(m.graph()), 10u);
  const RandomModel small = shrink(m, shows_defect, 60);
  EXPECT_TRUE(shows_defect(small));
  EXPECT_LE(count_nodes(small.graph()), 3u);
  EXPECT_EQ(small.graph().outputs.size(), 1u);
  EXPECT_EQ(small.runs.size(), 1u);
}

TEST(Shrink, WritesACaseThatPassesOnTheReference) {
  const RandomModel small = shrink(defective_model(), shows_defect, 60);
  const std::string folder = ::testing::TempDir() + "quern_shrink_" + std::to_string(getpid());
  const Status written = write_case(small, folder);
  ASSERT_TRUE(written.ok()) << written.message();
  const auto cases = find_cases({folder});
  ASSERT_TRUE(cases) << cases.error().message();
  ASSERT_EQ(cases->size(), 1u);
  const CaseResult r = run_case(cases->front(), {.device = *device_named("reference")});
  EXPECT_EQ(r.outcome, CaseResult::Outcome::passed) << r.reason;
  std::filesystem::remove_all(folder);
}

// An input and an output that are optionals, and an output that is a sequence, in several runs.
bool has_everything(const RandomModel& m) {
  const auto has = [](const std::vector<onnx::ValueInfo>& values, onnx::TypeProto::Kind kind) {
    return std::ranges::any_of(values, [&](auto& v) { return v.type.kind == kind; });
  };
  using Kind = onnx::TypeProto::Kind;
  return !m.model.graph.empty() && m.runs.size() > 1 && has(m.graph().inputs, Kind::optional) &&
         has(m.graph().outputs, Kind::optional) && has(m.graph().outputs, Kind::sequence);
}

TEST(Shrink, WritesOptionalsAndSequences) {
  RandomModel m;
  for (std::uint64_t seed = 0; !has_everything(m); ++seed) m = make_random_model({.seed = seed});
  const std::string folder = ::testing::TempDir() + "quern_optionals_" + std::to_string(getpid());
  const Status written = write_case(m, folder);
  ASSERT_TRUE(written.ok()) << written.message();
  const auto cases = find_cases({folder});
  ASSERT_TRUE(cases) << cases.error().message();
  const CaseResult r = run_case(cases->front(), {.device = *device_named("reference")});
  EXPECT_EQ(r.outcome, CaseResult::Outcome::passed) << r.reason;
  std::filesystem::remove_all(folder);
}

// What a defect shows in is made small where strings and optionals are about, too.
TEST(Shrink, TakesModelsApartThatAreNotAllTensors) {
  RandomModel m;
  const auto shows_both = [](const RandomModel& model) {
    const auto& nodes = model.graph().nodes;
    return std::ranges::any_of(nodes, [](auto& n) { return n.op_type == "Optional"; }) &&
           std::ranges::any_of(nodes, [](auto& n) { return n.op_type == "StringNormalizer"; }) &&
           reference_outputs(model).has_value();
  };
  for (std::uint64_t seed = 0; m.model.graph.empty() || !shows_both(m); ++seed)
    m = make_random_model({.seed = seed});
  const RandomModel small = shrink(m, shows_both, 60);
  EXPECT_TRUE(shows_both(small));
  EXPECT_LE(count_nodes(small.graph()), 4u);
}

TEST(Shrink, StopsWhenTimeIsUp) {
  const RandomModel m = defective_model();
  const RandomModel same = shrink(m, shows_defect, 0);
  EXPECT_EQ(onnx::write_model(same.model), onnx::write_model(m.model));
}

}  // namespace
}  // namespace quern::tools
