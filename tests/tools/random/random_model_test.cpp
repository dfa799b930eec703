// SPDX-License-Identifier: Apache-2.0
#include "tools/random/random_model.h"

#include <cmath>
#include <cstring>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/compare.h"
#include "tools/random/judge.h"

namespace quern::tools {
namespace {

RandomModel model_of(std::uint64_t seed) {
  return make_random_model({.seed = seed});
}

TEST(RandomModel, ASeedMakesTheSameModelAndInputs) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const RandomModel a = model_of(seed);
    const RandomModel b = model_of(seed);
    ASSERT_EQ(onnx::write_model(a.model), onnx::write_model(b.model)) << seed;
    ASSERT_EQ(a.runs.size(), b.runs.size());
    for (std::size_t k = 0; k < a.runs.size(); ++k) {
      ASSERT_EQ(a.runs[k].size(), b.runs[k].size());
      for (std::size_t i = 0; i < a.runs[k].size(); ++i) {
        const Tensor& x = a.runs[k][i].tensor;
        const Tensor& y = b.runs[k][i].tensor;
        ASSERT_EQ(x.valid(), y.valid()) << seed;
        if (!x.valid()) continue;
        ASSERT_TRUE(identical(x.view(), y.view())) << seed;
      }
    }
  }
  EXPECT_NE(onnx::write_model(model_of(0).model), onnx::write_model(model_of(1).model));
}

TEST(RandomModel, EveryFamilyOccurs) {
  std::set<std::string> missing;
  for (const std::string& name : random_families()) missing.insert(name);
  for (std::uint64_t seed = 0; seed < 300; ++seed)
    for (const std::string& name : model_of(seed).families) missing.erase(name);
  EXPECT_THAT(missing, ::testing::IsEmpty());
}

TEST(RandomModel, HasAsManyNodesAsAskedFor) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const RandomModel m = make_random_model({.seed = seed, .min_nodes = 5, .max_nodes = 9});
    // A family adds some nodes at once, and constants are nodes now and then.
    EXPECT_GE(count_nodes(m.graph()), 3u) << seed;
    EXPECT_LE(count_nodes(m.graph()), 60u) << seed;
    EXPECT_FALSE(m.graph().outputs.empty()) << seed;
  }
}

TEST(RandomModel, TheReferenceAcceptsEveryOne) {
  std::size_t several = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const RandomModel m = model_of(seed);
    const auto outputs = reference_outputs(m);
    ASSERT_TRUE(outputs) << seed << ": " << outputs.error().message();
    several += m.runs.size() > 1;
  }
  EXPECT_GT(several, 25u);
}

TEST(Judge, TellsRightFromWrong) {
  std::size_t changed = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const RandomModel m = model_of(seed);
    const auto judge = Judge::make(m);
    ASSERT_TRUE(judge) << judge.error().message();
    for (std::size_t run = 0; run < m.runs.size(); ++run) {
      for (std::size_t i = 0; i < m.graph().outputs.size(); ++i) {
        std::vector<Tensor> got = judge->wanted()[run][i];
        ASSERT_EQ(judge->verdict(run, i, got), "") << seed;
        if (got.empty() || got[0].dtype() != DType::f32 || got[0].shape().elements() == 0) continue;
        Tensor t = Tensor::copy_of(got[0].type(), {got[0].data(), got[0].bytes()}).value();
        const float wrong = t.span<float>()[0] + 1000;
        if (!(std::abs(wrong) < 1e6F)) continue;  // also -inf, which stays what it is
        std::memcpy(t.mutable_data(), &wrong, sizeof wrong);
        got[0] = t;
        EXPECT_NE(judge->verdict(run, i, got), "") << seed;
        ++changed;
      }
    }
  }
  EXPECT_GT(changed, 20u);
}

}  // namespace
}  // namespace quern::tools
