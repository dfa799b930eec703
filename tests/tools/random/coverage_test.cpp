// SPDX-License-Identifier: Apache-2.0
// The generator of random models against the operators that the parser accepts.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/op_table.h"
#include "tools/random/random_model.h"

namespace quern::tools {
namespace {

// Operators that no random model has, and why.
const std::map<std::string, std::string>& left_out() {
  const std::string generates = "its bodies are decoders: tests/engine/generation draws them";
  static const std::map<std::string, std::string> all = {
      {"ai.onnx.ml.CastMap", "takes a map, which no other operator makes"},
      {"ai.onnx.ml.DictVectorizer", "takes a map, which no other operator makes"},
      {"com.microsoft.BeamSearch", generates},
      {"com.microsoft.WhisperBeamSearch", generates},
      {"com.microsoft.GreedySearch", generates},
      {"com.microsoft.Sampling", generates},
      {"ai.onnx.preview.FlexAttention",
       "a preview, made of Attention's parts: the parser's tests and ONNX's own cases have it"},
      {"ai.onnx.preview.training.Gradient", "always refused: it needs automatic differentiation"},
      {"Scatter", "deprecated since opset 11: another name for ScatterElements"},
      {"Upsample", "deprecated since opset 10: another name for Resize"},
  };
  return all;
}

std::string name_of(std::string_view domain, std::string_view name) {
  return domain.empty() ? std::string(name) : cat(domain, ".", name);
}

void add_operators(const onnx::GraphProto& graph, std::set<std::string>& found) {
  for (const onnx::NodeProto& node : graph.nodes) {
    found.insert(name_of(node.domain, node.op_type));
    for (const onnx::AttributeProto& a : node.attributes)
      for (const onnx::GraphProto& body : a.g) add_operators(body, found);
  }
}

std::set<std::string> accepted_operators() {
  std::set<std::string> all;
  for (const onnx::OpEntry& e : onnx::all_ops()) all.insert(name_of(e.domain, e.row->name));
  return all;
}

// An operator that the parser learns gets a family (tools/random/families.h), or a reason here.
TEST(RandomModel, EveryOperatorOfTheParserOccursOrIsLeftOutForAReason) {
  std::set<std::string> missing = accepted_operators();
  for (const auto& [name, reason] : left_out()) EXPECT_EQ(missing.erase(name), 1u) << name;
  for (std::uint64_t seed = 0; seed < 8000 && !missing.empty(); ++seed) {
    std::set<std::string> found;
    add_operators(make_random_model({.seed = seed}).graph(), found);
    for (const std::string& name : found) {
      missing.erase(name);
      EXPECT_FALSE(left_out().contains(name)) << name;
    }
  }
  EXPECT_THAT(missing, ::testing::IsEmpty());
}

TEST(RandomModel, EveryOperatorThatOccursIsOneOfTheParser) {
  const std::set<std::string> accepted = accepted_operators();
  std::set<std::string> found;
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    add_operators(make_random_model({.seed = seed}).graph(), found);
  EXPECT_TRUE(std::ranges::includes(accepted, found));
}

// Claims about values that nodes make: none, and dimensions that are left open, named or wrong.
TEST(RandomModel, SomeModelsClaimMoreThanIsTrue) {
  std::size_t with_claims = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    with_claims += !make_random_model({.seed = seed}).graph().value_info.empty();
  EXPECT_GT(with_claims, 10u);
  EXPECT_LT(with_claims, 60u);
}

}  // namespace
}  // namespace quern::tools
