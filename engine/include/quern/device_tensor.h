// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include <quern/device.h>
#include <quern/status.h>
#include <quern/tensor.h>

namespace quern {

// Bytes of a device that are an output of one run and an input of another without coming to the
// host in between. Row-major. Used by one thread at a time, the sessions that it is bound to
// included. Submitted runs that share tensors take effect in the order of their submission; read()
// and write() wait for those that are under way.
class DeviceTensor {
 public:
  // Room for as many bytes as `type` has; what it holds is undefined until something is written.
  // The device: that of the executables, the same object. Null: the CPU.
  // Errors: invalid_argument (text, a size that overflows), out_of_memory, device_lost.
  static Result<std::shared_ptr<DeviceTensor>> create(std::shared_ptr<Device> device,
                                                      const TensorType& type);
  ~DeviceTensor();
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;

  const Device& device() const;
  // Of what it holds: as it was created, or what was last written.
  const TensorType& type() const;
  std::size_t capacity() const;  // bytes

  // From the host. Errors: invalid_argument when it does not fit.
  Status write(const TensorView& from);
  // The elements on the host, fetched if they are not there; valid until the next write or run.
  Result<TensorView> read();

  struct Impl;  // engine/devices/device_tensor_impl.h
  Impl& impl() const { return *impl_; }

 private:
  explicit DeviceTensor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
