// SPDX-License-Identifier: Apache-2.0
// numpy's .npy files: one array each.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <quern/status.h>
#include <quern/tensor.h>

namespace quern::tools {

// Versions 1 to 3, little endian, either order of elements. bfloat16, which numpy has no name for,
// is read from 2-byte voids. Errors: invalid_argument, unsupported, not_found.
Result<Tensor> parse_npy(std::span<const std::byte> bytes);
Result<Tensor> read_npy(const std::string& path);

// Version 1. Errors: unsupported for strings; floats of 8 and 4 bits and bfloat16 become voids of
// their size.
Result<std::string> npy_bytes(const TensorView& tensor);
Status write_npy(const std::string& path, const TensorView& tensor);

}  // namespace quern::tools
