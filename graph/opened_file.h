// SPDX-License-Identifier: Apache-2.0
// Files as bytes in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <quern/status.h>

#include "engine/vocabulary/platform/files.h"

namespace quern {

// Selects how the bytes of a file come into memory: mapped, so that the file must not change as
// long as they are in use (where it shrinks, the system ends the process), or read.
enum class FileBytes : std::uint8_t { mapped, read };

// A regular file; `owner` keeps its bytes, whose address is a multiple of 64.
struct OpenedFile {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;

  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

// Errors: not_found, invalid_argument, out_of_memory.
Result<OpenedFile> open_file(const std::string& path, FileBytes how = FileBytes::mapped);

// The error of a call of the system; not_found where there is no such file.
Status system_error(std::string_view subject, int error);
// open_file() of what is open. Messages name `subject`.
Result<OpenedFile> open_descriptor(const platform::File& file, FileBytes how,
                                   std::string_view subject);

}  // namespace quern
