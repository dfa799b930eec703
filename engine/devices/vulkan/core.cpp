// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/core.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>

#include "engine/devices/vulkan/device_features.h"
#include "engine/devices/vulkan/pipeline_cache.h"
#include "engine/devices/vulkan/process_end.h"
#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"

#include "shaders/shaders.h"

namespace quern::vulkan {

// ---- the instance ------------------------------------------------------------------------------

namespace {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data,
                                          void* instance) {
  static_cast<ApiInstance*>(instance)->add_message(data->pMessage);
  return VK_FALSE;
}

// The version of Vulkan that an installed layer knows; nullopt if it is not installed.
std::optional<std::uint32_t> version_of_layer(const Loader& l, std::string_view name) {
  std::uint32_t count = 0;
  l.vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  l.vkEnumerateInstanceLayerProperties(&count, layers.data());
  const auto layer =
      std::ranges::find_if(layers, [&](const auto& p) { return p.layerName == name; });
  if (layer == layers.end()) return std::nullopt;
  return layer->specVersion;
}

// Layers of before VK_KHR_cooperative_matrix report its structures as mistakes.
constexpr std::uint32_t first_with_matrices = VK_MAKE_API_VERSION(0, 1, 3, 255);

}  // namespace

Result<std::shared_ptr<ApiInstance>> ApiInstance::get(Validation validation) {
  static std::mutex mutex;
  static auto& kept = *new std::array<std::shared_ptr<ApiInstance>, 3>;
  const std::scoped_lock lock(mutex);
  auto& instance = kept[static_cast<std::size_t>(validation)];
  if (instance && instance->is_usable()) return instance;
  const Loader* l = loader();
  if (!l) return Status(Code::not_found, "no Vulkan: libvulkan.so.1 is not installed");
  QUERN_ASSIGN(instance, create(*l, validation));
  return instance;
}

Result<std::shared_ptr<ApiInstance>> ApiInstance::create(const Loader& l, Validation validation) {
  std::shared_ptr<ApiInstance> instance(new ApiInstance);
  QUERN_TRY(instance->open(l, validation));
  return instance;
}

Status ApiInstance::open(const Loader& l, Validation validation) {
  const bool validate = validation != Validation::off;
  std::uint32_t version = VK_API_VERSION_1_0;
  l.vkEnumerateInstanceVersion(&version);
  if (version < VK_API_VERSION_1_1)
    return {Code::unsupported, "the Vulkan loader is older than 1.1"};
  const auto layer = validate ? version_of_layer(l, validation_layer) : std::nullopt;
  if (validate && !layer)
    return {Code::not_found, cat("no ", validation_layer,
                                 ": install vulkan-validationlayers, or open without 'validate'")};
  const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .pEngineName = "quern",
                                      .apiVersion = VK_API_VERSION_1_1};
  const std::array features = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,
                               VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT};
  const VkValidationFeaturesEXT checks{
      .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
      .enabledValidationFeatureCount = validation == Validation::shaders ? 2u : 1u,
      .pEnabledValidationFeatures = features.data()};
  const std::array extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                 VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                            .pApplicationInfo = &application};
  if (validate) {
    info.pNext = &checks;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &validation_layer;
    info.enabledExtensionCount = extensions.size();
    info.ppEnabledExtensionNames = extensions.data();
  }
  const VkResult made = l.vkCreateInstance(&info, nullptr, &instance_);
  if (made == VK_ERROR_INCOMPATIBLE_DRIVER)
    return {
        Code::not_found,
        "no Vulkan: the loader finds no driver (VK_ERROR_INCOMPATIBLE_DRIVER); install the one of "
        "the GPU, or mesa-vulkan-drivers, which has one in software"};
  QUERN_VK(made, "making a Vulkan instance");
  follow_driver();
  if (!api_.load(l, instance_))
    return {Code::unsupported, "the Vulkan loader lacks functions of Vulkan 1.1"};
  if (layer && *layer < first_with_matrices)
    api_.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR = nullptr;
  if (!validate || !api_.vkCreateDebugUtilsMessengerEXT) return {};
  const VkDebugUtilsMessengerCreateInfoEXT messages{
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
      .pfnUserCallback = on_message,
      .pUserData = this};
  QUERN_VK(api_.vkCreateDebugUtilsMessengerEXT(instance_, &messages, nullptr, &messenger_),
           "listening to the validation layer");
  return {};
}

bool ApiInstance::is_usable() const {
  return process_ == platform::process_id() && !is_process_ending();
}

ApiInstance::~ApiInstance() {
  if (!is_usable()) return;
  if (messenger_) api_.vkDestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
  if (instance_ && api_.vkDestroyInstance) api_.vkDestroyInstance(instance_, nullptr);
}

std::vector<VkPhysicalDevice> ApiInstance::devices() const {
  std::uint32_t count = 0;
  api_.vkEnumeratePhysicalDevices(instance_, &count, nullptr);
  std::vector<VkPhysicalDevice> all(count);
  if (count) api_.vkEnumeratePhysicalDevices(instance_, &count, all.data());
  std::vector<Capabilities> capabilities;
  capabilities.reserve(all.size());
  for (VkPhysicalDevice d : all) capabilities.push_back(read_capabilities(api_, d));
  const auto usable = usable_devices(capabilities);
  std::vector<VkPhysicalDevice> devices;
  devices.reserve(usable.size());
  for (const std::size_t i : usable) devices.push_back(all[i]);
  return devices;
}

void ApiInstance::add_message(const std::string& text) {
  const std::scoped_lock lock(mutex_);
  if (messages_.size() < 4096) messages_ += text + '\n';
}

std::string ApiInstance::take_messages() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(messages_, {});
}

// ---- buffers -----------------------------------------------------------------------------------

namespace {

bool is_out_of_memory(VkResult result) {
  return result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY;
}

constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr VkMemoryPropertyFlags coherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

}  // namespace

Result<std::shared_ptr<Buffer>> Buffer::create(std::shared_ptr<Core> core, std::uint64_t bytes,
                                               Use use) {
  const DeviceApi& vk = core->api();
  const VkDevice device = core->device();
  std::shared_ptr<Buffer> b(new Buffer);
  b->core_ = std::move(core);
  b->bytes_ = std::max<std::uint64_t>(round_up(bytes, 256), 256);
  const VkBufferCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .size = b->bytes_,
                                .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                         VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                         VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  if (b->bytes_ > b->core_->capabilities().max_allocation) return b->no_memory();
  QUERN_VK(vk.vkCreateBuffer(device, &info, nullptr, &b->buffer_), "making a buffer");
  QUERN_TRY(b->allocate(use));
  QUERN_VK(vk.vkBindBufferMemory(device, b->buffer_, b->memory_, 0), "binding device memory");
  if (use != Use::device || (b->is_visible_ && b->coherent_)) {
    void* p = nullptr;
    QUERN_VK(vk.vkMapMemory(device, b->memory_, 0, VK_WHOLE_SIZE, 0, &p), "mapping device memory");
    b->mapped_ = static_cast<std::byte*>(p);
  }
  return b;
}

Status Buffer::no_memory() const {
  const Capabilities& c = core_->capabilities();
  return {Code::out_of_memory,
          cat("no ", bytes_, " bytes of device memory on ", c.title, ", which has ",
              c.device_memory, " and gives at most ", c.max_allocation, " at a time")};
}

// The best memory type in the bit mask `allowed`; -1 if there is none.
int Buffer::memory_type(Use use, std::uint32_t allowed) const {
  switch (use) {
    case Use::device:
      return core_->memory_type(allowed, local,
                                core_->capabilities().host_visible ? visible | coherent : 0);
    case Use::upload: return core_->memory_type(allowed, visible, coherent);
    default: return core_->memory_type(allowed, visible, cached | coherent);
  }
}

Status Buffer::allocate(Use use) {
  const DeviceApi& vk = core_->api();
  VkMemoryRequirements wants{};
  vk.vkGetBufferMemoryRequirements(core_->device(), buffer_, &wants);
  std::uint32_t allowed = wants.memoryTypeBits;
  int type = memory_type(use, allowed);
  if (type < 0) return {Code::unsupported, "the device has no memory of the kind we need"};
  const std::uint64_t most = core_->options().memory;
  if (most && core_->counts.held_bytes + wants.size > most) return no_memory();
  VkResult allocated = VK_SUCCESS;
  // Host-visible device memory is often small: if it is full, the next best memory type is used.
  for (int next = type; next >= 0; next = memory_type(use, allowed)) {
    type = next;
    const VkMemoryAllocateInfo allocate{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                        .allocationSize = wants.size,
                                        .memoryTypeIndex = static_cast<std::uint32_t>(type)};
    allocated = vk.vkAllocateMemory(core_->device(), &allocate, nullptr, &memory_);
    if (!is_out_of_memory(allocated)) break;
    allowed &= ~(1u << type);
  }
  if (is_out_of_memory(allocated)) return no_memory();
  QUERN_VK(allocated, "allocating device memory");
  ++core_->counts.allocations;
  allocated_ = wants.size;
  core_->counts.held_bytes += allocated_;
  const VkMemoryPropertyFlags flags = core_->memory_flags(type);
  is_visible_ = core_->capabilities().host_visible && (flags & visible);
  coherent_ = (flags & coherent) != 0;
  cached_ = (flags & cached) != 0;
  return {};
}

Buffer::~Buffer() {
  if (!core_ || is_process_ending()) return;
  core_->counts.held_bytes -= allocated_;
  if (buffer_) core_->api().vkDestroyBuffer(core_->device(), buffer_, nullptr);
  if (memory_) core_->api().vkFreeMemory(core_->device(), memory_, nullptr);
}

namespace {
VkMappedMemoryRange whole(VkDeviceMemory memory) {
  return {VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, nullptr, memory, 0, VK_WHOLE_SIZE};
}
}  // namespace

Status Buffer::flush() const {
  if (coherent_) return {};
  const VkMappedMemoryRange range = whole(memory_);
  return check(core_->api().vkFlushMappedMemoryRanges(core_->device(), 1, &range),
               "flushing memory");
}
Status Buffer::invalidate() const {
  if (coherent_) return {};
  const VkMappedMemoryRange range = whole(memory_);
  return check(core_->api().vkInvalidateMappedMemoryRanges(core_->device(), 1, &range),
               "reading memory");
}

// ---- the device --------------------------------------------------------------------------------

Result<std::shared_ptr<Core>> Core::create(std::shared_ptr<ApiInstance> instance,
                                           VkPhysicalDevice physical, Capabilities capabilities,
                                           const CoreOptions& options) {
  std::shared_ptr<Core> core(new Core);
  core->instance_ = std::move(instance);
  core->physical_ = physical;
  core->capabilities_ = std::move(capabilities);
  core->options_ = options;
  QUERN_TRY(core->create_device());
  follow_driver();
  save_at_end(core.get());
  return core;
}

Status Core::create_device() {
  const Capabilities& c = capabilities_;
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueFamilyIndex = c.queue_family,
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority};
  const DeviceFeatures features(c);
  const VkDeviceCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
      .pNext = features.chain(),
      .queueCreateInfoCount = 1,
      .pQueueCreateInfos = &queue,
      .enabledExtensionCount = static_cast<std::uint32_t>(features.extensions().size()),
      .ppEnabledExtensionNames = features.extensions().data()};
  const InstanceApi& api = instance_->api();
  QUERN_VK(api.vkCreateDevice(physical_, &info, nullptr, &device_), "opening the device");
  if (!api_.load(api, device_))
    return {Code::unsupported, "the driver lacks functions of Vulkan 1.1"};
  return open_queue();
}

Status Core::open_queue() {
  const InstanceApi& api = instance_->api();
  const Capabilities& c = capabilities_;
  api_.vkGetDeviceQueue(device_, c.queue_family, 0, &queue_);
  VkPhysicalDeviceMemoryProperties2 memory{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  api.vkGetPhysicalDeviceMemoryProperties2(physical_, &memory);
  memory_ = memory.memoryProperties;
  QUERN_TRY(create_timeline());
  tuning_.load(c);
  stored_cache_ = read_pipeline_cache(c);
  const VkPipelineCacheCreateInfo cache{.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                        .initialDataSize = stored_cache_.size(),
                                        .pInitialData = stored_cache_.data()};
  QUERN_VK(api_.vkCreatePipelineCache(device_, &cache, nullptr, &cache_),
           "making a pipeline cache");
  pipelines_.emplace(api_, device_, cache_, c, options_.shaders);
  return {};
}

Status Core::create_timeline() {
  if (!capabilities_.timeline) return {};
  const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                       .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                   .pNext = &type};
  return check(api_.vkCreateSemaphore(device_, &info, nullptr, &timeline_), "making a semaphore");
}

void Core::save_pipeline_cache() const {
  if (!cache_ || counts.pipelines == 0 || lost()) return;
  std::size_t size = 0;
  if (api_.vkGetPipelineCacheData(device_, cache_, &size, nullptr) != VK_SUCCESS) return;
  std::vector<std::byte> data(size);
  const VkResult got = api_.vkGetPipelineCacheData(device_, cache_, &size, data.data());
  data.resize(size);
  if (got == VK_SUCCESS && data != stored_cache_)
    write_pipeline_cache(capabilities_, {data.data(), size});
}

void Core::save_files() const {
  if (!instance_->is_usable()) return;
  try {
    save_pipeline_cache();
    tuning_.save(capabilities_);
  } catch (const std::bad_alloc&) {
    // The next process does the work again.
  }
}

Core::~Core() {
  forget_at_end(this);
  if (!device_ || !instance_->is_usable()) return;
  if (api_.vkDeviceWaitIdle) api_.vkDeviceWaitIdle(device_);
  save_files();
  if (pipelines_) pipelines_->destroy();
  if (timeline_) api_.vkDestroySemaphore(device_, timeline_, nullptr);
  if (cache_) api_.vkDestroyPipelineCache(device_, cache_, nullptr);
  if (api_.vkDestroyDevice) api_.vkDestroyDevice(device_, nullptr);
}

int Core::memory_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted,
                      VkMemoryPropertyFlags liked) const {
  int best = -1;
  int best_score = -1;
  for (std::uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory_.memoryTypes[i].propertyFlags;
    if (!(allowed >> i & 1) || (flags & wanted) != wanted) continue;
    const int score = __builtin_popcount(flags & liked);
    if (score <= best_score) continue;
    best = static_cast<int>(i);
    best_score = score;
  }
  return best;
}

Result<PipelineRef> Core::pipeline(const Dispatch& work, Base base) {
  if (lost()) return lost_error();
  auto p = pipelines_->get({&work, base});
  count_pipelines();
  return p;
}

Result<std::vector<PipelineRef>> Core::make_pipelines(std::span<const PipelineOf> wanted,
                                                      const Stop* stop) {
  if (lost()) return lost_error();
  auto made = pipelines_->make(wanted, stop);
  count_pipelines();
  return made;
}

void Core::trim_pipelines() {
  if (instance_->is_usable()) pipelines_->trim(options_.idle);
}

// The first ones may have made the driver load its compiler.
void Core::count_pipelines() {
  if (counts.pipelines == 0) follow_driver();
  counts.pipelines = pipelines_->made();
}

const Dispatch& Core::candidate_of(const Dispatch& work) const {
  const std::uint32_t candidate = options_.candidate;
  if (candidate == 0) return tuning_.best(work);
  return candidate <= work.candidates.size() ? work.candidates[candidate - 1] : work;
}

Status Core::lost_error() const {
  if (is_process_ending())
    return {Code::device_lost, cat(capabilities_.title, " is closed: the process ends")};
  if (!instance_->is_usable())
    return {Code::device_lost,
            cat(capabilities_.title, " was opened before fork(); open it again in this process")};
  return {Code::device_lost,
          cat(capabilities_.title, " has stopped; open it again, its sessions are gone")};
}

Status Core::outcome(VkResult result) {
  if (result != VK_ERROR_DEVICE_LOST) return check(result, "running on the device");
  lost_ = true;
  return lost_error();
}

Status Core::start(std::span<const VkCommandBuffer> commands, Submission& s) {
  if (options_.lose_after && counts.submissions >= options_.lose_after) lost_ = true;
  if (lost()) return lost_error();
  const std::scoped_lock lock(queue_mutex_);
  s.value = timeline_value_ + 1;
  const VkTimelineSemaphoreSubmitInfo value{
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
      .signalSemaphoreValueCount = 1,
      .pSignalSemaphoreValues = &s.value};
  for (const VkCommandBuffer& c : commands) {
    const bool signals = timeline_ && &c == &commands.back();
    const VkSubmitInfo info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                            .pNext = signals ? &value : nullptr,
                            .commandBufferCount = 1,
                            .pCommandBuffers = &c,
                            .signalSemaphoreCount = signals ? 1u : 0u,
                            .pSignalSemaphores = &timeline_};
    QUERN_TRY(outcome(
        api_.vkQueueSubmit(queue_, 1, &info, &c == &commands.back() ? s.fence : VK_NULL_HANDLE)));
    ++counts.submissions;
  }
  timeline_value_ = s.value;
  s.submitted = Submission::Clock::now();
  s.is_pending = true;
  return {};
}

// It began when what was seen last was done, or when it was submitted.
void Core::note_done(Submission& s) {
  const auto now = Submission::Clock::now();
  const auto began = std::clamp(last_done_.exchange(now), s.submitted, now);
  s.waited = began - s.submitted;
  s.ran = now - began;
}

Status Core::wait(Submission& s, std::uint64_t nanoseconds) {
  if (!s.is_pending || !instance_->is_usable()) return lost() ? lost_error() : Status();
  VkResult result = VK_SUCCESS;
  if (timeline_) {
    const VkSemaphoreWaitInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                   .semaphoreCount = 1,
                                   .pSemaphores = &timeline_,
                                   .pValues = &s.value};
    result = api_.vkWaitSemaphoresKHR(device_, &info, nanoseconds);
  } else {
    result = api_.vkWaitForFences(device_, 1, &s.fence, VK_TRUE, nanoseconds);
  }
  if (result == VK_TIMEOUT) return {Code::busy, "the device is still running"};
  s.is_pending = false;
  note_done(s);
  if (result == VK_SUCCESS && !timeline_) result = api_.vkResetFences(device_, 1, &s.fence);
  return outcome(result);
}

Status Core::check_validation() const {
  const std::string messages = instance_->take_messages();
  if (messages.empty()) return {};
  return {Code::internal, cat("Vulkan validation: ", messages)};
}

}  // namespace quern::vulkan
