// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/tensor_memory.h"

#include <cstring>

#include "engine/vocabulary/text_util.h"

namespace quern::vulkan {

Result<std::unique_ptr<TensorMemory>> BufferTensorMemory::create(std::shared_ptr<Core> core,
                                                                 std::uint64_t bytes) {
  if (core->lost()) return core->lost_error();
  std::unique_ptr<BufferTensorMemory> m(new BufferTensorMemory(std::move(core), bytes));
  QUERN_ASSIGN(m->buffer_, Buffer::create(m->core_, bytes, Buffer::Use::device));
  if (!m->host_.reserve(bytes))
    return Status(Code::out_of_memory, cat("no ", bytes, " bytes for the host's copy of a tensor"));
  return std::unique_ptr<TensorMemory>(std::move(m));
}

Result<std::unique_ptr<Recorder>> BufferTensorMemory::record_copy(const Buffer& from,
                                                                  const Buffer& to) const {
  QUERN_ASSIGN(auto recorder, Recorder::create(core_));
  recorder->acquire();
  recorder->copy({from.handle(), 0, bytes_}, {to.handle(), 0, bytes_});
  QUERN_TRY(recorder->finish());
  return recorder;
}

Status BufferTensorMemory::copy_to_device() {
  if (!bytes_) return {};
  core_->counts.bytes_up += bytes_;
  if (std::byte* mapped = buffer_->mapped()) {
    std::memcpy(mapped, host_.data(), bytes_);
    return {};
  }
  if (!up_commands_) {
    QUERN_ASSIGN(up_, Buffer::create(core_, bytes_, Buffer::Use::upload));
    QUERN_ASSIGN(up_commands_, record_copy(*up_, *buffer_));
  }
  std::memcpy(up_->mapped(), host_.data(), bytes_);
  QUERN_TRY(up_->flush());
  QUERN_TRY(up_commands_->submit());
  return core_->check_validation();
}

Status BufferTensorMemory::copy_to_host() {
  if (!bytes_) return {};
  if (!down_commands_) {
    QUERN_ASSIGN(down_, Buffer::create(core_, bytes_, Buffer::Use::download));
    QUERN_ASSIGN(down_commands_, record_copy(*buffer_, *down_));
  }
  QUERN_TRY(down_commands_->submit());
  QUERN_TRY(down_->invalidate());
  std::memcpy(host_.data(), down_->mapped(), bytes_);
  core_->counts.bytes_down += bytes_;
  return core_->check_validation();
}

}  // namespace quern::vulkan
