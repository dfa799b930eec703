// SPDX-License-Identifier: Apache-2.0
// The cache of plans forgets what was used longest ago, and never the one that was just made.
#include <memory>

#include <gtest/gtest.h>

#include "engine/compile/plan.h"

namespace quern {
namespace {

std::shared_ptr<const PlanNode> plan() {
  return std::make_shared<PlanNode>(Segment(builtin_ops()), 1);
}

TEST(PlanCache, ForgetsWhatWasUsedLongestAgo) {
  PlanCache cache(2);
  const auto a = plan();
  const auto b = plan();
  const auto c = plan();
  cache.insert({1}, a);
  cache.insert({2}, b);
  EXPECT_EQ(cache.find({1}), a);
  cache.insert({3}, c);
  EXPECT_EQ(cache.find({2}), nullptr);
  EXPECT_EQ(cache.find({1}), a);
  EXPECT_EQ(cache.find({3}), c);
  EXPECT_EQ(b.use_count(), 1);
}

TEST(PlanCache, HoldsOneAtLeast) {
  PlanCache cache(0);
  const auto a = plan();
  const auto b = plan();
  cache.insert({1}, a);
  EXPECT_EQ(cache.find({1}), a);
  cache.insert({2}, b);
  EXPECT_EQ(cache.find({1}), nullptr);
  EXPECT_EQ(cache.find({2}), b);
}

}  // namespace
}  // namespace quern
