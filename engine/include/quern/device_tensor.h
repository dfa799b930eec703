// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include <quern/device.h>
#include <quern/status.h>
#include <quern/tensor.h>

namespace quern {

// A tensor in device memory: the output of one run can be the input of another without a copy to
// the host in between. Row-major. One thread at a time may use the tensor and the sessions that it
// is bound to. Submitted runs that share tensors take effect in the order of their submission;
// read() and write() wait for the runs in progress.
class DeviceTensor {
 public:
  // Allocates type.bytes() bytes; the contents are undefined until the first write. `device` must
  // be the same object that the executables were compiled for; null is the CPU. Errors:
  // invalid_argument (text, a size that overflows), out_of_memory, device_lost.
  static Result<std::shared_ptr<DeviceTensor>> create(std::shared_ptr<Device> device,
                                                      const TensorType& type);
  ~DeviceTensor();
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;

  const Device& device() const;
  // The type of the contents: the one given to create(), or that of the last write or run.
  const TensorType& type() const;
  std::size_t capacity() const;  // bytes

  // Copies elements from the host. Errors: invalid_argument if they do not fit or are strings.
  Status write(const TensorView& from);
  // Returns the elements on the host and downloads them if necessary; valid until the next write or
  // run.
  Result<TensorView> read();

  struct Impl;  // engine/devices/device_tensor_impl.h
  Impl& impl() const { return *impl_; }

 private:
  explicit DeviceTensor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
