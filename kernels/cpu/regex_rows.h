// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// RegexFullMatch.
Selection select_regex_rows(const KernelRequest& request);

}  // namespace quern
