// SPDX-License-Identifier: Apache-2.0
// Compiled pipelines on disk: $XDG_CACHE_HOME/quern or ~/.cache/quern, one file a device and
// driver. Whatever is wrong with a file, it is as if it were not there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "engine/devices/vulkan/capabilities.h"

namespace quern::vulkan {

// The file of quern's cache that holds `what` of this device and driver. Empty: there is no place.
std::filesystem::path cache_path(const Capabilities& device, std::string_view what,
                                 std::string_view extension);
// Replaces the file as a whole, or leaves it; nothing when the path is empty.
void write_cache_file(const std::filesystem::path& path, std::span<const std::byte> data);

// Checked against length, device, driver and a checksum before a driver sees it.
std::vector<std::byte> read_pipeline_cache(const Capabilities& device);
void write_pipeline_cache(const Capabilities& device, std::span<const std::byte> data);

}  // namespace quern::vulkan
