// SPDX-License-Identifier: Apache-2.0
// A product of matrices in blocks of its rows, so that one call of a library takes milliseconds
// whatever the size, and a deadline is seen between two calls.
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// Makes the kernel of `request`, whose first input and output are matrices of the same number of
// rows, from kernels that `select` makes for at most `rows` of them. Operands with as many rows are
// cut too. Nothing if `select` answers with other layouts of the rows, or makes no kernel.
Selection in_row_blocks(const KernelRequest& request, std::int64_t rows,
                        Selection (*select)(const KernelRequest&));

}  // namespace quern
