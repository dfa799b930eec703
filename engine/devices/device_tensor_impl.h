// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <quern/device_tensor.h>

namespace quern {

// The next user of memory that a submitted run may still write: a later run on the same device, or
// the host and runs that are not in order with it.
enum class NextUser : std::uint8_t { same_device, host };

// A submitted run that uses device tensors.
class PendingRun {
 public:
  virtual ~PendingRun() = default;
  // Returns when the run is done. Its errors go to the session that submitted it.
  virtual void join() = 0;
  // Returns true if later submissions to the same device see the writes of this run.
  virtual bool is_in_order() const = 0;
};

// The bytes of a device tensor: on the device, on the host, or on both.
class TensorMemory {
 public:
  TensorMemory();
  virtual ~TensorMemory() = default;

  // Unique in the process.
  std::uint64_t id() const { return id_; }
  // The host's copy, of the same size, aligned to 64 bytes. On the CPU it is the only copy.
  virtual std::byte* host() = 0;

  void written_on_host() { newest_ = Newest::host; }
  void written_on_device() { newest_ = Newest::device; }
  bool is_on_device() const { return newest_ != Newest::host; }
  // fetch() brings host() up to date with the last write; send() does so for the device's copy.
  Status fetch();
  Status send();

  // Sets the submitted run that uses this memory, until that run was waited for.
  void set_pending(std::shared_ptr<PendingRun> run) { pending_ = std::move(run); }
  void clear_pending(const PendingRun* run) {
    if (pending_.get() == run) pending_ = nullptr;
  }
  // Waits for the pending run if necessary, before `next` reads or writes this memory.
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

// Makes a tensor that is only on the host. Errors: out_of_memory.
Result<std::unique_ptr<TensorMemory>> make_host_tensor_memory(std::size_t bytes);

struct DeviceTensor::Impl {
  std::shared_ptr<Device> device;
  TensorType type;
  std::size_t capacity = 0;
  std::unique_ptr<TensorMemory> memory;
};

}  // namespace quern
