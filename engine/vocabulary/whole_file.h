// SPDX-License-Identifier: Apache-2.0
// Files that appear when they are whole, or not at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <quern/status.h>

namespace quern {

// What SIGINT, SIGTERM and SIGHUP do meanwhile, where they would end the process: what the host has
// decided, so that the new file may stay beside the old one, or remove it first (one thread at a
// time).
enum class OnSignal : std::uint8_t { leaves, removes };

// Writes the pieces one after the other beside `path` and renames, so that no error leaves half a
// file or takes an old one away. Written where they stand: what is no regular file (a terminal, a
// pipe), and an old file in a folder that takes no new one. Errors: invalid_argument, with the
// system's reason.
Status write_whole_file(const std::string& path, std::span<const std::string_view> pieces,
                        OnSignal on_signal);

}  // namespace quern
