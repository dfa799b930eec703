// SPDX-License-Identifier: Apache-2.0
// Random models as runs in flight: the bits of a session alone, from threads at one time.
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <quern/run_group.h>

#include "tools/random/judge.h"

namespace quern::tools {
namespace {

bool same_bits(const RunOutputs& a, const RunOutputs& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t o = 0; o < a.size(); ++o) {
    if (a[o].size() != b[o].size()) return false;
    for (std::size_t i = 0; i < a[o].size(); ++i) {
      const Tensor& x = a[o][i];
      const Tensor& y = b[o][i];
      if (x.valid() != y.valid()) return false;
      if (!x.valid()) continue;
      if (x.type() != y.type()) return false;
      if (x.type().dtype == DType::string) continue;
      if (x.type().bytes() && std::memcmp(x.data(), y.data(), x.type().bytes()) != 0) return false;
    }
  }
  return true;
}

// Returns the number of groups that were made for the model: 0 where it has none.
std::size_t try_groups(const RandomModel& model, std::uint64_t seed) {
  const auto executable = compile_random(model, *open_device("cpu"), {.threads = 1});
  if (!executable) return 0;
  const auto session = Session::create(*executable);
  const auto wanted = run_once(**session, model.runs[0]);
  if (!wanted) return 0;
  RunGroupOptions options{.threads = 1};
  for (const RandomInput& i : model.runs[0]) {
    if (!i.tensor.valid()) return 0;
    options.inputs.push_back(i.tensor.type());
  }
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::size_t made = 0;
  for (std::size_t runs = 2; runs <= 3; ++runs) {
    const auto group = RunGroup::create(*executable, runs, options);
    if (!group) {
      EXPECT_EQ(group.error().code(), Code::unsupported)
          << "seed " << seed << ": " << group.error().message();
      continue;
    }
    ++made;
    std::vector<std::thread> threads;
    std::vector<int> wrong(runs);
    for (std::size_t r = 0; r < runs; ++r)
      threads.emplace_back([&, r] {
        for (int i = 0; i < 4; ++i) {
          const auto got = run_once((*group)->session(r), model.runs[0]);
          if (!got) ADD_FAILURE() << got.error().message();
          wrong[r] += !got || !same_bits(*got, *wanted);
        }
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, std::vector<int>(runs)) << "seed " << seed;
  }
  return made;
}

TEST(RandomRunGroup, ResultsHaveTheBitsOfOneSession) {
  std::size_t made = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed)
    made += try_groups(make_random_model({.seed = seed, .min_nodes = 5, .max_nodes = 40}), seed);
  EXPECT_GT(made, 20U);
}

}  // namespace
}  // namespace quern::tools
