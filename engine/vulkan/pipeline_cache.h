// SPDX-License-Identifier: Apache-2.0
// Compiled pipelines on disk: $XDG_CACHE_HOME/quern or ~/.cache/quern, one file a device and
// driver. Whatever is wrong with a file, it is as if it were not there.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/vulkan/capabilities.h"

namespace quern::vulkan {

// Checked against length, device, driver and a checksum before a driver sees it.
std::vector<std::byte> read_pipeline_cache(const Capabilities& device);
// Replaces the file as a whole, or leaves it.
void write_pipeline_cache(const Capabilities& device, std::span<const std::byte> data);

}  // namespace quern::vulkan
