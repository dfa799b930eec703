// SPDX-License-Identifier: Apache-2.0
// Compiled pipelines on disk: $XDG_CACHE_HOME/quern or ~/.cache/quern, one file per device and
// driver. A damaged file is treated as missing.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "engine/devices/vulkan/capabilities.h"

namespace quern::vulkan {

// The path of the cache file that holds `what` for this device and driver; empty if there is no
// cache folder.
std::filesystem::path cache_path(const Capabilities& device, std::string_view what,
                                 std::string_view extension);
// Replaces the whole file, or leaves it unchanged; does nothing if the path is empty.
void write_cache_file(const std::filesystem::path& path, std::span<const std::byte> data);

// The data is checked against length, device, driver and a checksum before it is given to a driver.
std::vector<std::byte> read_pipeline_cache(const Capabilities& device);
void write_pipeline_cache(const Capabilities& device, std::span<const std::byte> data);

}  // namespace quern::vulkan
