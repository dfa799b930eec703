// SPDX-License-Identifier: Apache-2.0
// The budget of an arena is kept by the process, not only in the plan: pages that a session
// touches.
#include <cstdint>
#include <string>

#include "tests/limits/guests.h"

namespace quern::testing {
namespace {

constexpr std::int64_t side = 512;

// Maps of 8 and 4 MB: the arena of whole tensors has 16.
Model wide_maps() {
  GraphBuilder g("wide");
  Operand y = g.input("x", DType::f32, {1, 4, side, side});
  std::int64_t from = 4;
  for (const std::int64_t channels : {8, 8, 4, 8}) {
    const Tensor w = pattern({channels, from, 3, 3});
    y = g.relu(g.conv(y, g.constant(w), {}, {.pads = {1, 1, 1, 1}}));
    from = channels;
  }
  g.output("y", g.max_pool(y, {8, 8}, {.strides = {8, 8}}));
  return must(g.build());
}

// A session is measured whose executable has its code already: generated code is the library's.
TEST(Budgets, AreThoseOfTheProcess) {
  const Tensor x = pattern({1, 4, side, side});
  const auto run = [&](const std::shared_ptr<const Executable>& executable) {
    const auto session = session_of(executable, 1);
    must(session->set_input(0, x.view()));
    must(session->run());
    return session->plan_info().arena_bytes;
  };
  const auto plain = must(Executable::compile(wide_maps(), nullptr));
  const std::size_t whole = run(plain);
  EXPECT_GT(whole, 16 * mb);
  constexpr int steps = 20;
  constexpr std::size_t slack = mb;
  int met = 0;
  for (int i = steps; i > 0; --i) {
    const std::size_t limit = whole * static_cast<std::size_t>(i) / steps;
    const auto executable = Executable::compile(wide_maps(), nullptr, {.arena_limit = limit});
    if (!executable) break;  // no stripes are as low
    ++met;
    EXPECT_LE(run(*executable), limit);
    expect_at_most(peak_growth([&] { run(*executable); }), limit + slack);
  }
  RecordProperty("met", met);
  EXPECT_GE(met, steps - 1) << "budgets";
}

}  // namespace
}  // namespace quern::testing
