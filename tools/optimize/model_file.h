// SPDX-License-Identifier: Apache-2.0
// An edited model as one file, or as two where one would be too large.
#pragma once

#include <cstddef>
#include <string>

#include <quern/status.h>

#include "tools/quantize/edited_model.h"

namespace quern::tools {

// No message of protobuf may be larger.
inline constexpr std::size_t most_message_bytes = (std::size_t{1} << 31) - 1;

// About the bytes of the model's initializers.
std::size_t constant_bytes(const EditedModel& model);

struct WrittenFile {
  std::size_t bytes = 0;           // of the file
  std::size_t external_bytes = 0;  // of PATH.data; 0: there is none
};

// Constants of 1 kB and more go into PATH.data if the file would have more than `external_above`
// bytes otherwise. Errors: invalid_argument, with the system's reason; unsupported, a file that is
// too large even so.
Result<WrittenFile> write_model_file(const EditedModel& model, const std::string& path,
                                     std::size_t external_above);

}  // namespace quern::tools
