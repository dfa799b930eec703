// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quern/tuning.h>

#include "kernels/contract/measured.h"

namespace quern {

// The entries of a tuning as the choice of kernels asks for them; as long as the tuning.
const MeasuredEntries& entries_of(const Tuning& tuning);

}  // namespace quern
