// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace quern {

// Begin and end of every axis, negative where elements are cut off; nothing when they are not
// known.
struct Pads {
  Shape begin, end;
};
std::optional<Pads> constant_pads(const KernelRequest& request);
Selection select_pad_copy(const KernelRequest& request);

}  // namespace quern
