// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstring>

#include "engine/compile/backend.h"
#include "engine/devices/device_tensor_impl.h"
#include "engine/run/memory_block.h"
#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

class HostTensorMemory final : public TensorMemory {
 public:
  static Result<std::unique_ptr<TensorMemory>> create(std::size_t bytes) {
    auto memory = std::make_unique<HostTensorMemory>();
    if (!memory->block_.reserve(bytes))
      return Status(Code::out_of_memory, cat("no ", bytes, " bytes for a tensor"));
    return std::unique_ptr<TensorMemory>(std::move(memory));
  }
  std::byte* host() override { return block_.data(); }

 private:
  Status copy_to_host() override { return {}; }
  Status copy_to_device() override { return {}; }

  MemoryBlock block_;
};

}  // namespace

Result<std::unique_ptr<TensorMemory>> make_host_tensor_memory(std::size_t bytes) {
  return HostTensorMemory::create(bytes);
}

TensorMemory::TensorMemory() : id_(next_id()) {}

Status TensorMemory::fetch() {
  if (newest_ == Newest::device) {
    QUERN_TRY(copy_to_host());
    newest_ = Newest::both;
  }
  return {};
}

Status TensorMemory::send() {
  if (newest_ == Newest::host) {
    QUERN_TRY(copy_to_device());
    newest_ = Newest::both;
  }
  return {};
}

DeviceTensor::DeviceTensor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceTensor::~DeviceTensor() = default;

const Device& DeviceTensor::device() const {
  return *impl_->device;
}
const TensorType& DeviceTensor::type() const {
  return impl_->type;
}
std::size_t DeviceTensor::capacity() const {
  return impl_->capacity;
}

Result<std::shared_ptr<DeviceTensor>> DeviceTensor::create(std::shared_ptr<Device> device,
                                                           const TensorType& type) {
  return guarded([&]() -> Result<std::shared_ptr<DeviceTensor>> {
    if (!device) {
      QUERN_ASSIGN(device, open_device("cpu"));
    }
    const auto elements = type.shape.checked_elements(size_of(type.dtype));
    if (!elements || type.dtype == DType::string)
      return Status(
          Code::invalid_argument,
          cat("a tensor on a device holds numbers, as many as fit in memory, not ", type.text()));
    auto impl = std::make_unique<Impl>();
    impl->type = type;
    impl->capacity = type.bytes();
    if (auto* with_memory = dynamic_cast<BackendDevice*>(device.get())) {
      QUERN_ASSIGN(impl->memory, with_memory->make_tensor_memory(impl->capacity));
    } else {
      QUERN_ASSIGN(impl->memory, make_host_tensor_memory(impl->capacity));
    }
    impl->device = std::move(device);
    return std::shared_ptr<DeviceTensor>(new DeviceTensor(std::move(impl)));
  });
}

Status DeviceTensor::write(const TensorView& from) {
  return guarded([&]() -> Status {
    const auto elements = from.type.shape.checked_elements(size_of(from.type.dtype));
    if (!elements || from.type.dtype == DType::string || from.type.bytes() > impl_->capacity)
      return {Code::invalid_argument, cat("the tensor has room for ", impl_->capacity,
                                          " bytes, what is written is ", from.type.text())};
    if (!from.data && *elements > 0) return {Code::invalid_argument, "what is written has no data"};
    impl_->memory->join_pending(NextUser::host);
    if (*elements > 0) std::memcpy(impl_->memory->host(), from.data, from.type.bytes());
    impl_->type = from.type;
    impl_->memory->written_on_host();
    return impl_->memory->send();
  });
}

Result<TensorView> DeviceTensor::read() {
  return guarded([&]() -> Result<TensorView> {
    impl_->memory->join_pending(NextUser::host);
    QUERN_TRY(impl_->memory->fetch());
    return TensorView{impl_->type, impl_->memory->host()};
  });
}

}  // namespace quern
