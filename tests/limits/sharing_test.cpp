// SPDX-License-Identifier: Apache-2.0
// Runs of many tenants at one time: they cost hardly more than if each had one thread, and a long
// one leaves the short ones of others their share.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/engine_test.h"
#include "tests/process_time.h"

namespace quern::testing {
namespace {

using Clock = std::chrono::steady_clock;

// Some milliseconds: convolutions of 32 channels over 56 x 56 places.
Model light_model() {
  GraphBuilder g("light");
  Operand x = g.input("x", DType::f32, {1, 32, 56, 56});
  for (int i = 0; i < 8; ++i) {
    const Operand w = g.constant(pattern({32, 32, 3, 3}));
    x = g.relu(g.conv(x, w, {}, {.pads = {1, 1, 1, 1}}));
  }
  g.output("y", x);
  return must(g.build(), "build");
}

Model heavy_model() {
  GraphBuilder g("heavy");
  const Operand a = g.input("a", DType::f32, {6000, 6000});
  g.output("y", g.matmul(a, g.input("b", DType::f32, {6000, 6000})));
  return must(g.build(), "build");
}

struct Tenant {
  std::unique_ptr<Session> session;
  std::vector<Tensor> inputs;

  Tenant(Model model, const SessionOptions& options)
      : session(must(Session::create(compile(std::move(model)), options))) {
    inputs = inputs_of(session->executable());
    for (std::size_t i = 0; i < inputs.size(); ++i) must(session->set_input(i, inputs[i].view()));
    must(session->prepare());
  }
};

double cost_ms(int tenants, const SessionOptions& options, int runs) {
  std::vector<Tenant> all;
  for (int i = 0; i < tenants; ++i) all.emplace_back(light_model(), options);
  const double before = process_ms();
  std::vector<std::thread> hosts;
  for (Tenant& t : all)
    hosts.emplace_back([&t, runs] {
      for (int i = 0; i < runs; ++i) must(t.session->run());
    });
  for (std::thread& t : hosts) t.join();
  return process_ms() - before;
}

double median_ms(Tenant& tenant, int runs) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const auto begin = Clock::now();
    must(tenant.session->run());
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  std::ranges::nth_element(times, times.begin() + runs / 2);
  return times[static_cast<std::size_t>(runs) / 2];
}

template <class F>
double least_ratio(double limit, const F& measure) {
  const double least = least_of(limit, measure);
  ::testing::Test::RecordProperty("ratio_percent", static_cast<int>(100 * least));
  return least;
}

// OpenMP's threads, a team a tenant, or a pool for all of them.
class Sharing : public ::testing::TestWithParam<bool> {
 protected:
  std::shared_ptr<ThreadPool> pool() const {
    return GetParam() ? must(make_thread_pool()) : nullptr;
  }
};

TEST_P(Sharing, EightTenantsThatWantManyThreadsCostWhatTheirWorkDoes) {
  const SessionOptions many{.threads = 64, .arena = nullptr, .thread_pool = pool()};
  EXPECT_LT(
      least_ratio(1.15, [&] { return cost_ms(8, many, 20) / cost_ms(8, {.threads = 1}, 20); }),
      1.15);
}

double slowdown_beside_a_long_run(const std::shared_ptr<ThreadPool>& pool) {
  Tenant light(light_model(), {.thread_pool = pool});
  const double alone = median_ms(light, 30);
  Tenant heavy(heavy_model(), {.threads = 4, .arena = nullptr, .thread_pool = pool});
  std::atomic<bool> is_over = false;
  std::thread host([&] {
    while (!is_over) (void)heavy.session->run();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const double beside = median_ms(light, 30);
  is_over = true;
  heavy.session->cancel();
  host.join();
  return beside / alone;
}

TEST_P(Sharing, AShortRunBesideALongOneHasItsShare) {
  const auto threads = pool();
  EXPECT_LT(least_ratio(2.5, [&] { return slowdown_beside_a_long_run(threads); }), 2.5);
}

INSTANTIATE_TEST_SUITE_P(Each, Sharing, ::testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "pool" : "openmp");
});

}  // namespace
}  // namespace quern::testing
