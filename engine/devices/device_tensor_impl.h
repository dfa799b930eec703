// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <quern/device_tensor.h>

namespace quern {

// Who is about to read or write what a submitted run may still write: a run that the same device
// takes up after it, or the host, and runs that are not in order with it.
enum class NextUser : std::uint8_t { same_device, host };

// A submitted run that tensors are bound to.
class PendingRun {
 public:
  virtual ~PendingRun() = default;
  // Returns when it is done; errors are whoever's who submitted it.
  virtual void join() = 0;
  // What is handed to the same device after it sees what it wrote.
  virtual bool is_in_order() const = 0;
};

// The bytes of a device tensor: on the device, on the host, or on both.
class TensorMemory {
 public:
  TensorMemory();
  virtual ~TensorMemory() = default;

  // No two of a process have the same.
  std::uint64_t id() const { return id_; }
  // The host's copy: as many bytes, aligned to 64. On the CPU there is no other.
  virtual std::byte* host() = 0;

  void written_on_host() { newest_ = Newest::host; }
  void written_on_device() { newest_ = Newest::device; }
  bool is_on_device() const { return newest_ != Newest::host; }
  // Makes host() what was last written, or the device's copy.
  Status fetch();
  Status send();

  // The submitted run that it is bound to, until that was waited for.
  void set_pending(std::shared_ptr<PendingRun> run) { pending_ = std::move(run); }
  void clear_pending(const PendingRun* run) {
    if (pending_.get() == run) pending_ = nullptr;
  }
  // Before `next` reads or writes it.
  void join_pending(NextUser next) {
    if (!pending_ || (next == NextUser::same_device && pending_->is_in_order())) return;
    pending_->join();
    pending_ = nullptr;
  }

 protected:
  virtual Status copy_to_host() = 0;
  virtual Status copy_to_device() = 0;

 private:
  enum class Newest : std::uint8_t { host, device, both };

  const std::uint64_t id_;
  Newest newest_ = Newest::both;
  std::shared_ptr<PendingRun> pending_;
};

// Bytes on the host alone. Errors: out_of_memory.
Result<std::unique_ptr<TensorMemory>> make_host_tensor_memory(std::size_t bytes);

struct DeviceTensor::Impl {
  std::shared_ptr<Device> device;
  TensorType type;
  std::size_t capacity = 0;
  std::unique_ptr<TensorMemory> memory;
};

}  // namespace quern
