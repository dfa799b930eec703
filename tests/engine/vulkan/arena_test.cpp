// SPDX-License-Identifier: Apache-2.0
// One arena for all plans of a session: as large as the largest needs, as the driver counts it.
// What was recorded before it grew still gives the right numbers, without being made anew in a run.
#include "engine/devices/vulkan/arena.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/engine_models.h"
#include "tests/engine/vulkan/vulkan_test.h"
#include "tests/expect.h"

namespace quern::testing {
namespace {

using Use = vulkan::Buffer::Use;
using vulkan::Arena;

// Bytes that the driver has given out for the device, now.
std::uint64_t held(const Device& device) {
  return device.counters().held_bytes;
}
std::uint64_t held(const Session& session) {
  return held(session.executable().device());
}

// Bytes that the driver takes back when a session ends what it holds for its plans.
std::uint64_t bytes_of(Session& session) {
  const std::uint64_t before = held(session);
  session.trim();
  return before - held(session);
}

// Twenty pictures, one a little larger than the other.
std::vector<Tensor> pictures() {
  std::vector<Tensor> all;
  for (std::int64_t i = 0; i < 20; ++i) all.push_back(pattern({1, 3, 16 + 2 * i, 24 + i}));
  return all;
}

class VulkanArena : public VulkanTest, public ::testing::WithParamInterface<const char*> {
 protected:
  static std::string device() { return device_name() + GetParam(); }
};

// The order of shapes: from small to large, from large to small, and mixed.
TEST_P(VulkanArena, IsOneForTwentyShapes) {
  const std::vector<Tensor> images = pictures();
  const auto cpu = session_of(compile(conv_model()));
  std::vector<std::vector<std::vector<std::byte>>> wanted;
  for (const Tensor& t : images) wanted.push_back(run(*cpu, {t}));
  const auto largest = session_of(compile(conv_model(), device()));
  run(*largest, {images.back()});
  const std::uint64_t alone = bytes_of(*largest);
  EXPECT_GT(alone, 10'000U);

  for (const std::size_t stride : {1, 19, 7}) {
    const auto session = session_of(compile(conv_model(), device()));
    for (std::size_t round = 0; round < 2; ++round) {
      const DeviceCounters before = session->executable().device().counters();
      for (std::size_t k = 0; k < images.size(); ++k) {
        const std::size_t i = k * stride % images.size();
        const auto found = run(*session, {images[i]});
        for (std::size_t o = 0; o < found.size(); ++o)
          expect_close(found[o], wanted[i][o], DType::f32);
      }
      const DeviceCounters after = session->executable().device().counters();
      if (round == 0) continue;
      EXPECT_EQ(after.allocations, before.allocations) << "a run on planned shapes";
      EXPECT_EQ(after.pipelines, before.pipelines);
      EXPECT_EQ(after.recordings, before.recordings);
      EXPECT_EQ(after.submissions, before.submissions + images.size());
    }
    EXPECT_LE(session->resident_bytes(), session->plan_info().memory.total());
    EXPECT_LE(10 * bytes_of(*session), 12 * alone);
  }
}

// Segments behind data, and bodies of loops, whose plans have shapes of their own.
TEST_P(VulkanArena, IsThatOfSegmentsAndOfBodies) {
  const auto run_all = [&](Session& session, bool rows, std::vector<std::int64_t> counts) {
    std::vector<std::vector<std::vector<std::byte>>> all;
    for (const std::int64_t n : counts)
      all.push_back(rows ? run(session, {pattern({64, 64}), first_rows(64, n)})
                         : run(session, {pattern({n, 8})}));
    return all;
  };
  for (const bool rows : {true, false}) {
    const auto make = [&] { return rows ? chosen_rows_model() : loop_model(); };
    std::vector<std::int64_t> counts(20);
    std::iota(counts.begin(), counts.end(), 20);
    const auto session = session_of(compile(make(), device()));
    const auto found = run_all(*session, rows, counts);
    const auto wanted = run_all(*session_of(compile(make())), rows, counts);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      for (std::size_t o = 0; o < wanted[i].size(); ++o)
        expect_close(found[i][o], wanted[i][o], DType::f32);
    EXPECT_EQ(run_all(*session, rows, counts), found);
    const auto largest = session_of(compile(make(), device()));
    run_all(*largest, rows, {counts.back()});
    EXPECT_LE(10 * bytes_of(*session), 12 * bytes_of(*largest));
  }
}

// Tensors that stay on the device: their commands follow the arena, too, and those of tensors that
// are gone are forgotten.
TEST_P(VulkanArena, GrowsUnderTensorsOfTheDevice) {
  const std::shared_ptr<Device> on = must(open_device(device()));
  const auto session = session_of(must(Executable::compile(transformer_model(), on)));
  const auto cpu = session_of(compile(transformer_model()));
  const auto tensor = [&](const Shape& shape) {
    return must(DeviceTensor::create(on, {DType::f32, shape}));
  };
  const Tensor small = pattern({4, 32});
  auto in = tensor({4, 32});
  auto out = tensor({4, 32});
  must(in->write(small.view()));
  must(session->set_input(0, in));
  must(session->bind_output(0, out));
  must(session->run());
  const auto first = values(must(out->read()));
  auto gone = tensor({4, 32});
  must(session->bind_output(0, gone));
  must(session->run());
  must(session->bind_output(0, nullptr, 0));
  gone = nullptr;
  for (const std::int64_t n : {40, 90}) {
    const auto found = run(*session, {pattern({n, 32})});
    expect_close(found[0], run(*cpu, {pattern({n, 32})})[0], DType::f32);
  }
  const DeviceCounters before = on->counters();
  must(session->set_input(0, in));
  must(session->bind_output(0, out));
  must(session->run());
  const DeviceCounters after = on->counters();
  EXPECT_EQ(values(must(out->read())), first);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.recordings, before.recordings);
}

// A session that finds no memory for a larger shape goes on with those that it had.
TEST_P(VulkanArena, ThatCannotGrowServesTheShapesThatItHad) {
  const std::vector<Tensor> images = pictures();
  const Tensor huge = pattern({1, 3, 256, 256});
  std::uint64_t before = 0, after = 0;
  std::vector<std::vector<std::vector<std::byte>>> wanted;
  {
    const auto session = session_of(compile(conv_model(), device()));
    for (std::size_t i = 0; i < 3; ++i) wanted.push_back(run(*session, {images[i]}));
    before = held(*session);
    run(*session, {huge});
    after = held(*session);
  }
  ASSERT_LT(before, after);
  const std::string memory = ",memory=" + std::to_string(before + (after - before) / 2);
  const auto session = session_of(compile(conv_model(), device() + memory));
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(run(*session, {images[i]}), wanted[i]);
    must(session->set_input(0, huge.view()));
    const Status refused = round == 1 ? session->submit() : session->run();
    EXPECT_EQ(refused.code(), Code::out_of_memory) << refused.message();
    EXPECT_CONTAINS(std::string(refused.message()), " bytes of device memory");
  }
  EXPECT_EQ(held(*session), before);
}

TEST_P(VulkanArena, IsGivenBackAndTakenAgain) {
  const auto session = session_of(compile(conv_model(), device()));
  const Tensor image = pattern({1, 3, 32, 32});
  const auto wanted = run(*session, {image});
  const std::size_t resident = session->resident_bytes();
  EXPECT_GT(bytes_of(*session), 0U);
  EXPECT_EQ(session->resident_bytes(), 0U);
  EXPECT_EQ(run(*session, {image}), wanted);
  EXPECT_EQ(session->resident_bytes(), resident);
}

// Runs in flight, and a time limit that ends the making of a plan.
TEST_P(VulkanArena, GrowsBetweenRunsInFlight) {
  const auto session = session_of(compile(conv_model(), device()));
  const auto cpu = session_of(compile(conv_model()));
  const std::vector<Tensor> images = pictures();
  for (std::size_t i = 0; i < 6; ++i) {
    for (const std::size_t k : {i, std::size_t{0}}) {
      must(session->set_input(0, images[k].view()));
      must(session->submit());
      EXPECT_EQ(session->prepare().code(), Code::busy);
      must(session->wait());
      const TensorView y = must(session->output(0));
      expect_close({y.data, y.data + y.type.bytes()}, run(*cpu, {images[k]})[0], DType::f32);
    }
    must(session->set_input(0, images[19 - i].view()));
    const auto past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
    EXPECT_EQ(session->run_until(past).code(), Code::timed_out);
  }
}

TEST_P(VulkanArena, IsLostWithItsDevice) {
  const auto session = session_of(compile(conv_model(), device() + ",lose-after=9"));
  Status status;
  for (const Tensor& image : pictures()) {
    must(session->set_input(0, image.view()));
    status = session->run();
    if (!status.ok()) break;
  }
  EXPECT_EQ(status.code(), Code::device_lost) << status.message();
  EXPECT_EQ(session->run().code(), Code::device_lost);
}

// Sessions of two models in one arena: the larger of both, on the device as on the host.
TEST_P(VulkanArena, IsSharedBySessionsThatNeverRunAtOnce) {
  const std::shared_ptr<Device> on = must(open_device(device()));
  const auto conv = must(Executable::compile(conv_model(), on));
  const auto text = must(Executable::compile(transformer_model(), on));
  const Tensor words = pattern({24, 32});
  const std::vector<Tensor> images = pictures();
  const auto wanted_text = run(*session_of(text), {words});
  const auto alone = session_of(conv);
  const auto wanted_small = run(*alone, {images[0]});
  const auto wanted_large = run(*alone, {images[19]});
  const std::uint64_t most = bytes_of(*alone);

  const std::uint64_t before = held(*on);
  const auto arena = SharedArena::create();
  const auto first = must(Session::create(conv, {.arena = arena}));
  const auto second = must(Session::create(text, {.arena = arena}));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(run(*first, {images[0]}), wanted_small);
    EXPECT_EQ(run(*second, {words}), wanted_text);
    EXPECT_EQ(run(*first, {images[19]}), wanted_large);
    EXPECT_EQ(run(*second, {words}), wanted_text);
    EXPECT_LE(10 * (held(*on) - before), 12 * most);
    EXPECT_GE(arena->bytes(), held(*on) - before);
    EXPECT_EQ(first->resident_bytes() + second->resident_bytes(), 0U);
    must(first->submit());
    EXPECT_EQ(second->run().code(), Code::busy);
    EXPECT_EQ(second->prepare().code(), Code::busy);
    must(first->wait());
    must(second->prepare());
    EXPECT_TRUE(arena->trim());
    EXPECT_EQ(held(*on), before);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, VulkanArena, ::testing::Values("", ",no-host-visible"),
                         [](const auto& info) {
                           return std::string(*info.param ? "Staged" : "Mapped");
                         });

// ---- the arena by itself -----------------------------------------------------------------------

std::shared_ptr<vulkan::Core> core_with_memory(std::uint64_t bytes) {
  auto instance = must(vulkan::ApiInstance::get(vulkan::Validation::off));
  const VkPhysicalDevice device = instance->devices().at(0);
  vulkan::Capabilities c = vulkan::read_capabilities(instance->api(), device);
  return must(vulkan::Core::create(std::move(instance), device, std::move(c), {.memory = bytes}));
}

class VulkanArenaAlone : public VulkanTest {};

TEST_F(VulkanArenaAlone, FreesWhatIsTooSmallFirst) {
  const auto core = core_with_memory(1 << 20);
  Arena arena(core, DeviceArena::Growth::exact);
  must(arena.reserve(Use::device, 700 << 10));
  const std::uint64_t generation = arena.generation();
  must(arena.reserve(Use::device, 600 << 10));
  EXPECT_EQ(arena.generation(), generation) << "there was room";
  must(arena.reserve(Use::device, 900 << 10));
  EXPECT_NE(arena.generation(), generation);
  EXPECT_EQ(arena.bytes(), 900U << 10);
  EXPECT_EQ(core->counts.held_bytes, 900U << 10);
}

TEST_F(VulkanArenaAlone, IsAsItWasWhereThereIsNoMemory) {
  const auto core = core_with_memory(1 << 20);
  Arena arena(core, DeviceArena::Growth::ahead);
  must(arena.reserve(Use::upload, 10 << 10));
  must(arena.reserve(Use::device, 700 << 10));
  EXPECT_EQ(arena.reserve(Use::device, 1 << 20).code(), Code::out_of_memory);
  ASSERT_NE(arena.buffer(Use::device), nullptr);
  EXPECT_EQ(arena.arena_bytes(), 700U << 10);
  EXPECT_EQ(arena.staging_bytes(), 10U << 10);
  EXPECT_EQ(arena.reserve(Use::download, 1 << 20).code(), Code::out_of_memory);
  EXPECT_EQ(arena.buffer(Use::download), nullptr);
}

// An eighth more, if there is that much.
TEST_F(VulkanArenaAlone, GrowsAheadOfWhatIsAsked) {
  Arena arena(core_with_memory(1 << 20), DeviceArena::Growth::ahead);
  must(arena.reserve(Use::device, 512 << 10));
  EXPECT_EQ(arena.bytes(), 512U << 10);
  must(arena.reserve(Use::device, 513 << 10));
  EXPECT_EQ(arena.bytes(), 576U << 10);
  must(arena.reserve(Use::device, 1000 << 10));
  EXPECT_EQ(arena.bytes(), 1000U << 10);
  must(arena.reserve(Use::device, 1001 << 10));
  EXPECT_EQ(arena.bytes(), 1001U << 10);
  arena.release();
  EXPECT_EQ(arena.bytes(), 0U);
}

}  // namespace
}  // namespace quern::testing
