// SPDX-License-Identifier: Apache-2.0
// Every ONNX case that is installed, run on the CPU and by the references, within the oracle's
// bounds.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <quern/device.h>
#include <quern/onnx.h>

#include "tests/tools/oracle/judging.h"
#include "tools/cases.h"
#include "tools/inputs.h"

namespace quern::testing {
namespace {

constexpr const char* folder = "/usr/share/libonnx-testdata/data/node";

std::optional<std::vector<OracleInput>> inputs_of(const tools::Case& c, const Model& model) {
  std::vector<OracleInput> out;
  const auto specs = model.inputs();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::string path = c.sets[0] + "/input_" + std::to_string(i) + ".pb";
    if (!std::filesystem::exists(path)) return std::nullopt;
    auto value = tools::read_value(path, specs[i]);
    if (!value) return std::nullopt;
    OracleInput input{.tensors = std::move(value->tensors)};
    if (value->kind == tools::InputValue::Kind::sequence) input.kind = BoundedValue::Kind::sequence;
    if (value->kind == tools::InputValue::Kind::none) input.kind = BoundedValue::Kind::none;
    out.push_back(std::move(input));
  }
  return out;
}

void judge_cases(std::string_view device) {
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no ONNX cases in " << folder;
  const auto cases = tools::find_cases({folder});
  ASSERT_TRUE(cases);
  tools::Share share;
  std::size_t judged_cases = 0;
  for (const tools::Case& c : *cases) {
    auto model = load_onnx(c.folder + "/model.onnx");
    if (!model || c.sets.empty()) continue;
    const auto inputs = inputs_of(c, *model);
    if (!inputs) continue;
    const Judged judged = judge(model->graph(), *inputs, device);
    for (const std::string& failure : judged.failures) ADD_FAILURE() << c.name << " " << failure;
    if (!judged.refusal.empty()) std::cout << c.name << " is refused: " << judged.refusal << "\n";
    if (judged.share.undetermined > 0)
      std::cout << c.name << ": " << judged.share.undetermined << " of " << judged.share.elements
                << " elements are not judged\n";
    if (judged.share.elements > 0) ++judged_cases;
    share += judged.share;
  }
  std::cout << judged_cases << " cases, " << share.elements << " elements, judged "
            << 100 * share.judged() << " %\n";
  EXPECT_GT(judged_cases, 500U);
  EXPECT_GT(share.judged(), 0.95);
}

TEST(OracleOnOnnxCases, HoldsTheReferences) {
  judge_cases("reference");
}

TEST(OracleOnOnnxCases, HoldsTheCpu) {
  judge_cases("cpu");
}

// Expected outputs that are not those of the graph, for reasons of their own.
bool is_known(std::string_view name) {
  constexpr std::string_view reasons[] = {
      "bernoulli",         "training_dropout",          // drawn by another generator
      "blackman",          "hamming",          "hann",  // made with a pi of five digits
      "roialign_aligned",                               // written down with four digits
      "FLOAT_to_BFLOAT16",                              // cut off instead of rounded
  };
  return std::ranges::any_of(reasons,
                             [&](std::string_view r) { return name.find(r) != name.npos; });
}

// Cases of the installed release that are listed with the reason why nobody should pass them.
std::set<std::string> listed_gaps() {
  const bool is_newer = std::filesystem::exists(std::string(folder) + "/test_string_concat");
  std::ifstream file(std::string(QUERN_SOURCE_DIR "/tests/conformance/gaps-") +
                     (is_newer ? "1.17" : "1.12") + ".txt");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("node/")) names.insert(line.substr(5, line.find('\t') - 5));
  return names;
}

// The expected outputs are somebody else's: they hold the oracle itself. Gives their number.
std::size_t expect_what_is_expected(const tools::Case& c) {
  auto model = load_onnx(c.folder + "/model.onnx");
  const auto inputs = model && !c.sets.empty() ? inputs_of(c, *model) : std::nullopt;
  if (!inputs) return 0;
  const auto wanted = tools::evaluate_with_bounds(model->graph(), *inputs);
  EXPECT_TRUE(wanted) << c.name << ": " << (wanted ? "" : wanted.error().message());
  if (!wanted) return 0;
  std::size_t outputs = 0;
  const auto specs = model->outputs();
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    const BoundedValue& bounded = (*wanted)[i];
    auto value = tools::read_value(c.sets[0] + "/output_" + std::to_string(i) + ".pb", specs[i]);
    if (!value || bounded.kind == BoundedValue::Kind::undetermined) continue;
    EXPECT_EQ(bounded.tensors.size(), value->tensors.size()) << c.name;
    if (bounded.tensors.size() != value->tensors.size()) continue;
    for (std::size_t k = 0; k < bounded.tensors.size(); ++k, ++outputs)
      if (auto d = tools::compare(bounded.tensors[k], value->tensors[k].view()))
        ADD_FAILURE() << c.name << ": " << d->text;
  }
  return outputs;
}

TEST(OracleOnOnnxCases, HoldsWhatOnnxExpects) {
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no ONNX cases in " << folder;
  const auto cases = tools::find_cases({folder});
  ASSERT_TRUE(cases);
  const auto gaps = listed_gaps();
  std::size_t outputs = 0;
  for (const tools::Case& c : *cases) {
    const std::string name = std::filesystem::path(c.folder).filename().string();
    if (!is_known(name) && !gaps.contains(name)) outputs += expect_what_is_expected(c);
  }
  EXPECT_GT(outputs, 500U);
}

// Graphs of many nodes, where somebody has them: QUERN_CASES, or shared/cases beside the checkout.
TEST(OracleOnOnnxCases, HoldsWhatOthersComputed) {
  const char* given = std::getenv("QUERN_CASES");
  const std::string where = given ? given : QUERN_SOURCE_DIR "/../shared/cases";
  if (!std::filesystem::exists(where)) GTEST_SKIP() << "no cases in " << where;
  const auto cases = tools::find_cases({where});
  ASSERT_TRUE(cases);
  for (const tools::Case& c : *cases) expect_what_is_expected(c);
}

TEST(OracleOnOnnxCases, HoldsVulkan) {
  if (!open_device("vulkan")) GTEST_SKIP() << "no Vulkan here";
  judge_cases("vulkan");
}

}  // namespace
}  // namespace quern::testing
