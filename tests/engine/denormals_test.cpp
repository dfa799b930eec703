// SPDX-License-Identifier: Apache-2.0
// CompileOptions::denormals: what multiplies and adds takes denormal numbers for 0, nothing else
// does, and a host's threads are as they were.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <limits>
#include <vector>

#include "kernels/contract/float_state.h"
#include "kernels/contract/openmp.h"
#include "tests/engine/engine_test.h"

namespace quern::testing {
namespace {

constexpr float denormal = 1e-39F;

Tensor filled(const Shape& shape, float value) {
  Tensor t = must(Tensor::zeros({DType::f32, shape}));
  std::fill_n(reinterpret_cast<float*>(t.mutable_data()), shape.elements(), value);
  return t;
}

// Ones, by weights that are denormal: long enough for a team of threads.
Model products() {
  GraphBuilder g("products");
  const Operand x = g.input("x", DType::f32, {1, 32, 48, 48});
  g.output("conv", g.conv(x, g.constant(filled({32, 32, 3, 3}, denormal))));
  const Operand rows = g.reshape(x, {768, 96});
  g.output("matmul", g.matmul(rows, g.constant(filled({96, 64}, denormal))));
  g.output("sum", g.add(rows, rows));
  g.output("largest", g.max_pool(g.mul(x, g.constant(filled({1}, -1))), {2, 2}));
  return must(g.build());
}

struct Answers {
  std::vector<float> conv, matmul, sum, largest;
};

Answers answers(const char* device, Denormals denormals, int threads, float x) {
  const auto executable = must(Executable::compile(products(), must(open_device(device)),
                                                   {.threads = threads, .denormals = denormals}));
  const auto session = session_of(executable);
  const auto all = run(*session, {filled({1, 32, 48, 48}, x)});
  const auto floats_of = [](const std::vector<std::byte>& bytes) {
    std::vector<float> v(bytes.size() / sizeof(float));
    std::memcpy(v.data(), bytes.data(), bytes.size());
    return v;
  };
  return {floats_of(all[0]), floats_of(all[1]), floats_of(all[2]), floats_of(all[3])};
}

bool all_zero(const std::vector<float>& v) {
  return std::ranges::all_of(v, [](float f) { return f == 0; });
}
bool all_denormal(const std::vector<float>& v) {
  return std::ranges::all_of(
      v, [](float f) { return f != 0 && std::fabs(f) < std::numeric_limits<float>::min(); });
}

class DenormalNumbers : public ::testing::TestWithParam<int> {};

TEST_P(DenormalNumbers, CountAsZeroInProducts) {
  if (flushing == 0) GTEST_SKIP() << "nobody knows how on this CPU";
  const Answers flushed = answers("cpu", Denormals::flush, GetParam(), 1);
  EXPECT_TRUE(all_zero(flushed.conv));
  EXPECT_TRUE(all_zero(flushed.matmul));
  const Answers kept = answers("cpu", Denormals::keep, GetParam(), 1);
  EXPECT_FALSE(all_zero(kept.conv));
  EXPECT_FALSE(all_zero(kept.matmul));
}

TEST_P(DenormalNumbers, StayInEverythingElse) {
  const Answers a = answers("cpu", Denormals::flush, GetParam(), denormal);
  EXPECT_TRUE(all_denormal(a.sum));
  EXPECT_TRUE(all_denormal(a.largest));
}

INSTANTIATE_TEST_SUITE_P(Threads, DenormalNumbers, ::testing::Values(1, 2));

TEST(DenormalsOfTheReference, AreKept) {
  EXPECT_FALSE(all_zero(answers("reference", Denormals::flush, 1, 1).conv));
}

// Threads of the caller's team that are in another state than `state`.
int others_than(FloatState state) {
  using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
  const auto parallel = reinterpret_cast<Parallel>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
  if (!parallel) return 0;
  struct Shared {
    FloatState state;
    std::atomic<int> others{0};
  } shared{state};
  parallel(
      [](void* data) {
        auto& s = *static_cast<Shared*>(data);
        s.others += float_state() != s.state;
      },
      &shared, static_cast<unsigned>(default_threads()), 0);
  return shared.others;
}

TEST(DenormalsOfTheHost, AreAsBefore) {
  for (const FloatState state : {FloatState{0}, flushing}) {
    const FloatStateScope host(state);
    (void)answers("cpu", Denormals::flush, 1, 1);
    EXPECT_EQ(float_state(), state);
  }
  EXPECT_EQ(others_than(0), 0) << "before a run";
  (void)answers("cpu", Denormals::flush, 2, 1);
  EXPECT_EQ(float_state(), FloatState{0});
  EXPECT_EQ(others_than(0), 0) << "after a run";
}

TEST(DenormalsOfTheHost, AreAsBeforeInAPool) {
  const auto pool = must(make_thread_pool(2));
  const auto executable = must(Executable::compile(products(), nullptr, {.thread_pool = pool}));
  (void)run(*session_of(executable), {filled({1, 32, 48, 48}, 1)});
  std::atomic<int> others = 0;
  pool->run(
      8, [](void* data, int) { *static_cast<std::atomic<int>*>(data) += float_state() != 0; },
      &others);
  EXPECT_EQ(others, 0);
}

TEST(DenormalsByName, AreTwo) {
  EXPECT_EQ(must(denormals_named("flush")), Denormals::flush);
  EXPECT_EQ(must(denormals_named("keep")), Denormals::keep);
  EXPECT_EQ(denormals_named("zero").error().message(),
            "no way to treat denormals is called 'zero', there is flush and keep");
}

}  // namespace
}  // namespace quern::testing
