// SPDX-License-Identifier: Apache-2.0
// Chains of nodes in stripes of rows that stay in a cache: which are chosen, and that plans of them
// give the same results in no larger arena.
#include <ctime>
#include <string>
#include <vector>

#include <quern/artefact.h>
#include <quern/model.h>

#include "engine/vocabulary/platform/process.h"
#include "graph/graph.h"
#include "graph/stripes/cached.h"
#include "tests/engine/engine_models.h"

namespace quern::testing {
namespace {

using stripes::CacheModel;
using stripes::NodeWork;
using ::testing::FloatNear;
using ::testing::Pointwise;

constexpr std::uint64_t kib = 1024;

Operand one_by_one(GraphBuilder& g, Operand x, std::int64_t from, std::int64_t to) {
  return g.relu(g.conv(x, weights(g, {to, from, 1, 1}, 1), weights(g, {to}, 2)));
}
Operand depthwise(GraphBuilder& g, Operand x, std::int64_t channels, std::int64_t stride) {
  return g.relu(g.conv(x, weights(g, {channels, 1, 3, 3}, 3), weights(g, {channels}, 4),
                       {.strides = {stride, stride}, .pads = {1, 1, 1, 1}, .group = channels}));
}

// x [1, 8, height, width] -> y: wide maps between narrow ones, twice, then a product of all rows.
// As nodes: widen, filter, narrow, widen, filter, narrow, mean, product.
Model mobile(std::int64_t height, std::int64_t width) {
  GraphBuilder g("mobile");
  Operand y = g.input("x", DType::f32, {1, 8, height, width});
  for (int block = 0; block < 2; ++block) {
    y = depthwise(g, one_by_one(g, y, 8, 64), 64, 2);
    y = one_by_one(g, y, 64, 8);
  }
  g.output("y", g.matmul(g.flatten(g.global_average_pool(y)), weights(g, {8, 10}, 5)));
  return must(g.build());
}
Model mobile(std::int64_t side) {
  return mobile(side, side);
}

// The chains of a graph whose nodes are all alike.
std::vector<stripes::Chain> chains_of(const Model& model, const CacheModel& cache,
                                      NodeWork work = {}) {
  const stripes::RowGraph rows(model.graph());
  return stripes::chains_for_cache(rows, std::vector(rows.size(), work), cache);
}

// Bytes of a chain's own results that are live at one time.
std::uint64_t live_bytes(const Model& model, const stripes::Chain& chain) {
  const stripes::RowGraph rows(model.graph());
  return stripes::ChainModel::make(rows, chain.first, chain.last)->cost(chain.steps).peak;
}

TEST(CachedStripes, AreWhereMapsLeaveTheCache) {
  const Model model = mobile(128);  // maps of 4 MiB, then 1; between them 128 and 32 KiB
  const auto chains = chains_of(model, {.bytes = 1024 * kib});
  ASSERT_GE(chains.size(), 1U);
  EXPECT_EQ(chains[0].first, 0U);
  for (const stripes::Chain& c : chains) {
    EXPECT_GE(c.steps, 2);
    EXPECT_GE(c.last - c.first, 2U);
    EXPECT_LE(live_bytes(model, c), 1024 * kib);
  }
}

TEST(CachedStripes, AreNotWhereMapsStayInTheCache) {
  EXPECT_THAT(chains_of(mobile(128), {.bytes = 64 * 1024 * kib}), ::testing::IsEmpty());
}

TEST(CachedStripes, AreFewerInALargerCache) {
  const Model model = mobile(256);
  const auto small = chains_of(model, {.bytes = 2048 * kib});
  const auto large = chains_of(model, {.bytes = 8192 * kib});
  ASSERT_FALSE(small.empty());
  ASSERT_FALSE(large.empty());
  EXPECT_GT(small[0].steps, large[0].steps);
}

// A cache so small that the stripes would have fewer rows than are worth a call.
TEST(CachedStripes, HaveSeveralRows) {
  const Model model = mobile(64);
  CacheModel cache{.bytes = 512 * kib, .least_rows = 1, .least_ratio = 0, .least_gain = 0};
  const auto chains = chains_of(model, cache);
  ASSERT_FALSE(chains.empty());
  EXPECT_GT(chains[0].steps, 2);
  cache.least_rows = 16;
  EXPECT_THAT(chains_of(model, cache), ::testing::IsEmpty());
}

TEST(CachedStripes, AreNotOfKernelsThatComputeTheWhole) {
  const CacheModel cache{.bytes = 1024 * kib};
  EXPECT_THAT(chains_of(mobile(128), cache, {.is_for_whole = true}), ::testing::IsEmpty());
}

// Kernels that wait for no memory gain nothing, and a gain must be a share of the run.
TEST(CachedStripes, AreNotWhereTheyGainLittle) {
  const CacheModel cache{.bytes = 1024 * kib};
  EXPECT_THAT(chains_of(mobile(128), cache, {.flops = 1e9, .bytes = 1e6}), ::testing::IsEmpty());
  EXPECT_THAT(chains_of(mobile(128), cache, {.flops = 1e6, .bytes = 1e9}), ::testing::IsEmpty());
}

TEST(CachedStripes, AreChosenInTimeForAHundredThousandNodes) {
  GraphBuilder g("long");
  Operand y = g.input("x", DType::f32, {1, 8, 64, 64});
  const Operand w = weights(g, {8, 8, 1, 1}, 1);
  for (int i = 0; i < 2500; ++i) {
    y = g.conv(y, w);
    for (int k = 1; k < 40; ++k) y = g.relu(y);
  }
  g.output("y", y);
  const Model model = must(g.build());
  const stripes::RowGraph rows(model.graph());
  ASSERT_EQ(rows.size(), 100'000U);
  const std::vector<NodeWork> works(rows.size());
  const std::clock_t begin = std::clock();
  const auto chains = stripes::chains_for_cache(rows, works, {.bytes = 64 * kib});
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 5.0);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    EXPECT_LE(chains[i].last - chains[i].first, 64U);
    EXPECT_GE(chains[i].first, i > 0 ? chains[i - 1].last : 0U);
  }
}

// ---- plans

// Maps of 12.8 MB and 3.2, which the caches of most cores do not hold; they do hold a few dozen of
// the short rows.
constexpr std::int64_t height = 896, width = 56;

class CachedPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    constexpr std::size_t least = std::size_t{1} << 20;
    constexpr std::size_t most = std::size_t{4} << 20;
    const std::size_t here = platform::second_level_cache();
    if (here != 0 && (here < least || here > most)) GTEST_SKIP() << "a cache of " << here;
  }
};

struct CachedRun {
  PlanInfo plan;
  std::vector<float> result;
};

CachedRun run_of(const std::shared_ptr<const Executable>& executable) {
  const auto session = session_of(executable);
  const Tensor x = pattern({1, 8, height, width});
  must(session->set_input(0, x.view()));
  must(session->run());
  return {session->plan_info(), values(must(session->output(0)))};
}
std::shared_ptr<const Executable> executable_of(const CompileOptions& options) {
  return must(Executable::compile(mobile(height, width), nullptr, options));
}

TEST_F(CachedPlans, GiveTheSameInNoLargerArena) {
  const CachedRun whole = run_of(executable_of({.threads = 1, .stripes = false}));
  const CachedRun striped = run_of(executable_of({.threads = 1}));
  EXPECT_EQ(whole.plan.stripes, Stripes::none);
  EXPECT_EQ(striped.plan.stripes, Stripes::cache);
  EXPECT_LT(striped.plan.arena_bytes, whole.plan.arena_bytes);
  EXPECT_GT(striped.plan.steps.size(), whole.plan.steps.size());
  EXPECT_THAT(striped.result, Pointwise(FloatNear(1e-5F), whole.result));
}

TEST_F(CachedPlans, AreThoseOfOneThread) {
  const auto executable = executable_of({.threads = 2});
  if (session_of(executable)->threads() < 2) GTEST_SKIP() << "one CPU";
  EXPECT_EQ(run_of(executable).plan.stripes, Stripes::none);
}

TEST_F(CachedPlans, KeepLimits) {
  const std::size_t limit = run_of(executable_of({.threads = 1})).plan.arena_bytes / 2;
  const CachedRun within = run_of(executable_of({.threads = 1, .arena_limit = limit}));
  EXPECT_EQ(within.plan.stripes, Stripes::limit);
  EXPECT_LE(within.plan.arena_bytes, limit);
}

TEST_F(CachedPlans, AreKeptByArtefacts) {
  const auto made = executable_of({.threads = 1});
  const CachedRun wanted = run_of(made);
  const auto artefact = must(Artefact::make(made));
  const std::shared_ptr<std::byte> bytes = must(artefact.in_memory());
  const auto loaded =
      must(parse_artefact({bytes.get(), artefact.contents().bytes}, bytes, nullptr, {}));
  const CachedRun found = run_of(loaded);
  EXPECT_EQ(found.plan.stripes, Stripes::cache);
  EXPECT_EQ(found.plan.arena_bytes, wanted.plan.arena_bytes);
  EXPECT_EQ(found.result, wanted.result);
}

}  // namespace
}  // namespace quern::testing
