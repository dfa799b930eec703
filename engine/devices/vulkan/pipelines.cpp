// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/pipelines.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <set>
#include <thread>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "kernels/contract/openmp.h"

#include "shaders/shaders.h"

namespace quern::vulkan {
namespace {
// To name a pipeline and to find it, in nanoseconds.
constexpr std::int64_t cost_of_key = 1000;
}  // namespace

// A pipeline that is yet to be created, and how that went.
struct Pipelines::Blank {
  PipelineOf wanted;
  VkShaderModule module;
  std::shared_ptr<Pipeline> pipeline;
  std::vector<VkSpecializationMapEntry> entries;  // of the constants
  VkResult result = VK_NOT_READY;
};

Pipelines::Pipelines(const DeviceApi& api, VkDevice device, VkPipelineCache cache,
                     const Capabilities& capabilities, const OwnShaders& own)
    : api_(api),
      device_(device),
      cache_(cache),
      compiles_at_once_(!capabilities.target().software),
      pushes_(capabilities.push_descriptors),
      own_(own) {}

void Pipelines::destroy() {
  for (const auto& [key, p] : pipelines_)
    api_.vkDestroyPipeline(device_, p.pipeline->pipeline, nullptr);
  for (const auto& [name, m] : modules_) api_.vkDestroyShaderModule(device_, m, nullptr);
  for (const auto& [count, l] : layouts_) {
    api_.vkDestroyPipelineLayout(device_, l.pipeline, nullptr);
    api_.vkDestroyDescriptorSetLayout(device_, l.sets, nullptr);
  }
}

Result<PipelineRef> Pipelines::get(const PipelineOf& wanted) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto p = pipelines_.find(key_of(wanted)); p != pipelines_.end())
      return use(p->second);
  }
  QUERN_ASSIGN(const std::vector<PipelineRef> made, make({&wanted, 1}, nullptr));
  return made[0];
}

Result<std::vector<PipelineRef>> Pipelines::make(std::span<const PipelineOf> wanted,
                                                 const Stop* stop) {
  const std::scoped_lock lock(mutex_);
  StopCheck check(stop);
  QUERN_ASSIGN(std::vector<Blank> blanks, missing(wanted, check));
  Status made = create_all(blanks, stop);
  for (Blank& b : blanks)
    if (b.result == VK_SUCCESS) {
      pipelines_.emplace(key_of(b.wanted), Kept{std::move(b.pipeline), 0});
      ++made_;
    }
  if (!made.ok()) return made;
  std::vector<PipelineRef> all;
  for (const PipelineOf& w : wanted) {
    if (check.spend(cost_of_key)) return stop->check();
    all.push_back(use(pipelines_.at(key_of(w))));
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// Only under the lock does anybody take a reference to one that has no other.
void Pipelines::trim(std::uint64_t most_idle_bytes) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::map<Key, Kept>::iterator> idle;
  for (auto p = pipelines_.begin(); p != pipelines_.end(); ++p)
    if (p->second.pipeline.use_count() == 1) idle.push_back(p);
  const std::size_t most = std::min<std::uint64_t>(most_idle_bytes / bytes_each(), idle.size());
  std::ranges::sort(idle, {}, [](const auto& p) { return p->second.used; });
  idle.resize(idle.size() - most);
  for (const auto& p : idle) {
    api_.vkDestroyPipeline(device_, p->second.pipeline->pipeline, nullptr);
    pipelines_.erase(p);
  }
}

void Pipelines::mark_warm() {
  const std::scoped_lock lock(mutex_);
  for (auto& [key, p] : pipelines_) p.pipeline->is_fresh = false;
}

std::uint64_t Pipelines::made() const {
  const std::scoped_lock lock(mutex_);
  return made_;
}

Pipelines::Key Pipelines::key_of(const PipelineOf& wanted) {
  return {std::string(wanted.work->shader), wanted.work->constants, wanted.base};
}

// Each once, with module and layout.
Result<std::vector<Pipelines::Blank>> Pipelines::missing(std::span<const PipelineOf> wanted,
                                                         StopCheck& check) {
  std::set<Key> seen;
  std::vector<Blank> blanks;
  for (const PipelineOf& w : wanted) {
    if (check.spend(cost_of_key)) break;  // create_all() ends at once and says why
    Key key = key_of(w);
    if (pipelines_.contains(key) || !seen.insert(std::move(key)).second) continue;
    QUERN_ASSIGN(const Layout l, layout(static_cast<std::uint32_t>(w.work->buffers.size())));
    QUERN_ASSIGN(const VkShaderModule code, module(w.work->shader));
    Blank blank{w, code, std::make_shared<Pipeline>(), {}};
    blank.pipeline->layout = l.pipeline;
    blank.pipeline->sets = l.sets;
    for (std::uint32_t i = 0; i < w.work->constants.size(); ++i)
      blank.entries.push_back({i, 4 * i, 4});
    blanks.push_back(std::move(blank));
  }
  return blanks;
}

// Takes no lock: drivers synchronise what they do with the cache. Allocates nothing, since an
// exception would end the process.
VkResult Pipelines::create(Blank& blank) const {
  const Dispatch& work = *blank.wanted.work;
  const std::vector<std::uint32_t>& constants = work.constants;
  const VkSpecializationInfo values{.mapEntryCount = static_cast<std::uint32_t>(constants.size()),
                                    .pMapEntries = blank.entries.data(),
                                    .dataSize = 4 * constants.size(),
                                    .pData = constants.data()};
  const VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT subgroups{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT,
      .requiredSubgroupSize = work.subgroup};
  constexpr VkPipelineShaderStageCreateFlags full =
      VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
  const bool any_base = blank.wanted.base == Base::any;
  const VkComputePipelineCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .flags = any_base ? VkPipelineCreateFlags{VK_PIPELINE_CREATE_DISPATCH_BASE_BIT} : 0,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .pNext = work.subgroup ? &subgroups : nullptr,
                .flags = work.subgroup ? full : 0,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = blank.module,
                .pName = "main",
                .pSpecializationInfo = &values},
      .layout = blank.pipeline->layout};
  return api_.vkCreateComputePipelines(device_, cache_, 1, &info, nullptr,
                                       &blank.pipeline->pipeline);
}

Status Pipelines::create_all(std::span<Blank> blanks, const Stop* stop) {
  constexpr std::size_t most_threads = 8;
  std::atomic<std::size_t> next = 0;
  const auto create_some = [&] {
    for (std::size_t i = next++; i < blanks.size(); i = next++) {
      if (stop && stop->is_reached()) return;
      blanks[i].result = create(blanks[i]);
    }
  };
  std::vector<std::jthread> others;
  if (compiles_at_once_) {
    const auto threads =
        std::min({most_threads, static_cast<std::size_t>(default_threads()), blanks.size()});
    try {
      for (std::size_t i = 1; i < threads; ++i) others.emplace_back(create_some);
    } catch (const std::exception&) {
      // Those that there are do it, with this one.
    }
  }
  create_some();
  others.clear();
  if (stop) QUERN_TRY(stop->check());
  for (const Blank& b : blanks) QUERN_VK(b.result, "making a pipeline");
  return {};
}

Result<Pipelines::Layout> Pipelines::layout(std::uint32_t buffers) {
  Layout& l = layouts_[buffers];
  if (l.pipeline) return l;
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (std::uint32_t i = 0; i < buffers; ++i)
    bindings.push_back(
        {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  const VkDescriptorSetLayoutCreateInfo sets{
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .flags =
          pushes_
              ? VkDescriptorSetLayoutCreateFlags{VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR}
              : 0,
      .bindingCount = buffers,
      .pBindings = bindings.data()};
  QUERN_VK(api_.vkCreateDescriptorSetLayout(device_, &sets, nullptr, &l.sets),
           "making a descriptor layout");
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, 128};
  const VkPipelineLayoutCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                        .setLayoutCount = 1,
                                        .pSetLayouts = &l.sets,
                                        .pushConstantRangeCount = 1,
                                        .pPushConstantRanges = &push};
  QUERN_VK(api_.vkCreatePipelineLayout(device_, &info, nullptr, &l.pipeline),
           "making a pipeline layout");
  return l;
}

Result<VkShaderModule> Pipelines::module(std::string_view name) {
  if (const auto found = modules_.find(name); found != modules_.end()) return found->second;
  const auto all = shaders();
  const auto shader = std::ranges::find(all, name, &Shader::name);
  if (shader == all.end()) return Status(Code::internal, cat("no shader '", name, "'"));
  const auto own = own_.find(name);
  const std::span<const std::uint32_t> words =
      own == own_.end() ? shader->words() : std::span<const std::uint32_t>(own->second);
  const VkShaderModuleCreateInfo info{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = words.size_bytes(),
                                      .pCode = words.data()};
  VkShaderModule m = VK_NULL_HANDLE;
  QUERN_VK(api_.vkCreateShaderModule(device_, &info, nullptr, &m), "loading a shader");
  modules_.emplace(name, m);
  return m;
}

}  // namespace quern::vulkan
