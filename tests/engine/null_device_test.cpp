// SPDX-License-Identifier: Apache-2.0
// Every family of GPU kernels on the device that computes nothing: its programs pass the check of
// dispatches, the shapes are those of the CPU, and what the device answers is zero.
#include <algorithm>

#include "tests/engine/all_families.h"
#include "tests/engine/engine_test.h"

namespace quern::testing {
namespace {

bool is_zero(const std::vector<std::byte>& bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{}; });
}

class NullDeviceInEachWay : public ::testing::TestWithParam<const char*> {};

TEST_P(NullDeviceInEachWay, TakesEveryFamilyAndAnswersZeros) {
  const auto device = must(open_device(GetParam()));
  for (const Family& f : all_families()) {
    SCOPED_TRACE(f.name);
    // With aliases, an input that is a part of an output would be uploaded to its place in there.
    const auto on_null = must(Executable::compile(f.make(), device, {.alias = false}));
    const auto on_cpu = compile(f.make());
    const auto inputs = inputs_of(*on_cpu);
    const DeviceCounters before = device->counters();
    const auto session = session_of(on_null);
    const auto found = run(*session, inputs);
    const auto wanted = run(*session_of(on_cpu), inputs);
    const DeviceCounters after = device->counters();
    EXPECT_GT(after.dispatches, before.dispatches);
    EXPECT_GT(after.bytes_down, before.bytes_down);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].size(), wanted[i].size()) << on_cpu->outputs()[i].name;
      EXPECT_TRUE(is_zero(found[i])) << on_cpu->outputs()[i].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NullDeviceInEachWay, ::testing::Values("null", "null,regions"));

TEST(NullDevice, NamesTheWaysThatItHas) {
  const auto device = open_device("null,nodes");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message(), "no device 'null,nodes'; there is: null, null,regions");
}

// The host computes what no GPU does, and what follows from it on the device is zero again.
TEST(NullDevice, LeavesToTheHostWhatItHasNoKernelFor) {
  GraphBuilder g("mixed");
  const Operand x = g.input("x", DType::f32, {2, 6});
  const std::array<Operand, 4> found = g.unique(x);
  g.output("values", found[0]);
  g.output("device", g.relu(x));
  const auto session = session_of(compile(must(g.build()), "null"));
  const auto outputs = run(*session, {tensor<float>({2, 6}, {1, 2, 3, 1, 2, 3, 4, 4, 4, 1, 2, 3})});
  EXPECT_FALSE(is_zero(outputs[0]));
  EXPECT_EQ(outputs[0].size(), 4 * sizeof(float)) << "1, 2, 3 and 4";
  EXPECT_TRUE(is_zero(outputs[1]));
}

TEST(NullDevice, CountsEachRunOnce) {
  GraphBuilder g("sum");
  const Operand x = g.input("x", DType::f32, {4, 4});
  g.output("y", g.relu(g.add(x, g.constant(pattern({4, 4})))));
  const auto device = must(open_device("null"));
  const auto session = session_of(must(Executable::compile(must(g.build()), device)));
  const std::vector<Tensor> inputs = {pattern({4, 4}, 2)};
  run(*session, inputs);
  const DeviceCounters first = device->counters();
  run(*session, inputs);
  const DeviceCounters second = device->counters();
  EXPECT_EQ(second.submissions, first.submissions + 1);
  EXPECT_EQ(second.dispatches, first.dispatches + 1) << "the sum and its relu are one";
  EXPECT_EQ(second.bytes_up, first.bytes_up + 64);
  EXPECT_EQ(second.bytes_down, first.bytes_down + 64);
  EXPECT_EQ(second.allocations, first.allocations) << "a run on a planned shape makes nothing";
}

// A limit counts the arenas of both memories.
TEST(NullDevice, IsHeldToALimitOfMemory) {
  constexpr std::int64_t count = 1 << 18;  // 1 MiB
  const auto session_within = [](std::size_t limit) -> Result<std::unique_ptr<Session>> {
    GraphBuilder g("chain");
    const Operand x = g.input("x", DType::f32, {count});
    g.output("y", g.softmax(g.relu(g.softmax(x))));
    CompileOptions options;
    options.memory_limit = limit;
    QUERN_ASSIGN(auto executable,
                 Executable::compile(must(g.build()), must(open_device("null")), options));
    QUERN_ASSIGN(auto session, Session::create(std::move(executable)));
    QUERN_TRY(session->set_input(0, pattern({count}).view()));
    QUERN_TRY(session->prepare());
    return session;
  };
  const auto free = must(session_within(0));
  const std::size_t arena = free->plan_info().memory.total();
  ASSERT_GT(arena, std::size_t{1} << 20);
  EXPECT_TRUE(session_within(4 * arena));
  const auto refused = session_within(arena / 8);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::out_of_memory);
}

}  // namespace
}  // namespace quern::testing
