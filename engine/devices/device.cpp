// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/null/device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <quern/device.h>
#ifdef QUERN_VULKAN
#include "engine/devices/vulkan/device.h"
#endif
#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/text_util.h"
#include "kernels/contract/arm.h"
#include "kernels/contract/machine.h"
#include "kernels/contract/openmp.h"

namespace quern {
namespace {

// What the CPU says of itself, for systems that have no list of CPUs.
std::string brand_of_cpu() {
#if defined(__x86_64__)
  unsigned words[13] = {};
  for (std::size_t i = 0; i < 3; ++i)
    if (!__get_cpuid(0x80000002U + static_cast<unsigned>(i), &words[4 * i], &words[4 * i + 1],
                     &words[4 * i + 2], &words[4 * i + 3]))
      return "CPU";
  return reinterpret_cast<const char*>(words);
#else
  return "CPU";
#endif
}

std::string cpu_model() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> list(std::fopen("/proc/cpuinfo", "r"),
                                                             std::fclose);
  for (char line[256]; list && std::fgets(line, sizeof line, list.get());) {
    const std::string_view text(line, std::strcspn(line, "\n"));
    const std::size_t colon = text.find(": ");
    if (text.starts_with("model name") && colon != text.npos)
      return std::string(text.substr(colon + 2));
  }
  return brand_of_cpu();
}

// The library that the fastest kernels are in, or why they are our own.
std::string onednn_text(const KernelMachine& machine) {
  if (machine.onednn_file.empty()) return cat("none: ", machine.onednn_absence);
  const std::size_t version = std::min(machine.onednn.find(','), machine.onednn.size());
  return cat(machine.onednn.substr(0, version), ", ", machine.onednn_file);
}

std::string instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "AVX-512";
  if (__builtin_cpu_supports("avx2")) return "AVX2";
  return "SSE2";
#else
  const ArmFeatures arm = arm_features();
  if (!arm.neon) return "baseline";
  return cat("NEON", arm.dotprod ? ", dotprod" : "", arm.i8mm ? ", i8mm" : "");
#endif
}

DeviceInfo cpu_info(std::string_view name) {
  DeviceInfo info;
  info.kind = DeviceInfo::Kind::cpu;
  info.name = name;
  info.title = cat(cpu_model(), ", ", instruction_set());
  info.properties = {{"threads", cat(default_threads())},
                     {"instructions", instruction_set()},
                     {"openmp", open_openmp() ? "libgomp" : "none"}};
  return info;
}

DeviceInfo with_onednn(DeviceInfo info) {
  info.properties.emplace_back("onednn", onednn_text(kernel_machine()));
  return info;
}

}  // namespace

Result<DeviceRoof> Device::measure_roof() const {
  return Status(Code::unsupported, cat("the roof of device '", info_.name,
                                       "' is that of the machine, not of a device"));
}

DeviceInfo described(const Device& device) {
  const DeviceInfo& info = device.info();
  return info.kind == DeviceInfo::Kind::cpu && info.name == "cpu" ? with_onednn(info) : info;
}

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> devices = {with_onednn(cpu_info("cpu"))};
#ifdef QUERN_VULKAN
  for (DeviceInfo& gpu : vulkan::list()) devices.push_back(std::move(gpu));
#endif
  return devices;
}

Result<std::shared_ptr<Device>> open_device(std::string_view name) {
  return guarded([&]() -> Result<std::shared_ptr<Device>> {
    if (name == "cpu" || name == "reference") return std::make_shared<Device>(cpu_info(name));
#ifndef QUERN_ONLY  // which is without kernels for GPUs
    if (name == "null" || name.starts_with("null,")) return null::open(name);
#endif
#ifdef QUERN_VULKAN
    if (name.starts_with("vulkan")) return vulkan::open(name);
#endif
    const std::vector<DeviceInfo> devices = list_devices();
    if (const auto choice = choose_device(devices, name)) return open_device(choice->name);
    std::string names = "automatic, high-performance, low-power, reference, null";
    for (const DeviceInfo& d : devices) names += cat(", ", d.name);
    return Status(Code::not_found, cat("no device '", printable(name), "'; there is: ", names));
  });
}

}  // namespace quern
