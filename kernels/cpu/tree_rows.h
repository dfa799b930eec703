// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// Trees that are constants: several paths at one time, of rows through one tree or of one row
// through trees.
Selection select_tree_rows(const KernelRequest& request);

}  // namespace quern
