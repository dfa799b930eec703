// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/recorder.h"

#include <algorithm>

#include "engine/devices/vulkan/process_end.h"
#include "engine/devices/vulkan/turns.h"
#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/fill.h"

namespace quern::vulkan {
namespace {

constexpr std::uint32_t sets_a_pool = 256;

VkPipelineStageFlags stages_of(std::uint8_t stages) {
  VkPipelineStageFlags flags = 0;
  if (stages & static_cast<std::uint8_t>(Stage::transfer)) flags |= VK_PIPELINE_STAGE_TRANSFER_BIT;
  if (stages & static_cast<std::uint8_t>(Stage::compute))
    flags |= VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  return flags;
}

VkAccessFlags writes_of(std::uint8_t writers) {
  VkAccessFlags flags = 0;
  if (writers & static_cast<std::uint8_t>(Stage::transfer)) flags |= VK_ACCESS_TRANSFER_WRITE_BIT;
  if (writers & static_cast<std::uint8_t>(Stage::compute)) flags |= VK_ACCESS_SHADER_WRITE_BIT;
  return flags;
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::create(std::shared_ptr<Core> core,
                                                   std::uint32_t timed) {
  std::unique_ptr<Recorder> r(new Recorder(std::move(core)));
  QUERN_TRY(r->begin(timed));
  return r;
}

Status Recorder::begin(std::uint32_t timed) {
  const DeviceApi& vk = core_->api();
  const VkDevice device = core_->device();
  const VkCommandPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .queueFamilyIndex = core_->capabilities().queue_family};
  QUERN_VK(vk.vkCreateCommandPool(device, &pool, nullptr, &pool_), "making a command pool");
  if (!core_->capabilities().timeline) {
    const VkFenceCreateInfo fence{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    QUERN_VK(vk.vkCreateFence(device, &fence, nullptr, &submission_.fence), "making a fence");
  }
  QUERN_TRY(begin_commands());
  if (!timed || core_->capabilities().timestamp_ns <= 0) return {};
  most_timestamps_ = 2 * timed;
  const VkQueryPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                   .queryCount = most_timestamps_};
  QUERN_VK(vk.vkCreateQueryPool(device, &info, nullptr, &queries_), "making a query pool");
  vk.vkCmdResetQueryPool(commands(), queries_, 0, most_timestamps_);
  return {};
}

Status Recorder::begin_commands() {
  const DeviceApi& vk = core_->api();
  const VkCommandBufferAllocateInfo allocate{
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = pool_,
      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      .commandBufferCount = 1};
  VkCommandBuffer made = VK_NULL_HANDLE;
  QUERN_VK(vk.vkAllocateCommandBuffers(core_->device(), &allocate, &made),
           "making a command buffer");
  commands_.push_back(made);
  const VkCommandBufferBeginInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  return check(vk.vkBeginCommandBuffer(made, &info), "recording commands");
}

// Ends the command buffer: the commands so far become a submission of their own. Barriers hold
// across submissions, since all commands of a queue are in one order.
Status Recorder::cut() {
  QUERN_VK(core_->api().vkEndCommandBuffer(commands()), "recording commands");
  bound_ = VK_NULL_HANDLE;
  return begin_commands();
}

Recorder::~Recorder() {
  if (is_process_ending()) return;
  const DeviceApi& vk = core_->api();
  const VkDevice device = core_->device();
  if (submission_.is_pending) (void)wait();
  for (VkDescriptorPool p : descriptor_pools_) vk.vkDestroyDescriptorPool(device, p, nullptr);
  if (queries_) vk.vkDestroyQueryPool(device, queries_, nullptr);
  if (submission_.fence) vk.vkDestroyFence(device, submission_.fence, nullptr);
  if (pool_) vk.vkDestroyCommandPool(device, pool_, nullptr);
}

std::uint32_t Recorder::number_of(VkBuffer buffer) {
  const auto found = std::ranges::find(buffers_, buffer);
  if (found != buffers_.end()) return static_cast<std::uint32_t>(found - buffers_.begin());
  buffers_.push_back(buffer);
  return static_cast<std::uint32_t>(buffers_.size() - 1);
}

void Recorder::order(Stage stage, std::span<const Binding> bindings) {
  accesses_.clear();
  for (const Binding& b : bindings)
    accesses_.push_back({number_of(b.range.buffer), b.range.offset, b.range.bytes, b.written});
  if (const auto barrier = hazards_.add(stage, accesses_))
    record(*barrier, VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
           VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
               VK_ACCESS_TRANSFER_WRITE_BIT);
}

void Recorder::record(const Barrier& barrier, VkPipelineStageFlags to, VkAccessFlags access) {
  if (!core_->capabilities().barriers) return;
  const VkMemoryBarrier memory{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = writes_of(barrier.writers),
                               .dstAccessMask = access};
  core_->api().vkCmdPipelineBarrier(commands(), stages_of(barrier.stages), to, 0, 1, &memory, 0,
                                    nullptr, 0, nullptr);
  ++barriers_;
}

void Recorder::acquire() {
  record({static_cast<std::uint8_t>(Stage::transfer) | static_cast<std::uint8_t>(Stage::compute),
          static_cast<std::uint8_t>(Stage::transfer) | static_cast<std::uint8_t>(Stage::compute)},
         VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
         VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
             VK_ACCESS_TRANSFER_WRITE_BIT);
}

void Recorder::copy(const Range& from, const Range& to) {
  if (from.bytes == 0) return;
  const Binding bindings[] = {{from, false}, {to, true}};
  order(Stage::transfer, bindings);
  const VkBufferCopy region{from.offset, to.offset, from.bytes};
  timestamp();
  core_->api().vkCmdCopyBuffer(commands(), from.buffer, to.buffer, 1, &region);
  timestamp();
  ++copies_;
}

void Recorder::clear(const Range& range) {
  const Binding bindings[] = {{range, true}};
  order(Stage::transfer, bindings);
  timestamp();
  core_->api().vkCmdFillBuffer(commands(), range.buffer, range.offset, range.bytes, 0);
  timestamp();
  ++copies_;
}

namespace {

// A part of a dispatch's workgroups.
struct PartOfGrid {
  std::array<std::uint32_t, 3> first{};
  std::array<std::uint32_t, 3> groups;

  // Keeps part `part` of `parts` along an axis.
  void keep(std::size_t axis, std::uint32_t part, std::uint32_t parts) {
    const std::uint64_t length = groups[axis];
    first[axis] = static_cast<std::uint32_t>(length * part / parts);
    groups[axis] = static_cast<std::uint32_t>(length * (part + 1) / parts) - first[axis];
  }
};

}  // namespace

Result<PipelineRef> Recorder::pipeline_of(const Dispatch& work, std::span<const Binding> bindings,
                                          Base base) {
  const Capabilities& c = core_->capabilities();
  for (const Binding& b : bindings)
    if (b.range.bytes > c.max_range)
      return Status(Code::unsupported, cat("a tensor of ", b.range.bytes, " bytes; ", c.title,
                                           " binds at most ", c.max_range));
  QUERN_ASSIGN(PipelineRef pipeline, core_->pipeline(work, base));
  is_fresh_ = is_fresh_ || pipeline->is_fresh;
  pipelines_.insert(pipeline);
  return pipeline;
}

Status Recorder::dispatch(const Dispatch& work, std::span<const Binding> bindings, Base base,
                          std::uint32_t parts) {
  QUERN_ASSIGN(const PipelineRef pipeline, pipeline_of(work, bindings, base));
  // Along y or x, and where that gives too few parts along z, too.
  const std::size_t axis = work.groups[1] > 1 ? 1 : 0;
  const auto most = [&](std::size_t of, std::uint32_t wanted) {
    return std::clamp(wanted, 1u, std::max(work.groups[of], 1u));
  };
  const std::uint32_t along = most(axis, parts);
  const std::uint32_t deep = work.counts_z ? 1 : most(2, ceil_div(parts, along));
  const std::uint32_t split = core_->options().split;
  for (std::uint32_t part = 0; part < along * deep; ++part) {
    if (part || (split && dispatches_ && dispatches_ % split == 0)) QUERN_TRY(cut());
    PartOfGrid grid{.groups = work.groups};
    grid.keep(axis, part % along, along);
    grid.keep(2, part / along, deep);
    QUERN_TRY(dispatch_groups(work, *pipeline, bindings, grid.first, grid.groups));
  }
  return {};
}

Status Recorder::dispatch_one(const Dispatch& work, std::span<const Binding> bindings, Base base) {
  QUERN_ASSIGN(const PipelineRef pipeline, pipeline_of(work, bindings, base));
  return dispatch_groups(work, *pipeline, bindings, {}, {1, 1, 1});
}

Status Recorder::dispatch_groups(const Dispatch& work, const Pipeline& pipeline,
                                 std::span<const Binding> bindings,
                                 const std::array<std::uint32_t, 3>& first,
                                 const std::array<std::uint32_t, 3>& groups) {
  order(Stage::compute, bindings);
  const DeviceApi& vk = core_->api();
  if (bound_ != pipeline.pipeline)
    vk.vkCmdBindPipeline(commands(), VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
  bound_ = pipeline.pipeline;
  QUERN_TRY(bind(pipeline, bindings));
  if (!work.push.empty())
    vk.vkCmdPushConstants(commands(), pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          static_cast<std::uint32_t>(4 * work.push.size()), work.push.data());
  timestamp();
  if (first == std::array<std::uint32_t, 3>{})
    vk.vkCmdDispatch(commands(), groups[0], groups[1], groups[2]);
  else
    vk.vkCmdDispatchBase(commands(), first[0], first[1], first[2], groups[0], groups[1], groups[2]);
  timestamp();
  ++dispatches_;
  return {};
}

Status Recorder::bind(const Pipeline& pipeline, std::span<const Binding> bindings) {
  const DeviceApi& vk = core_->api();
  std::vector<VkDescriptorBufferInfo> buffers;
  for (const Binding& b : bindings)
    buffers.push_back({b.range.buffer, b.range.offset, b.range.bytes});
  std::vector<VkWriteDescriptorSet> writes;
  for (std::uint32_t i = 0; i < buffers.size(); ++i)
    writes.push_back({.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                      .dstBinding = i,
                      .descriptorCount = 1,
                      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                      .pBufferInfo = &buffers[i]});
  const auto count = static_cast<std::uint32_t>(writes.size());
  if (core_->capabilities().push_descriptors) {
    vk.vkCmdPushDescriptorSetKHR(commands(), VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0,
                                 count, writes.data());
    return {};
  }
  if (dispatches_ % sets_a_pool == 0) {
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 8 * sets_a_pool};
    const VkDescriptorPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                          .maxSets = sets_a_pool,
                                          .poolSizeCount = 1,
                                          .pPoolSizes = &size};
    descriptor_pools_.push_back(VK_NULL_HANDLE);
    QUERN_VK(vk.vkCreateDescriptorPool(core_->device(), &info, nullptr, &descriptor_pools_.back()),
             "making a descriptor pool");
  }
  const VkDescriptorSetAllocateInfo allocate{
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .descriptorPool = descriptor_pools_.back(),
      .descriptorSetCount = 1,
      .pSetLayouts = &pipeline.sets};
  VkDescriptorSet set = VK_NULL_HANDLE;
  QUERN_VK(vk.vkAllocateDescriptorSets(core_->device(), &allocate, &set), "making descriptors");
  for (VkWriteDescriptorSet& w : writes) w.dstSet = set;
  vk.vkUpdateDescriptorSets(core_->device(), count, writes.data(), 0, nullptr);
  vk.vkCmdBindDescriptorSets(commands(), VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1,
                             &set, 0, nullptr);
  return {};
}

// The timestamp is taken after all earlier commands and barriers, so that the time between two
// commands is attributed to neither.
void Recorder::timestamp() {
  if (timestamps_ < most_timestamps_)
    core_->api().vkCmdWriteTimestamp(commands(), VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_,
                                     timestamps_++);
}

Status Recorder::finish() {
  if (const auto barrier = hazards_.finish())
    record(*barrier, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  ++core_->counts.recordings;
  return check(core_->api().vkEndCommandBuffer(commands()), "recording commands");
}

Status Recorder::start() {
  QUERN_TRY(core_->start(commands_, submission_));
  core_->counts.dispatches += dispatches_;
  core_->counts.barriers += barriers_;
  return {};
}

Status Recorder::submit_in_pieces(const Stop& stop) {
  core_->counts.dispatches += dispatches_;
  core_->counts.barriers += barriers_;
  const std::span<const VkCommandBuffer> all = commands_;
  Turns turns;
  YoungRuns::Member age(core_->young_runs());
  std::uint64_t last = core_->last_submitted();
  for (std::size_t at = 0; at < all.size();) {
    const Turns::Clock::duration yielded = age.yield(stop);
    QUERN_TRY(stop.check());
    const auto others =
        core_->last_submitted() != last ? Turns::Others::something : Turns::Others::nothing;
    const std::size_t wanted = turns.next(others, Turns::Clock::now());
    const std::size_t count = std::min(wanted, all.size() - at);
    QUERN_TRY(core_->start(all.subspan(at, count), submission_));
    last = submission_.value;
    QUERN_TRY(core_->wait(submission_));
    turns.end(yielded + submission_.waited, submission_.ran);
    age.spend(submission_.ran);
    at += count;
  }
  return {};
}

Status Recorder::wait(std::uint64_t nanoseconds) {
  return core_->wait(submission_, nanoseconds);
}

Result<std::vector<Recorder::Interval>> Recorder::intervals() const {
  std::vector<std::uint64_t> ticks(timestamps_);
  std::vector<Interval> intervals;
  if (ticks.empty()) return intervals;
  QUERN_VK(core_->api().vkGetQueryPoolResults(core_->device(), queries_, 0, timestamps_,
                                              8 * ticks.size(), ticks.data(), 8,
                                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
           "reading timestamps");
  const auto ns = [&](std::uint64_t tick) {
    const Capabilities& c = core_->capabilities();
    return static_cast<double>((tick - ticks[0]) & c.timestamp_mask) * c.timestamp_ns;
  };
  for (std::size_t i = 0; i + 1 < ticks.size(); i += 2)
    intervals.push_back({ns(ticks[i]), ns(ticks[i + 1])});
  return intervals;
}

}  // namespace quern::vulkan
