// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quern/status.h>

namespace quern {

// What a device is, for choosing and for people.
struct DeviceInfo {
  enum class Kind : std::uint8_t { cpu, gpu };

  Kind kind = Kind::cpu;
  std::string name;   // "cpu", "vulkan:0": what open_device() takes
  std::string title;  // "AMD EPYC 9654, AVX-512"
  std::vector<std::pair<std::string, std::string>> properties;
};

// Where executables run. Shared; outlives what was compiled on it; any thread.
class Device {
 public:
  explicit Device(DeviceInfo info) : info_(std::move(info)) {}
  virtual ~Device() = default;
  const DeviceInfo& info() const { return info_; }

 private:
  DeviceInfo info_;
};

// All devices of this machine, best first in each kind. A missing driver is no error.
std::vector<DeviceInfo> list_devices();
// "cpu" or "reference" (the CPU, every operator by its plainest form). Errors: not_found.
Result<std::shared_ptr<Device>> open_device(std::string_view name = "cpu");

}  // namespace quern
