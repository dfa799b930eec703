// SPDX-License-Identifier: Apache-2.0
// Memory that is a mapped file: pages that were read may be dropped; the system reads them again
// when needed.
#pragma once

#include <cstddef>
#include <memory>

#include <quern/tensor.h>

namespace quern {

// Owns the pages at `p`, a private read-only mapping of a file.
std::shared_ptr<const void> own_file_pages(void* p, std::size_t size);

// Returns the same tensor; when its last copy is destroyed, the pages of a mapped file that it
// covers are dropped. Large weights are read once, when they are packed, and would stay resident
// beside their packed form.
Tensor dropping_pages(const Tensor& t);

}  // namespace quern
