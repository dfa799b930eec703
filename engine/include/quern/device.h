// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quern/status.h>

namespace quern {

// What a device is, for choosing and for people.
struct DeviceInfo {
  enum class Kind : std::uint8_t { cpu, gpu };
  enum class Build : std::uint8_t { host, discrete, integrated, virtualized, software };

  Kind kind = Kind::cpu;
  Build build = Build::host;
  std::string name;   // "cpu", "vulkan:0": what open_device() takes
  std::string title;  // "AMD EPYC 9654, AVX-512"
  std::vector<std::pair<std::string, std::string>> properties;
};

// What a device has done since it was opened, for tests and for people. All zero on the CPU.
struct DeviceCounters {
  std::uint64_t submissions = 0;
  std::uint64_t dispatches = 0;
  std::uint64_t barriers = 0;
  std::uint64_t pipelines = 0;    // made, not used
  std::uint64_t allocations = 0;  // of device memory
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;

  bool operator==(const DeviceCounters&) const = default;
};

// The most that a device does, as measured on it.
struct DeviceRoof {
  double gflops = 0;       // fused multiply-adds of f32 in registers, two operations each
  double copy_gbytes = 0;  // copies from its memory to its memory: read + written
};

// Where executables run. Shared; outlives what was compiled on it; any thread.
class Device {
 public:
  explicit Device(DeviceInfo info) : info_(std::move(info)) {}
  virtual ~Device() = default;
  const DeviceInfo& info() const { return info_; }
  virtual DeviceCounters counters() const { return {}; }
  // Whether it has stopped for good: what was compiled on it fails with device_lost, a new one can
  // be opened.
  virtual bool is_lost() const { return false; }
  // Measures it now, in a fraction of a second, with device memory of its own while it does.
  // Errors: unsupported on the CPU, out_of_memory, device_lost.
  virtual Result<DeviceRoof> measure_roof() const;

 private:
  DeviceInfo info_;
};

// What a preference comes to.
struct DeviceChoice {
  std::string name;    // of the device, as open_device() takes it
  std::string reason;  // half a sentence
};

// Nothing when `preference` is none of those that open_device() takes.
std::optional<DeviceChoice> choose_device(std::span<const DeviceInfo> devices,
                                          std::string_view preference);
std::vector<std::string_view> device_preferences();

// All devices of this machine, best first in each kind. A missing driver is no error.
std::vector<DeviceInfo> list_devices();
// "cpu", "reference" (the CPU, every operator by its plainest loop), "null" (checks and counts what
// a GPU would be told to do, and answers zeros), or a GPU: "vulkan" (the best),
// "vulkan:N", "vulkan:UUID" or "vulkan:PART OF ITS NAME", and after that options (docs/vulkan.md).
// Or a preference: "automatic" (a discrete GPU, else the CPU), "high-performance" (any GPU that is
// none in software, discrete before integrated) or "low-power" (an integrated GPU, else the CPU).
// Errors: not_found, with what there is.
Result<std::shared_ptr<Device>> open_device(std::string_view name = "cpu");

}  // namespace quern
