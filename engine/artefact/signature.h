// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/artefact/format.h"

namespace quern {
class Device;
}

namespace quern::artefact {

// What packed weights and plans were made for, and hold for: this library, this machine and a
// device of this kind.
Signature signature_of(const Device& device);

}  // namespace quern::artefact
