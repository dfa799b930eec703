// SPDX-License-Identifier: Apache-2.0
// Buffers, weights and recorded commands of a device, below the programs that use them.
#include "engine/devices/vulkan/core.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/devices/vulkan/recorder.h"
#include "engine/devices/vulkan/roof.h"
#include "engine/devices/vulkan/weights.h"
#include "tests/engine/vulkan/vulkan_test.h"

namespace quern::vulkan {
namespace {

using quern::testing::must;
using Bytes = std::vector<std::byte>;

// The first device, with the features that `change` leaves; validated where the layer is installed.
std::shared_ptr<Core> core_with(
    void (*change)(Capabilities&) = [](Capabilities&) {}, const CoreOptions& options = {}) {
  auto checked = ApiInstance::get(Validation::on);
  auto instance = checked ? *checked : must(ApiInstance::get(Validation::off));
  const VkPhysicalDevice device = instance->devices().at(0);
  Capabilities c = read_capabilities(instance->api(), device);
  change(c);
  return must(Core::create(std::move(instance), device, std::move(c), options));
}

class CoreTest : public quern::testing::VulkanTest {
 protected:
  // Bytes of device memory, copied to the host by the device.
  static Bytes read(const std::shared_ptr<Core>& core, const Range& from) {
    const auto to = must(Buffer::create(core, from.bytes, Buffer::Use::download));
    const auto recorder = must(Recorder::create(core));
    recorder->acquire();
    recorder->copy(from, {to->handle(), 0, from.bytes});
    must(recorder->finish());
    must(recorder->submit());
    must(to->invalidate());
    return {to->mapped(), to->mapped() + from.bytes};
  }
  static void expect_valid(const std::shared_ptr<Core>& core) {
    const Status s = core->check_validation();
    EXPECT_TRUE(s.ok()) << s.message();
  }
};

void hide_memory(Capabilities& c) {
  c.host_visible = false;
}
void push_nothing(Capabilities& c) {
  c.push_descriptors = false;
}
void have_no_timeline(Capabilities& c) {
  c.timeline = false;
}

// ---- the loader --------------------------------------------------------------------------------

std::uint32_t loader_version = VK_API_VERSION_1_1;
bool has_validation = false;
const VkInstanceCreateInfo* asked_for = nullptr;

VkResult version_of(std::uint32_t* version) {
  *version = loader_version;
  return VK_SUCCESS;
}
VkResult layers_of(std::uint32_t* count, VkLayerProperties* to) {
  if (to && has_validation) std::strcpy(to->layerName, "VK_LAYER_KHRONOS_validation");
  *count = has_validation ? 1 : 0;
  return VK_SUCCESS;
}
VkResult instance_of(const VkInstanceCreateInfo* info, const VkAllocationCallbacks*, VkInstance*) {
  asked_for = info;
  return VK_ERROR_INCOMPATIBLE_DRIVER;  // which ends it here
}

TEST(VulkanLoader, ThatIsTooOldOrHasNoLayerIsRefusedInWords) {
  Loader loader;
  loader.vkEnumerateInstanceVersion = version_of;
  loader.vkEnumerateInstanceLayerProperties = layers_of;
  loader.vkCreateInstance = instance_of;
  const auto refusal = [&](Validation validation) {
    asked_for = nullptr;
    const auto made = ApiInstance::create(loader, validation);
    EXPECT_FALSE(made);
    return std::string(made.error().message());
  };
  const std::string none = refusal(Validation::off);
  EXPECT_THAT(none, ::testing::HasSubstr("INCOMPATIBLE_DRIVER"));
  EXPECT_NE(asked_for, nullptr);
  EXPECT_THAT(refusal(Validation::on), ::testing::HasSubstr("install vulkan-validationlayers"));
  EXPECT_EQ(asked_for, nullptr);
  has_validation = true;
  EXPECT_EQ(refusal(Validation::on), none);
  EXPECT_EQ(refusal(Validation::shaders), none);
  loader_version = VK_API_VERSION_1_0;
  EXPECT_THAT(refusal(Validation::off), ::testing::HasSubstr("older than 1.1"));
  EXPECT_EQ(asked_for, nullptr);
}

// A driver of functions that say yes, and of those that note what is destroyed.
std::vector<std::string> destroyed;
VkResult succeed() {
  return VK_SUCCESS;
}
VkResult make_instance(const VkInstanceCreateInfo*, const VkAllocationCallbacks*,
                       VkInstance* made) {
  *made = reinterpret_cast<VkInstance>(1);
  return VK_SUCCESS;
}
VkResult make_messenger(VkInstance, const VkDebugUtilsMessengerCreateInfoEXT*,
                        const VkAllocationCallbacks*, VkDebugUtilsMessengerEXT* made) {
  *made = reinterpret_cast<VkDebugUtilsMessengerEXT>(2);
  return VK_SUCCESS;
}
void destroy_messenger(VkInstance, VkDebugUtilsMessengerEXT, const VkAllocationCallbacks*) {
  destroyed.emplace_back("messenger");
}
void destroy_instance(VkInstance, const VkAllocationCallbacks*) {
  destroyed.emplace_back("instance");
}
PFN_vkVoidFunction function_of(VkInstance, const char* name) {
  const std::string_view n = name;
  const auto as_any = [](auto f) { return reinterpret_cast<PFN_vkVoidFunction>(f); };
  if (n == "vkCreateDebugUtilsMessengerEXT") return as_any(make_messenger);
  if (n == "vkDestroyDebugUtilsMessengerEXT") return as_any(destroy_messenger);
  if (n == "vkDestroyInstance") return as_any(destroy_instance);
  return as_any(succeed);
}

TEST(VulkanLoader, AnInstanceDestroysWhatItMade) {
  Loader loader;
  loader.vkGetInstanceProcAddr = function_of;
  loader.vkEnumerateInstanceVersion = version_of;
  loader.vkEnumerateInstanceLayerProperties = layers_of;
  loader.vkCreateInstance = make_instance;
  loader_version = VK_API_VERSION_1_1;
  has_validation = true;
  using Names = std::vector<std::string>;
  for (const auto& [validation, wanted] :
       {std::pair(Validation::on, Names{"messenger", "instance"}),
        {Validation::off, Names{"instance"}}}) {
    destroyed.clear();
    must(ApiInstance::create(loader, validation)).reset();
    EXPECT_EQ(destroyed, wanted);
  }
}

// ---- a driver without memory -------------------------------------------------------------------

// The driver of the machine, which answers `allocation` where it is asked for memory.
VkResult allocation = VK_SUCCESS;
PFN_vkGetDeviceProcAddr device_functions = nullptr;
VkResult allocate(VkDevice, const VkMemoryAllocateInfo*, const VkAllocationCallbacks*,
                  VkDeviceMemory*) {
  return allocation;
}
PFN_vkVoidFunction device_function_of(VkDevice device, const char* name) {
  if (std::string_view(name) == "vkAllocateMemory")
    return reinterpret_cast<PFN_vkVoidFunction>(allocate);
  return device_functions(device, name);
}
PFN_vkVoidFunction instance_function_of(VkInstance instance, const char* name) {
  const auto found = loader()->vkGetInstanceProcAddr(instance, name);
  if (std::string_view(name) != "vkGetDeviceProcAddr") return found;
  device_functions = reinterpret_cast<PFN_vkGetDeviceProcAddr>(found);
  return reinterpret_cast<PFN_vkVoidFunction>(device_function_of);
}

TEST_F(CoreTest, ADriverWithoutMemoryIsAnErrorOfItsKind) {
  Loader without_memory = *loader();
  without_memory.vkGetInstanceProcAddr = instance_function_of;
  auto instance = must(ApiInstance::create(without_memory, Validation::off));
  const VkPhysicalDevice device = instance->devices().at(0);
  const Capabilities capabilities = read_capabilities(instance->api(), device);
  const auto core = must(Core::create(std::move(instance), device, capabilities));
  using Told = std::tuple<VkResult, Code, const char*>;
  for (const auto& [answer, code, words] :
       {Told(VK_ERROR_OUT_OF_DEVICE_MEMORY, Code::out_of_memory, "gives at most"),
        Told(VK_ERROR_OUT_OF_HOST_MEMORY, Code::out_of_memory, "gives at most"),
        Told(VK_ERROR_TOO_MANY_OBJECTS, Code::internal, "VK_ERROR_TOO_MANY_OBJECTS")}) {
    allocation = answer;
    const auto none = Buffer::create(core, 1, Buffer::Use::device);
    ASSERT_FALSE(none) << name_of(answer);
    EXPECT_EQ(none.error().code(), code);
    EXPECT_THAT(std::string(none.error().message()), ::testing::HasSubstr(words));
  }
}

// ---- buffers -----------------------------------------------------------------------------------

TEST_F(CoreTest, BuffersAreWholeBlocksThatTheHostReachesWhereItWants) {
  const auto core = core_with();
  for (const auto& [bytes, wanted] : {std::pair(0, 256), {1, 256}, {256, 256}, {257, 512}})
    EXPECT_EQ(
        must(Buffer::create(core, static_cast<std::uint64_t>(bytes), Buffer::Use::device))->bytes(),
        static_cast<std::uint64_t>(wanted));
  EXPECT_NE(must(Buffer::create(core, 1, Buffer::Use::upload))->mapped(), nullptr);
  EXPECT_NE(must(Buffer::create(core, 1, Buffer::Use::download))->mapped(), nullptr);
  const auto on_device = must(Buffer::create(core, 1, Buffer::Use::device));
  EXPECT_EQ(on_device->mapped() != nullptr, core->capabilities().host_visible);
  const auto hidden = core_with(hide_memory);
  EXPECT_EQ(must(Buffer::create(hidden, 1, Buffer::Use::device))->mapped(), nullptr);
  expect_valid(core);
}

TEST_F(CoreTest, MemoryThatTheDeviceLacksIsAnErrorWithItsNumbers) {
  const auto core = core_with();
  const Capabilities& c = core->capabilities();
  const auto none = Buffer::create(core, c.max_allocation + 1, Buffer::Use::device);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::out_of_memory);
  EXPECT_THAT(std::string(none.error().message()),
              ::testing::HasSubstr("gives at most " + std::to_string(c.max_allocation)));
  const std::uint64_t before = core->counts.allocations;
  must(Buffer::create(core, 1000, Buffer::Use::device));
  EXPECT_EQ(core->counts.allocations, before + 1);
}

TEST_F(CoreTest, TheMemoryTypeHasWhatIsWantedAndMostOfWhatIsLiked) {
  const auto core = core_with();
  EXPECT_EQ(core->memory_type(0, 0, 0), -1);
  constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  const int type = core->memory_type(~0U, local, 0);
  ASSERT_GE(type, 0);
  EXPECT_TRUE(core->memory_flags(type) & local);
  EXPECT_EQ(core->memory_type(~(1U << type), local, 0) == type, false);
  EXPECT_EQ(core->memory_type(~0U, 1U << 30, 0), -1) << "no such property";
}

// ---- weights -----------------------------------------------------------------------------------

GpuConstant constant(const std::string& key, std::size_t bytes, int value) {
  return {key, bytes, [bytes, value](std::byte* to) {
            EXPECT_TRUE(std::all_of(to, to + bytes, [](std::byte b) { return b == std::byte{}; }));
            std::memset(to, value, bytes);
            return Status();
          }};
}

TEST_F(CoreTest, WeightsAreOnTheDeviceOnceAndApart) {
  for (const auto change : {+[](Capabilities&) {}, hide_memory}) {
    const auto core = core_with(change);
    Weights weights(core);
    EXPECT_EQ(weights.bytes(), 0U);
    std::vector<std::shared_ptr<const Slice>> slices;
    for (int i = 0; i < 20; ++i)
      slices.push_back(must(weights.find_or_make(
          constant("c" + std::to_string(i), static_cast<std::size_t>(100 * i + 1), i + 1))));
    must(weights.upload());
    const std::uint64_t submissions = core->counts.submissions;
    must(weights.upload());
    EXPECT_EQ(core->counts.submissions, submissions) << "nothing is new";
    EXPECT_EQ(must(weights.find_or_make(constant("c3", 301, 99))), slices[3]) << "by its key";
    EXPECT_NE(must(weights.find_or_make(constant("c3", 302, 99))), slices[3]) << "and its size";
    must(weights.upload());
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const Slice& s = *slices[i];
      EXPECT_EQ(s.offset % core->capabilities().alignment, 0U);
      EXPECT_LE(s.offset + s.bytes, s.block->bytes());
      const std::size_t filled = 100 * i + 1;
      EXPECT_GE(s.bytes, filled);
      sum += s.bytes;
      Bytes wanted(s.bytes);
      std::fill_n(wanted.begin(), filled, static_cast<std::byte>(i + 1));
      EXPECT_EQ(read(core, {s.block->handle(), s.offset, s.bytes}), wanted) << i;
    }
    EXPECT_EQ(weights.bytes(), sum) << "and the one that nobody holds is gone";
    slices.clear();
    EXPECT_EQ(weights.bytes(), 0U);
    expect_valid(core);
  }
}

// Blocks of 1, 2, 4 ... MiB, and one of its own for what is larger.
TEST_F(CoreTest, WeightsTakeFewBlocks) {
  const auto core = core_with();
  Weights weights(core);
  std::vector<std::shared_ptr<const Slice>> slices;
  const std::uint64_t before = core->counts.allocations;
  const auto blocks = [&] {
    std::vector<const Buffer*> all;
    for (const auto& s : slices) all.push_back(s->block.get());
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all.size();
  };
  for (int i = 0; i < 40; ++i)
    slices.push_back(must(weights.find_or_make(constant(std::to_string(i), 300 << 10, 1))));
  EXPECT_EQ(blocks(), 4U) << "12 MiB, in blocks of 1, 2, 4 and 8";
  slices.push_back(must(weights.find_or_make(constant("large", 40 << 20, 1))));
  EXPECT_EQ(blocks(), 5U);
  EXPECT_GE(slices.back()->block->bytes(), std::uint64_t{40} << 20);
  slices.push_back(must(weights.find_or_make(constant("after", 300 << 10, 1))));
  EXPECT_EQ(blocks(), 6U) << "the large one has no room";
  EXPECT_EQ(slices.back()->block->bytes(), std::uint64_t{64} << 20) << "blocks grow no further";
  const bool is_staged = !core->capabilities().host_visible;
  EXPECT_EQ(core->counts.allocations, before + 6 + (is_staged ? slices.size() : 0));
}

TEST_F(CoreTest, AWeightThatCannotBeMadeIsNotKept) {
  const auto core = core_with();
  Weights weights(core);
  const GpuConstant wrong{"c", 64, [](std::byte*) { return Status(Code::internal, "no"); }};
  EXPECT_EQ(weights.find_or_make(wrong).error().message(), "no");
  EXPECT_EQ(weights.bytes(), 0U);
  const auto right = must(weights.find_or_make(constant("c", 64, 7)));
  must(weights.upload());
  EXPECT_EQ(read(core, {right->block->handle(), right->offset, 64}), Bytes(64, std::byte{7}));
}

// ---- commands ----------------------------------------------------------------------------------

// Writes one float for each invocation of a group.
struct Work {
  Dispatch dispatch;
  std::shared_ptr<Buffer> sums;
  std::vector<Binding> bindings;

  explicit Work(const std::shared_ptr<Core>& core)
      : dispatch(roof_dispatch(1, core->capabilities().target())),
        sums(must(Buffer::create(core, 4ULL * dispatch.constants[0], Buffer::Use::device))),
        bindings{{{sums->handle(), 0, sums->bytes()}, true}} {
    dispatch.push[0] = 4;  // rounds
  }
};

// More than a pool of descriptors has, where they are not pushed.
TEST_F(CoreTest, AnyNumberOfDispatchesIsRecorded) {
  for (const auto change : {+[](Capabilities&) {}, push_nothing, have_no_timeline}) {
    const auto core = core_with(change);
    const Work work(core);
    const auto recorder = must(Recorder::create(core));
    constexpr std::uint32_t count = 600;
    for (std::uint32_t i = 0; i < count; ++i)
      must(recorder->dispatch(work.dispatch, work.bindings));
    must(recorder->finish());
    EXPECT_EQ(recorder->dispatches(), count);
    EXPECT_EQ(recorder->commands_recorded(), count);
    EXPECT_EQ(recorder->barriers(), count) << "each writes where the last one did, and the end";
    EXPECT_TRUE(recorder->is_fresh());
    for (int time = 0; time < 2; ++time) must(recorder->submit());
    EXPECT_EQ(core->counts.submissions, 2U);
    EXPECT_EQ(core->counts.dispatches, 2 * count);
    EXPECT_EQ(core->counts.barriers, 2 * count);
    EXPECT_EQ(core->counts.pipelines, 1U);
    expect_valid(core);
  }
}

TEST_F(CoreTest, LongRecordingsAreCut) {
  const auto core = core_with([](Capabilities&) {}, {.split = 4});
  const Work work(core);
  const auto recorder = must(Recorder::create(core));
  for (int i = 0; i < 9; ++i) must(recorder->dispatch(work.dispatch, work.bindings));
  must(recorder->finish());
  must(recorder->submit());
  EXPECT_EQ(core->counts.submissions, 3U) << "of 4, 4 and 1";
  expect_valid(core);
}

TEST_F(CoreTest, ABindingThatIsTooLargeIsRefused) {
  const auto core = core_with([](Capabilities& c) { c.max_range = 128; });
  const Work work(core);
  const auto recorder = must(Recorder::create(core));
  std::vector<Binding> bindings = work.bindings;
  bindings[0].range.bytes = 129;
  const Status s = recorder->dispatch(work.dispatch, bindings);
  EXPECT_EQ(s.code(), Code::unsupported);
  EXPECT_THAT(std::string(s.message()), ::testing::HasSubstr("binds at most 128"));
  bindings[0].range.bytes = 128;
  must(recorder->dispatch(work.dispatch, bindings));
}

TEST_F(CoreTest, CopiesMoveTheirBytesAndEmptyOnesAreNone) {
  const auto core = core_with();
  const auto from = must(Buffer::create(core, 1024, Buffer::Use::upload));
  const auto to = must(Buffer::create(core, 1024, Buffer::Use::device));
  for (int i = 0; i < 1024; ++i) from->mapped()[i] = static_cast<std::byte>(i * 7);
  must(from->flush());
  const auto recorder = must(Recorder::create(core, 8));
  recorder->copy({from->handle(), 0, 0}, {to->handle(), 0, 0});
  EXPECT_EQ(recorder->commands_recorded(), 0U);
  recorder->copy({from->handle(), 64, 128}, {to->handle(), 256, 128});
  recorder->copy({from->handle(), 0, 16}, {to->handle(), 256, 16});
  must(recorder->finish());
  must(recorder->submit());
  EXPECT_EQ(recorder->commands_recorded(), 2U);
  const auto intervals = must(recorder->intervals());
  ASSERT_EQ(intervals.size(), core->capabilities().timestamp_ns > 0 ? 2U : 0U);
  for (const auto& i : intervals) EXPECT_LE(i.begin, i.end);
  Bytes wanted(from->mapped() + 64, from->mapped() + 192);
  std::copy_n(from->mapped(), 16, wanted.begin());
  EXPECT_EQ(read(core, {to->handle(), 256, 128}), wanted);
  expect_valid(core);
}

// What a device that is not fast enough in a minute says is no answer: it may take its time.
TEST_F(CoreTest, AWaitThatEndsTooEarlyIsNoError) {
  for (const auto change : {+[](Capabilities&) {}, have_no_timeline}) {
    const auto core = core_with(change);
    Work work(core);
    work.dispatch.push[0] = 30'000;
    const auto recorder = must(Recorder::create(core));
    for (int i = 0; i < 200; ++i) must(recorder->dispatch(work.dispatch, work.bindings));
    must(recorder->finish());
    must(recorder->start());
    const Status early = recorder->wait(0);
    EXPECT_TRUE(early.ok() || early.code() == Code::busy) << early.message();
    must(recorder->wait());
    must(recorder->wait(), "what has ended is not waited for");
    must(recorder->submit(), "and may run again");
  }
}

// Guests bring new shapes, and with them pipelines, for ever.
TEST_F(CoreTest, OnlyAFewPipelinesStayThatNobodyHolds) {
  const auto core = core_with([](Capabilities&) {}, {.idle = 8 << 20});
  Work work(core);
  const std::uint32_t first = work.dispatch.constants[0];
  const std::size_t most = (8 << 20) / core->pipeline_bytes();
  const PipelineRef held = must(core->pipeline(work.dispatch));
  const auto make = [&](std::size_t i) {
    work.dispatch.constants[0] = first + static_cast<std::uint32_t>(i);
    return must(core->pipeline(work.dispatch));
  };
  for (std::size_t i = 1; i <= most + 2; ++i) (void)make(i);
  core->trim_pipelines();
  EXPECT_EQ(core->counts.pipelines, most + 3);
  for (const std::size_t kept : {std::size_t{0}, std::size_t{3}, most + 2}) (void)make(kept);
  EXPECT_EQ(core->counts.pipelines, most + 3);
  for (const std::size_t gone : {1, 2}) (void)make(gone);
  EXPECT_EQ(core->counts.pipelines, most + 5) << "those of longest ago";
  expect_valid(core);
}

TEST_F(CoreTest, APipelineIsMadeOnceForEachSetOfConstants) {
  const auto core = core_with();
  Work work(core);
  const PipelineRef first = must(core->pipeline(work.dispatch));
  EXPECT_TRUE(first->is_fresh);
  work.dispatch.push[0] = 9;
  EXPECT_EQ(must(core->pipeline(work.dispatch)), first);
  work.dispatch.constants[0] *= 2;
  const PipelineRef second = must(core->pipeline(work.dispatch));
  EXPECT_NE(second, first);
  EXPECT_EQ(second->layout, first->layout) << "of as many buffers";
  EXPECT_EQ(core->counts.pipelines, 2U);
  core->mark_warm();
  EXPECT_FALSE(must(core->pipeline(work.dispatch))->is_fresh);
  work.dispatch.shader = "no such shader";
  EXPECT_EQ(core->pipeline(work.dispatch).error().code(), Code::internal);
}

TEST_F(CoreTest, ACandidateIsTakenByItsNumberIfThereIsOne) {
  const auto core = core_with([](Capabilities&) {}, {.candidate = 2});
  Dispatch d{.shader = "a"};
  EXPECT_EQ(core->candidate_of(d).shader, "a");
  d.candidates = {{.shader = "b"}};
  EXPECT_EQ(core->candidate_of(d).shader, "a");
  d.candidates.push_back({.shader = "c"});
  EXPECT_EQ(core->candidate_of(d).shader, "c");
}

TEST_F(CoreTest, ALostDeviceSaysSoToEveryCall) {
  const auto core = core_with([](Capabilities&) {}, {.lose_after = 1});
  const Work work(core);
  const auto recorder = must(Recorder::create(core));
  must(recorder->dispatch(work.dispatch, work.bindings));
  must(recorder->finish());
  must(recorder->submit());
  EXPECT_FALSE(core->lost());
  EXPECT_EQ(recorder->submit().code(), Code::device_lost);
  EXPECT_TRUE(core->lost());
  EXPECT_EQ(core->pipeline(work.dispatch).error().code(), Code::device_lost);
  EXPECT_EQ(measure_roof(core).error().code(), Code::device_lost);
}

}  // namespace
}  // namespace quern::vulkan
