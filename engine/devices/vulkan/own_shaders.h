// SPDX-License-Identifier: Apache-2.0
// Shaders from files in place of those of the build.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

namespace quern::vulkan {

// By the name of the shader that they stand for.
using OwnShaders = std::map<std::string, std::vector<std::uint32_t>, std::less<>>;

// "NAME=FILE.spv" for `shaders`. Errors: invalid_argument, where there is no shader of this name,
// or the module declares what the dispatches of that shader do not fit: another version, other
// bindings, push constants or specialisation constants, or what the device was not asked for.
// not_found.
Status add_own_shader(std::string_view option, OwnShaders& shaders);

// Whether a module fits the dispatches of a shader of the build. Errors: invalid_argument.
Status check_own_shader(std::span<const std::uint32_t> own, std::span<const std::uint32_t> built);

}  // namespace quern::vulkan
