// SPDX-License-Identifier: Apache-2.0
// Every shader of the build, as SPIR-V.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace quern {

struct Shader {
  std::string_view name;
  const std::uint32_t* begin;
  const std::uint32_t* end;

  std::span<const std::uint32_t> words() const { return {begin, end}; }
};
std::span<const Shader> shaders();

}  // namespace quern
