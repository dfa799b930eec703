// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace quern {

// The end of errors about what a build has no code for (graph/built.h): "; this build has the
// operators and types of a.onnx (QUERN_OPS_FROM)", or nothing.
std::string_view built_for();

}  // namespace quern
