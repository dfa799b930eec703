// SPDX-License-Identifier: Apache-2.0
// A product of matrices in blocks of its batch or of its rows, so that one call of a library takes
// milliseconds whatever the size, and a deadline is seen between two calls.
#pragma once

#include <optional>

#include "kernels/contract/kernel.h"

namespace quern {

// The first dimension of the result of a MatMul that has more than one index, but for its columns;
// nullopt if there is none, or one operand is a vector.
std::optional<std::size_t> cut_axis(const KernelRequest& request);

// Makes the kernel of `request`, a MatMul, from kernels that `select` makes for at most `count`
// indices of cut_axis(). Operands with as many are cut too. Nothing if `select` answers with other
// layouts of what is cut, or makes no kernel.
Selection in_row_blocks(const KernelRequest& request, std::int64_t count,
                        Selection (*select)(const KernelRequest&));

}  // namespace quern
