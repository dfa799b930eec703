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

// The description of a device: for choosing one and for display.
struct DeviceInfo {
  enum class Kind : std::uint8_t { cpu, gpu };
  enum class Build : std::uint8_t { host, discrete, integrated, virtualized, software };

  Kind kind = Kind::cpu;
  Build build = Build::host;
  std::string name;   // "cpu", "vulkan:0": what open_device() takes
  std::string title;  // "AMD EPYC 9654, AVX-512"
  std::vector<std::pair<std::string, std::string>> properties;
};

// Counts of the work that a device has done since it was opened, and the memory that it holds, for
// tests and for display. All are zero on the CPU.
struct DeviceCounters {
  std::uint64_t submissions = 0;
  std::uint64_t dispatches = 0;
  std::uint64_t barriers = 0;
  std::uint64_t pipelines = 0;    // created, not run
  std::uint64_t allocations = 0;  // of device memory
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  std::uint64_t held_bytes = 0;  // of device memory, now
  std::uint64_t recordings = 0;  // lists of commands, each for any number of submissions

  bool operator==(const DeviceCounters&) const = default;
};

// The peak performance of a device, as measured on it.
struct DeviceRoof {
  double gflops = 0;       // fused multiply-adds of f32 in registers, two operations each
  double copy_gbytes = 0;  // copies within its memory: bytes read + bytes written
};

// A device that executables run on. It is shared, outlives the executables compiled on it, and may
// be used from any thread.
class Device {
 public:
  explicit Device(DeviceInfo info) : info_(std::move(info)) {}
  virtual ~Device() = default;
  const DeviceInfo& info() const { return info_; }
  virtual DeviceCounters counters() const { return {}; }
  // Returns true once the device has stopped for good: executables compiled on it fail with
  // device_lost, and a new device can be opened.
  virtual bool is_lost() const { return false; }
  // Measures the device now. This takes a fraction of a second and allocates device memory for that
  // time. Errors: unsupported on the CPU, out_of_memory, device_lost.
  virtual Result<DeviceRoof> measure_roof() const;

 private:
  DeviceInfo info_;
};

// The device that a preference selects.
struct DeviceChoice {
  std::string name;    // of the device, as open_device() takes it
  std::string reason;  // a sentence fragment for messages
};

// Returns nullopt if `preference` is not one of device_preferences().
std::optional<DeviceChoice> choose_device(std::span<const DeviceInfo> devices,
                                          std::string_view preference);
std::vector<std::string_view> device_preferences();

// info() of a device with what a library is opened for: of a CPU the property "onednn", its version
// and file, or "none" and why. (Opening the device does not open oneDNN, which takes some 6 MB.)
DeviceInfo described(const Device& device);

// All devices of this machine, described, best first in each kind. A missing driver is not an
// error.
std::vector<DeviceInfo> list_devices();
// "cpu", "reference" (the CPU, with the plainest loop for every operator), "null" (checks and
// counts the commands for a GPU, and returns zeros; "null,regions": those for a device that
// compiles regions as a whole), or a GPU: "vulkan" (the best one), "vulkan:N", "vulkan:UUID" or
// "vulkan:PART OF ITS NAME", followed by options (docs/vulkan.md). A preference is also accepted:
// "automatic" (a discrete or virtual GPU, else the CPU), "high-performance" (a hardware GPU,
// discrete before virtual before integrated, else the CPU) or "low-power" (an integrated GPU, else
// the CPU). Errors: not_found; the message lists the available devices.
Result<std::shared_ptr<Device>> open_device(std::string_view name = "cpu");

}  // namespace quern
