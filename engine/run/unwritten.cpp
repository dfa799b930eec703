// SPDX-License-Identifier: Apache-2.0
#include "engine/run/unwritten.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace quern {

void mark_unwritten(std::span<std::byte> memory) noexcept {
  static const bool is_marked = [] {
    const char* text = std::getenv("QUERN_MEMORY");
    return text && std::string_view(text) == "nan";
  }();
  if (is_marked) std::ranges::fill(memory, std::byte{0xff});
}

}  // namespace quern
