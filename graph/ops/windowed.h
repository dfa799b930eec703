// SPDX-License-Identifier: Apache-2.0
// Which operators slide a window over an image, for those who ask nothing else of them.
#pragma once

namespace quern {

class Op;

// True for Conv, ConvTranspose and Pool.
bool is_conv_or_pool(const Op& op);

}  // namespace quern
