// SPDX-License-Identifier: Apache-2.0
// Versions, names, errors and devices.
#include <array>

#include <quern/device.h>
#include <quern/dtype.h>

#include "engine/c_api/handles.h"

namespace quern::c_api {
namespace {

thread_local std::array<char, 2048> last_error{};

static_assert(QUERN_INVALID_ARGUMENT == static_cast<int>(Code::invalid_argument));
static_assert(QUERN_INTERNAL == static_cast<int>(Code::internal));
static_assert(QUERN_TIMED_OUT == static_cast<int>(Code::timed_out));
static_assert(QUERN_BOOL == static_cast<int>(DType::boolean));
static_assert(QUERN_U2 + 1 == static_cast<int>(dtype_count));
static_assert(QUERN_OPTIONAL_SEQUENCE == static_cast<int>(ValueSpec::Kind::optional_sequence));
static_assert(QUERN_MAX_RANK == static_cast<int>(Shape::max_rank));
static_assert(sizeof(quern_string) == sizeof(StringRef));

bool is_dtype(quern_dtype dtype) {
  return dtype >= 0 && dtype < static_cast<int>(dtype_count);
}

}  // namespace

quern_status report(quern_status code, std::string_view message) noexcept {
  if (code == QUERN_OK) return code;
  const std::size_t n = std::min(message.size(), last_error.size() - 1);
  std::memcpy(last_error.data(), message.data(), n);
  last_error[n] = '\0';
  return code;
}

quern_status report(const Status& status) noexcept {
  return report(static_cast<quern_status>(status.code()), status.message());
}

}  // namespace quern::c_api

using namespace quern;
using namespace quern::c_api;

struct quern_devices {
  std::vector<DeviceInfo> list;
};

uint32_t quern_api_version(void) {
  return QUERN_API_VERSION;
}
const char* quern_version(void) {
  return QUERN_VERSION;
}

const char* quern_status_name(quern_status status) {
  if (status < QUERN_OK || status > QUERN_TIMED_OUT) return "unknown";
  return code_name(static_cast<Code>(status)).data();  // a literal: ends with a zero
}

const char* quern_last_error(void) {
  return last_error.data();
}

const char* quern_dtype_name(quern_dtype dtype) {
  return is_dtype(dtype) ? name_of(static_cast<DType>(dtype)).data() : "unknown";
}
size_t quern_dtype_size(quern_dtype dtype) {
  return is_dtype(dtype) ? size_of(static_cast<DType>(dtype)) : 0;
}

// ---- devices -----------------------------------------------------------------------------------

namespace {

Status write_info(const DeviceInfo& d, quern_device_info* info) {
  return write_struct(
      info, {0, d.name.c_str(), d.title.c_str(), d.kind == DeviceInfo::Kind::gpu ? 1 : 0});
}

const std::vector<std::pair<std::string, std::string>>& properties_of(const quern_device& device) {
  std::call_once(device.asked, [&] { device.properties = described(*device.device).properties; });
  return device.properties;
}

}  // namespace

quern_status quern_device_open(const char* name, quern_device** device) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(device);
    QUERN_ASSIGN(auto opened, open_device(name ? name : "cpu"));
    *device = new quern_device{std::move(opened)};
    return {};
  });
}

void quern_device_destroy(quern_device* device) {
  delete device;
}

quern_status quern_device_get_info(const quern_device* device, quern_device_info* info) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(device);
    QUERN_NOT_NULL(info);
    return write_info(device->device->info(), info);
  });
}

size_t quern_device_property_count(const quern_device* device) {
  std::size_t count = 0;
  static_cast<void>(guarded([&]() -> Status {
    if (device) count = properties_of(*device).size();
    return {};
  }));
  return count;
}

quern_status quern_device_property(const quern_device* device, size_t index, const char** key,
                                   const char** value) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(device);
    const auto& properties = properties_of(*device);
    if (index >= properties.size())
      return {Code::invalid_argument, "property " + std::to_string(index) + ": the device has " +
                                          std::to_string(properties.size())};
    if (key) *key = properties[index].first.c_str();
    if (value) *value = properties[index].second.c_str();
    return {};
  });
}

int32_t quern_device_is_lost(const quern_device* device) {
  return device && device->device->is_lost() ? 1 : 0;
}

quern_status quern_device_get_counters(const quern_device* device,
                                       quern_device_counters* counters) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(device);
    QUERN_NOT_NULL(counters);
    const DeviceCounters c = device->device->counters();
    return write_struct(counters, {0, c.submissions, c.dispatches, c.barriers, c.pipelines,
                                   c.allocations, c.bytes_up, c.bytes_down});
  });
}

quern_status quern_devices_list(quern_devices** devices) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(devices);
    *devices = new quern_devices{list_devices()};
    return {};
  });
}

void quern_devices_destroy(quern_devices* devices) {
  delete devices;
}
size_t quern_devices_count(const quern_devices* devices) {
  return devices ? devices->list.size() : 0;
}

quern_status quern_devices_info(const quern_devices* devices, size_t index,
                                quern_device_info* info) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(devices);
    QUERN_NOT_NULL(info);
    if (index >= devices->list.size())
      return {Code::invalid_argument, "device " + std::to_string(index) + ": there are " +
                                          std::to_string(devices->list.size())};
    return write_info(devices->list[index], info);
  });
}
