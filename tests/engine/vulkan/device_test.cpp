// SPDX-License-Identifier: Apache-2.0
// The Vulkan device against the CPU, under the validation layer where it is installed: the same
// numbers, one submission a run, nothing made by a run; with every feature forced off.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <malloc.h>
#include <optional>
#include <thread>
#include <tuple>

#include "tests/engine/all_families.h"
#include "tests/engine/fork.h"
#include "tests/engine/vulkan/vulkan_test.h"
#include "tests/expect.h"

namespace quern {
namespace {

using quern::testing::all_families;
using quern::testing::CacheFolder;
using quern::testing::compile;
using quern::testing::device_name;
using quern::testing::expect_close;
using quern::testing::Family;
using quern::testing::inputs_of;
using quern::testing::must;
using quern::testing::pattern;
using quern::testing::run;
using quern::testing::session_of;
using quern::testing::VulkanTest;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// Bytes that this process, driver included, has from its heap. (Pages in memory say less: one that
// the system makes huge is worth 512 of them.)
std::int64_t bytes_in_use() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

void expect_families_like_cpu(const std::shared_ptr<Device>& device,
                              const CompileOptions& options = {}) {
  for (const quern::testing::Family& f : testing::all_families())
    quern::testing::expect_like_cpu(f, device, options);
}

TEST_F(VulkanTest, EveryFamilyGivesTheNumbersOfTheCpu) {
  expect_families_like_cpu(must(open_device(device_name())));
}

// The cheapest strategies: what lives too short shows under any of them.
TEST_F(VulkanTest, EveryFamilyUnderOtherStrategies) {
  const auto device = must(open_device(device_name()));
  for (const char* strategy : {"none", "first-fit", "greedy-by-size"})
    expect_families_like_cpu(device, {.strategy = strategy});
}

TEST_F(VulkanTest, WithoutAnyOfItsFeatures) {
  for (const char* off : {"push-descriptors", "storage-8bit", "storage-16bit", "int64", "float64",
                          "integer-dot", "host-visible"})
    expect_families_like_cpu(must(open_device(device_name() + ",no-" + off)));
}

TEST_F(VulkanTest, WithTheKernelsOfHardware) {
  expect_families_like_cpu(must(open_device(device_name() + ",as-hardware")));
}

TEST_F(VulkanTest, EveryCandidateOfAProductGivesTheSameBytes) {
  for (const quern::testing::Family& f : testing::all_families()) {
    if (f.name.find("of many tiles") == f.name.npos) continue;
    const auto session = session_of(compile(f.make(), device_name() + ",as-hardware"));
    const auto inputs = inputs_of(session->executable());
    const auto wanted = run(*session, inputs);
    for (int candidate = 1; candidate <= 13; ++candidate) {
      SCOPED_TRACE(std::string(f.name) + ", candidate " + std::to_string(candidate));
      const std::string device =
          device_name() + ",as-hardware,candidate=" + std::to_string(candidate);
      EXPECT_EQ(run(*session_of(compile(f.make(), device)), inputs), wanted);
    }
  }
}

// Drivers on a CPU end loops after some 65,000 rounds, without a word. Sums of ones are exact.
TEST_F(VulkanTest, LongLoopsAreRightOrLeftToTheCpu) {
  using quern::testing::floats;
  const auto long_loops = [](GraphBuilder& g) {
    constexpr std::int64_t n = 140'000;
    const Operand x = floats(g, "x", {2, n});
    const Operand ones = g.cast(g.less(x, g.scalar(9)), DType::f32);
    g.output("sums", g.cumsum(ones, 1));
    g.output("mean", g.reduce("mean", ones, {1}));
    g.output("columns", g.reduce("max", g.transpose(x, {1, 0}), {0}));
    g.output("softmax", g.softmax(x));
    g.output("last", g.argmax(g.cumsum(ones, 1), 1));
    g.output("product", g.matmul(ones, g.transpose(ones, {1, 0})));
    const Operand image = g.reshape(ones, {1, n, 1, 2});
    g.output("conv", g.conv(image, g.reshape(ones, {2, n, 1, 1})));
    g.output("transposed", g.conv_transpose(image, g.reshape(ones, {n, 2, 1, 1})));
    const Operand places = g.cast(g.mul(ones, g.scalar(0)), DType::i64);
    g.output("counts",
             g.scatter_elements(g.cast(x, DType::i32), places, g.cast(ones, DType::i32), 1, "add"));
    const Operand rows = g.reshape(g.slice(places, {0}, {1}, {.axes = {0}}), {n, 1});
    const Operand counted = g.reshape(g.slice(ones, {0}, {1}, {.axes = {0}}), {n});
    g.output("rows", g.scatter_nd(g.cast(g.integers({5, 6}), DType::i32), rows,
                                  g.cast(counted, DType::i32), "add"));
    g.output("window", g.max_pool(g.reshape(x, {2, 1, 1, n}), {1, n}));
    g.output("norm", g.lp_norm(ones));
  };
  quern::testing::expect_like_cpu({"long loops", long_loops}, must(open_device(device_name())));
}

// Channels in fours and not, with indices and without: a NaN stays, be it the first under a window
// or the last, and -inf is a maximum of its own.
TEST_F(VulkanTest, AMaxPoolKeepsNanAndInfinities) {
  const auto make = [] {
    GraphBuilder g("specials");
    for (const std::int64_t channels : {8, 5}) {
      const std::string name = "x" + std::to_string(channels);
      const Operand x = g.input(name, DType::f32, {1, channels, 9, 10});
      g.output(name + " max", g.max_pool(x, {3, 3}, {.strides = {2, 1}, .pads = {1, 1, 1, 1}}));
      const Operands found = g.max_pool_indices(x, {2, 2}, {.strides = {2, 2}});
      g.output(name + " values", found[0]);
      g.output(name + " indices", found[1]);
      g.output(name + " all", g.global_max_pool(x));
    }
    return must(g.build());
  };
  std::vector<Tensor> inputs = {pattern({1, 8, 9, 10}), pattern({1, 5, 9, 10})};
  for (Tensor& t : inputs) {
    auto* x = reinterpret_cast<float*>(t.mutable_data());
    for (std::int64_t i = 0; i < t.shape().elements(); ++i) {
      if (i % 17 == 3) x[i] = i < 360 ? std::numeric_limits<float>::quiet_NaN() : x[i];
      if (i % 7 < 4) x[i] = -std::numeric_limits<float>::infinity();
    }
  }
  const auto wanted = run(*session_of(compile(make(), "reference")), inputs);
  for (const std::string& device : {std::string("cpu"), device_name()}) {
    const auto found = run(*session_of(compile(make(), device)), inputs);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      SCOPED_TRACE(device + ", output " + std::to_string(i));
      if (i % 4 == 2) {  // indices
        EXPECT_EQ(found[i], wanted[i]);
        continue;
      }
      for (std::size_t at = 0; at < wanted[i].size(); at += sizeof(float)) {
        float a = 0, b = 0;
        std::memcpy(&a, wanted[i].data() + at, sizeof(a));
        std::memcpy(&b, found[i].data() + at, sizeof(b));
        EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << a << " and " << b;
      }
    }
  }
}

TEST_F(VulkanTest, PaddingIsNothingBesideInfinity) {
  const auto make = [] {
    GraphBuilder g("corner");
    const Operand x = g.input("x", DType::f32, {1, 4, 5, 6});
    g.output("y", g.conv(x, g.fill({8, 4, 3, 3}, 1), {}, {.pads = {1, 1, 1, 1}}));
    g.output("odd", g.conv(g.input("z", DType::f32, {1, 3, 5, 6}), g.fill({8, 3, 3, 3}, 1), {},
                           {.pads = {1, 1, 1, 1}}));
    return must(g.build());
  };
  std::vector<Tensor> inputs = {pattern({1, 4, 5, 6}), pattern({1, 3, 5, 6})};
  const float infinity = std::numeric_limits<float>::infinity();
  for (Tensor& t : inputs) std::memcpy(t.mutable_data(), &infinity, sizeof(infinity));
  for (const char* options : {"", ",as-hardware"}) {
    const auto found = run(*session_of(compile(make(), device_name() + options)), inputs);
    for (const auto& bytes : found) {
      std::vector<float> y(bytes.size() / sizeof(float));
      std::memcpy(y.data(), bytes.data(), bytes.size());
      EXPECT_EQ(std::ranges::count_if(y, [](float v) { return std::isnan(v); }), 0);
      // In each of eight channels, four positions have the corner in their window.
      EXPECT_EQ(std::ranges::count(y, infinity), 8 * 4);
    }
  }
}

TEST_F(VulkanTest, OneSubmissionARunAndNothingMade) {
  for (const quern::testing::Family& f : testing::all_families()) {
    SCOPED_TRACE(f.name);
    const auto executable = compile(f.make(), device_name());
    const auto session = session_of(executable);
    const auto inputs = inputs_of(*executable);
    const auto first = run(*session, inputs);
    EXPECT_TRUE(session->plan_info().fallbacks.empty());
    const DeviceCounters before = executable->device().counters();
    const auto second = run(*session, inputs);
    const DeviceCounters after = executable->device().counters();
    EXPECT_EQ(after.submissions, before.submissions + 1);
    EXPECT_EQ(after.pipelines, before.pipelines);
    EXPECT_EQ(after.allocations, before.allocations);
    // One before each dispatch at most, and around what goes up and down.
    EXPECT_LE(after.barriers - before.barriers,
              after.dispatches - before.dispatches + inputs.size() + second.size() + 1);
    std::size_t up = 0, down = 0;
    for (const Tensor& t : inputs) up += t.bytes();
    for (const auto& o : second) down += o.size();
    EXPECT_EQ(after.bytes_up - before.bytes_up, up);
    EXPECT_EQ(after.bytes_down - before.bytes_down, down);
    EXPECT_EQ(first, second) << "the same device twice: the same bits";
  }
}

// A plan runs code that no plan before it had once, on zeros; the first run then pays for nothing.
TEST_F(VulkanTest, PlansWarmUpWhatIsNew) {
  GraphBuilder g("new");
  g.output("y", g.tanh(testing::floats(g, "x", {4, 4})));
  const auto executable = compile(must(g.build()), device_name() + ",split=977");  // a device anew
  const auto submissions = [&] { return executable->device().counters().submissions; };
  for (const std::uint64_t warm_ups : {1, 0}) {
    const std::uint64_t before = submissions();
    const auto session = session_of(executable);
    run(*session, inputs_of(*executable));
    EXPECT_EQ(submissions(), before + warm_ups + 1);
  }
}

TEST_F(VulkanTest, FallsBackToTheCpuBetweenSubmissions) {
  GraphBuilder g("fallback");
  const Operand x = testing::floats(g, "x", {9, 9});
  g.output("y", g.relu(g.add(g.det(g.tanh(x)), x)));
  Model model = must(g.build());
  const auto executable = compile(std::move(model), device_name());
  const auto session = session_of(executable);
  const auto inputs = inputs_of(*executable);
  const auto found = run(*session, inputs);
  EXPECT_THAT(session->plan_info().fallbacks, ::testing::ElementsAre(HasSubstr("Det")));
  const DeviceCounters before = executable->device().counters();
  run(*session, inputs);
  EXPECT_EQ(executable->device().counters().submissions, before.submissions + 2);

  GraphBuilder again("fallback");
  const Operand z = testing::floats(again, "x", {9, 9});
  again.output("y", again.relu(again.add(again.det(again.tanh(z)), z)));
  const auto refused = Executable::compile(must(again.build()), must(open_device("vulkan,strict")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_CONTAINS(std::string(refused.error().message()), "(Det)");
}

TEST_F(VulkanTest, LeavesFamiliesThatAreNamedToTheCpu) {
  GraphBuilder g("named families");
  const Operand x = testing::floats(g, "x", {4, 4});
  g.output("y", g.relu(g.softmax(g.matmul(x, x), 1)));
  const auto executable = compile(must(g.build()), device_name() + ",cpu=Softmax,cpu=MatMul");
  const auto session = session_of(executable);
  const auto inputs = inputs_of(*executable);
  run(*session, inputs);
  EXPECT_THAT(session->plan_info().fallbacks,
              ::testing::UnorderedElementsAre(HasSubstr("Softmax"), HasSubstr("MatMul")));
}

// The host's copy of one output does not wait for the download of another.
TEST_F(VulkanTest, OutputsThatAreNamedTwiceTakeOneSubmission) {
  GraphBuilder g("twice");
  const Operand x = testing::floats(g, "x", {4, 4});
  const Operand y = g.tanh(x);
  g.output("first", y);
  g.output("again", y);
  g.output("other", g.exp(y));
  const auto executable = compile(must(g.build()), device_name());
  const auto session = session_of(executable);
  const auto inputs = inputs_of(*executable);
  run(*session, inputs);
  const DeviceCounters before = executable->device().counters();
  run(*session, inputs);
  EXPECT_EQ(executable->device().counters().submissions, before.submissions + 1);
}

TEST_F(VulkanTest, InversesOfSmallMatricesAreTheDevices) {
  for (const std::int64_t n : {8, 9}) {
    GraphBuilder g("inverse");
    const Operand x = testing::floats(g, "x", {n, n});
    g.output("y", g.op("Inverse", {g.tanh(x)}));
    const auto executable = compile(must(g.build()), device_name());
    const auto session = session_of(executable);
    run(*session, inputs_of(*executable));
    EXPECT_EQ(session->plan_info().fallbacks.size(), n == 8 ? 0U : 1U);
  }
}

TEST_F(VulkanTest, AnInputHandedOutNeverGoesUp) {
  GraphBuilder g("through");
  const Operand x = testing::floats(g, "x", {4, 6});
  g.output("turned", g.transpose(x, {1, 0}));
  g.output("y", g.relu(x));
  const auto executable = compile(must(g.build()), device_name());
  const auto session = session_of(executable);
  const auto inputs = inputs_of(*executable);
  run(*session, inputs);
  const DeviceCounters before = executable->device().counters();
  const auto outputs = run(*session, inputs);
  const DeviceCounters after = executable->device().counters();
  EXPECT_EQ(after.submissions, before.submissions + 1);
  EXPECT_EQ(after.bytes_down - before.bytes_down, outputs[1].size());
}

TEST_F(VulkanTest, FreeDimensionsHaveAPlanEach) {
  const auto gpu = session_of(compile(testing::conv_model(), device_name()));
  const auto cpu = session_of(compile(testing::conv_model()));
  for (const std::int64_t n : {1, 3, 1, 2}) {
    const Tensor image = pattern({n, 3, 10, 12 + n});
    const auto found = run(*gpu, {image});
    const auto wanted = run(*cpu, {image});
    for (std::size_t i = 0; i < wanted.size(); ++i) expect_close(found[i], wanted[i], DType::f32);
  }
}

TEST_F(VulkanTest, ThreadsWithSessionsOfTheirOwn) {
  const auto executable = compile(testing::transformer_model(), device_name());
  const Tensor x = pattern({6, 32});
  const auto wanted = run(*session_of(executable), {x});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const auto session = session_of(executable);
      for (int i = 0; i < 20; ++i) wrong += run(*session, {x}) != wanted;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(VulkanTest, ManyRunsLeaveDeviceMemoryAsItWas) {
  const auto executable = compile(testing::conv_model(), device_name());
  const auto session = session_of(executable);
  const Tensor image = pattern({1, 3, 8, 8});
  run(*session, {image});
  const std::size_t resident = session->resident_bytes();
  const DeviceCounters before = executable->device().counters();
  for (int i = 0; i < 200; ++i) run(*session, {image});
  EXPECT_EQ(executable->device().counters().allocations, before.allocations);
  EXPECT_EQ(session->resident_bytes(), resident);
}

TEST_F(VulkanTest, TuningChangesNoBitAndIsKept) {
  const CacheFolder folder;
  const Tensor image = pattern({2, 3, 12, 16});
  std::uint64_t submissions = 0;
  const auto run_on = [&](const std::string& device) {
    const auto executable = compile(testing::conv_model(), device);
    const std::uint64_t before = executable->device().counters().submissions;
    const auto result = run(*session_of(executable), {image});
    submissions = executable->device().counters().submissions - before;
    return result;
  };
  // On a busy machine, too, all is measured.
  const std::string tuned = device_name() + ",tune=600000";
  const auto wanted = run_on(device_name());
  const std::uint64_t of_a_run = submissions;
  EXPECT_EQ(folder.files("tuning-"), "") << "nothing is measured without being asked for";
  EXPECT_EQ(run_on(tuned), wanted);
  EXPECT_GT(submissions, of_a_run);
  const std::string measured = folder.files("tuning-");
  EXPECT_GT(std::ranges::count(measured, '\n'), 2) << measured;
  EXPECT_EQ(run_on(device_name()), wanted) << "by what was kept";
  EXPECT_EQ(run_on(tuned), wanted);
  EXPECT_EQ(submissions, of_a_run) << "known dispatches are measured again";
  EXPECT_EQ(folder.files("tuning-"), measured);
}

TEST_F(VulkanTest, KeepsWhatTheDriverMadeOfItsShaders) {
  const CacheFolder folder;
  run(*session_of(compile(testing::conv_model(), device_name())), {pattern({1, 3, 8, 8})});
  EXPECT_NE(folder.files("pipelines-"), "");
}

TEST_F(VulkanTest, LongGraphsAreSplitWithoutWaiting) {
  const Tensor x = pattern({6, 32});
  const auto whole = compile(testing::transformer_model(), device_name());
  const auto wanted = run(*session_of(whole), {x});
  const std::uint64_t dispatches = whole->device().counters().dispatches;

  const auto split = compile(testing::transformer_model(), device_name() + ",split=3");
  const auto session = session_of(split);
  run(*session, {x});
  const DeviceCounters before = split->device().counters();
  EXPECT_EQ(run(*session, {x}), wanted);
  const DeviceCounters after = split->device().counters();
  EXPECT_EQ(after.submissions - before.submissions, (after.dispatches - before.dispatches + 2) / 3);
  EXPECT_GT(after.submissions - before.submissions, 1U);
  EXPECT_GE(dispatches, after.dispatches - before.dispatches);
}

// A driver's loss of the device, as far as it can be had: its own error code goes the same way.
TEST_F(VulkanTest, ALostDeviceTakesItsSessionsAndNothingElse) {
  const Tensor x = pattern({6, 32});
  const auto on_cpu = compile(testing::transformer_model());
  const auto survivor = session_of(compile(testing::transformer_model(), device_name()));
  const std::shared_ptr<Device> device = must(open_device(device_name() + ",lose-after=12"));
  const auto executable = must(Executable::compile(testing::transformer_model(), device));
  const auto first = session_of(executable);
  const auto second = session_of(executable);
  const auto tensor = must(DeviceTensor::create(device, {DType::f32, {6, 32}}));
  must(first->set_input(0, x.view()));
  must(second->set_input(0, x.view()));
  Status status;
  for (int i = 0; i < 20 && status.ok(); ++i) status = first->run();
  EXPECT_EQ(status.code(), Code::device_lost) << status.message();
  EXPECT_TRUE(device->is_lost());
  EXPECT_EQ(first->run().code(), Code::device_lost);
  EXPECT_EQ(second->run().code(), Code::device_lost);
  EXPECT_EQ(second->submit().code(), Code::device_lost);
  EXPECT_EQ(Executable::compile(testing::transformer_model(), device).error().code(),
            Code::device_lost);
  EXPECT_EQ(DeviceTensor::create(device, {DType::f32, {1}}).error().code(), Code::device_lost);

  const auto again = session_of(compile(testing::transformer_model(), device_name()));
  EXPECT_EQ(run(*again, {x}), run(*survivor, {x})) << "other devices go on";
  run(*session_of(on_cpu), {x});
}

// Constructed before any driver's library is loaded, destroyed after those have run their handlers.
struct HeldToTheEnd {
  std::shared_ptr<Session> session;
  std::optional<testing::CacheFolder> folder;
  ~HeldToTheEnd() {
    if (!session) return;
    const bool is_left_alone = session->run().code() == Code::device_lost;
    const bool is_kept = !folder->files("pipelines-").empty();  // what the driver has compiled
    session.reset();
    folder.reset();
    std::_Exit(is_left_alone && is_kept ? 0 : 1);
  }
} held_to_the_end;

TEST_F(VulkanTest, ADeviceThatIsOpenWhenTheProcessEndsIsLeftAlone) {
  // A new process: lavapipe's handlers of exit() hang in a child of fork().
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        held_to_the_end.folder.emplace();
        held_to_the_end.session = session_of(compile(testing::transformer_model(), "vulkan"));
        run(*held_to_the_end.session, {pattern({6, 32})});
        std::exit(2);
      },
      ::testing::ExitedWithCode(0), "");
}

// Without validation, whose layer is not made for children.
TEST_F(VulkanTest, AChildOfForkIsToldSoAndOpensTheDeviceAgain) {
  const Tensor x = pattern({6, 32});
  const auto executable = compile(testing::transformer_model(), "vulkan");
  auto session = session_of(executable);
  const auto expected = run(*session, {x});
  EXPECT_TRUE(testing::holds_in_child([&] {
    const Status status = session->run();
    return status.code() == Code::device_lost && executable->device().is_lost() &&
           status.message().find("before fork()") != std::string_view::npos;
  }));
  EXPECT_TRUE(testing::holds_in_child([&] {
    session.reset();
    return run(*session_of(compile(testing::transformer_model(), "vulkan")), {x}) == expected;
  }));
  EXPECT_TRUE(testing::holds_in_child([&] {
    const auto tensor = DeviceTensor::create(must(open_device("vulkan")), {DType::f32, {6}});
    return tensor && session->submit().code() == Code::device_lost;
  }));
  EXPECT_EQ(run(*session, {x}), expected) << "the parent's goes on";
}

TEST_F(VulkanTest, TenThousandRunsLeaveTheHostsMemoryAsItWas) {
  if (testing::sanitized) GTEST_SKIP() << "a sanitizer keeps what is freed";
  GraphBuilder g("small");
  const Operand x = g.input("x", DType::f32, {1, 8});
  g.output("y", g.softmax(g.matmul(x, testing::weights(g, {8, 8}, 1))));
  const auto session = session_of(compile(must(g.build()), "vulkan"));
  const Tensor input = pattern({1, 8});
  must(session->set_input(0, input.view()));
  for (int i = 0; i < 2500; ++i) must(session->run());  // the driver's threads fill their heaps
  const std::int64_t before = bytes_in_use();
  const DeviceCounters made = session->executable().device().counters();
  for (int i = 0; i < 10000; ++i) must(session->run());
  EXPECT_LE(bytes_in_use() - before, 64 << 10);
  EXPECT_EQ(session->executable().device().counters().allocations, made.allocations);
}

TEST_F(VulkanTest, ProfileTimesEveryStep) {
  const auto executable = compile(testing::conv_model(), device_name());
  const auto session = session_of(executable);
  const Tensor image = pattern({1, 3, 8, 8});
  must(session->set_input(0, image.view()));
  const auto timings = must(session->profile());
  EXPECT_EQ(timings.size(), session->plan_info().steps.size());
  double on_device = 0;
  for (std::size_t i = 0; i < timings.size(); ++i) {
    EXPECT_LE(timings[i].begin_us, timings[i].end_us);
    EXPECT_GE(timings[i].begin_us, i > 0 ? timings[i - 1].begin_us : 0);
    if (session->plan_info().steps[i].lane == StepInfo::Lane::device)
      on_device += timings[i].end_us - timings[i].begin_us;
  }
  EXPECT_GT(on_device, 0);
}

// A barrier left out on purpose: the layer sees it, and the run says so.
TEST_F(VulkanTest, TheRoofIsThatOfTheDevice) {
  const auto device = must(open_device(device_name()));
  const std::uint64_t submissions = device->counters().submissions;
  const DeviceRoof roof = must(device->measure_roof());
  EXPECT_GT(device->counters().submissions, submissions);
  EXPECT_GT(roof.gflops, 0.01);
  EXPECT_GT(roof.copy_gbytes, 0.01);
  EXPECT_LT(roof.copy_gbytes, 20'000) << "nothing was copied";
  EXPECT_EQ(must(open_device("cpu"))->measure_roof().error().code(), Code::unsupported);
}

// Where the host reaches the device's memory, inputs and outputs need no staging in between.
TEST_F(VulkanTest, TheHostWritesWhereTheDeviceReads) {
  const auto resident = [](const std::string& name) {
    const auto session = session_of(compile(testing::all_families()[0].make(), name));
    (void)run(*session, inputs_of(session->executable()));
    return session->resident_bytes();
  };
  const std::string staged = device_name() + ",no-host-visible";
  const auto features = must(open_device(device_name()))->info().properties;
  const auto has = std::ranges::find(features, "features", [](const auto& p) { return p.first; });
  ASSERT_NE(has, features.end());
  if (has->second.find("host-visible") == std::string::npos)
    EXPECT_EQ(resident(device_name()), resident(staged));
  else
    EXPECT_LT(resident(device_name()), resident(staged));
}

TEST_F(VulkanTest, TheValidationLayerSeesAMissingBarrier) {
  if (device_name() != "vulkan,validate")
    GTEST_SKIP() << "the layer is not installed: vulkan-validationlayers";
  // Layers of 1.4 are sure of copies only, not of what shaders read: inputs are to be copied.
  const auto compiled = Executable::compile(
      testing::conv_model(), must(open_device("vulkan,validate,no-barriers,no-host-visible")));
  ASSERT_TRUE(compiled);
  const auto session = session_of(*compiled);
  const Tensor image = pattern({1, 3, 8, 8});
  must(session->set_input(0, image.view()));
  const Status status = session->run();
  EXPECT_EQ(status.code(), Code::internal);
  // The layer's words of 1.3 and of 1.4.
  EXPECT_THAT(std::string(status.message()), AnyOf(HasSubstr("SYNC-HAZARD"), HasSubstr("hazard")));
  const auto roof = must(open_device("vulkan,validate,no-barriers"))->measure_roof();
  ASSERT_FALSE(roof) << "its copies are ordered by nothing";
  EXPECT_EQ(roof.error().code(), Code::internal);
}

// Returns the error of a run, or of the run on zeros that makes it ready.
Status run_of(const Family& f, const std::string& device) {
  auto session = Session::create(compile(f.make(), device));
  if (!session) return std::move(session).error();
  const auto inputs = inputs_of((*session)->executable());
  for (std::size_t i = 0; i < inputs.size(); ++i) must((*session)->set_input(i, inputs[i].view()));
  return (*session)->run();
}

// Tests without the layer see less: where it is installed they must have it.
TEST_F(VulkanTest, IsValidatedWhereTheLayerIsInstalled) {
  const bool is_installed =
      std::ranges::any_of(std::array{"/usr/share/vulkan", "/usr/local/share/vulkan", "/etc/vulkan"},
                          [](const std::string& folder) {
                            return std::filesystem::exists(
                                folder + "/explicit_layer.d/VkLayer_khronos_validation.json");
                          });
  if (!is_installed) GTEST_SKIP() << "the layer is not installed: vulkan-validationlayers";
  EXPECT_EQ(device_name(), "vulkan,validate") << open_device("vulkan,validate").error().message();
}

// The layer instruments the shaders: an access past the end of a buffer, which drivers may ignore,
// is an error.
class InstrumentedShaders : public ::testing::TestWithParam<std::tuple<std::string, std::size_t>> {
};

TEST_P(InstrumentedShaders, StayInTheirBuffers) {
  const std::string checked = "vulkan,validate-shaders";
  const auto device = open_device(checked);
  if (!device) GTEST_SKIP() << device.error().message();
  if (const Status s = run_of(all_families()[0], checked); !s.ok())
    GTEST_SKIP() << "the layer cannot check shaders on this device: " << s.message();
  const auto [options, number] = GetParam();
  const Family f = all_families()[number];
  const Status s = run_of(f, checked + options);
  EXPECT_TRUE(s.ok()) << f.name << ": " << s.message();
}

INSTANTIATE_TEST_SUITE_P(Each, InstrumentedShaders,
                         ::testing::Combine(::testing::Values(std::string(), ",as-hardware"),
                                            ::testing::Range(std::size_t{0},
                                                             all_families().size())));

// Rows beyond the most workgroups along an axis: of the last workgroups some have none.
TEST_F(VulkanTest, MoreRowsThanWorkgroupsInALine) {
  const Family rows{"many rows", [](GraphBuilder& g) {
                      const Operand x = quern::testing::floats(g, "x", {65'601, 3});
                      const auto three = [&](int seed) {
                        return quern::testing::weights(g, {3}, seed);
                      };
                      g.output("softmax", g.softmax(x, 1));
                      g.output("layer", g.layer_norm(x, three(1), three(2)));
                      g.output("sum", g.reduce("sum", x, {1}));
                      g.output("sizes", g.lp_norm(x, 1, 1));
                      g.output("most", g.argmax(x, 1));
                      g.output("two", g.top_k(x, {2}, 1)[0]);
                      g.output("whole", g.reduce("sum", g.cast(x, DType::i32), {1}));
                    }};
  for (const char* options : {"", ",as-hardware"}) {
    quern::testing::expect_like_cpu(rows, must(open_device(device_name() + options)));
    const std::string checked = std::string("vulkan,validate-shaders") + options;
    if (!open_device(checked) || !run_of(all_families()[0], checked).ok()) continue;
    const Status s = run_of(rows, checked);
    EXPECT_TRUE(s.ok()) << s.message();
  }
}

std::string loud(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

TEST_F(VulkanTest, IsFoundByIndexNameAndUuid) {
  for (const DeviceInfo& d : list_devices()) {
    if (d.kind != DeviceInfo::Kind::gpu) continue;
    EXPECT_EQ(must(open_device(d.name))->info().title, d.title);
    EXPECT_EQ(must(open_device("vulkan:" + d.title.substr(0, 6)))->info().name.substr(0, 7),
              "vulkan:");
    EXPECT_EQ(must(open_device("vulkan:" + loud(d.title.substr(0, 6))))->info().title, d.title);
    for (const auto& [key, value] : d.properties) {
      if (key == "uuid") {
        EXPECT_EQ(must(open_device("vulkan:" + value))->info().title, d.title);
        EXPECT_EQ(must(open_device("vulkan:" + loud(value)))->info().title, d.title);
      }
    }
  }
}

TEST_F(VulkanTest, IsTunedForAWhileThatMayBeLeftOut) {
  for (const char* option : {",tune", ",tune=5"}) {
    const auto device = open_device(device_name() + option);
    EXPECT_TRUE(device) << option << ": " << device.error().message();
  }
  EXPECT_FALSE(open_device(device_name() + ",tune="));
}

// Digits of titles are no numbers of devices.
TEST_F(VulkanTest, IsNotFoundByANumberThatItDoesNotHave) {
  const auto count = static_cast<std::size_t>(std::ranges::count_if(
      list_devices(), [](const DeviceInfo& d) { return d.kind == DeviceInfo::Kind::gpu; }));
  for (std::size_t number = count; number < count + 10; ++number)
    EXPECT_EQ(open_device("vulkan:" + std::to_string(number)).error().code(), Code::not_found)
        << number;
}

TEST(VulkanNames, ThatDoNotExistSayWhatThereIs) {
  const auto none = open_device("vulkan:no such card");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::not_found);
  const auto option = open_device("vulkan,no-such-thing");
  ASSERT_FALSE(option);
  EXPECT_CONTAINS(std::string(option.error().message()), "no-push-descriptors");
}

}  // namespace
}  // namespace quern
