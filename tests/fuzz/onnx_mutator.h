// SPDX-License-Identifier: Apache-2.0
// Changes ONNX models as a reader of the format would: attributes, dimensions, types, edges, nodes,
// outputs, and numbers to where mistakes live (-1, 0, a length, one more).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::fuzz {

// One change; the same for the same bytes and seed. What is no model comes back with a byte
// changed.
std::string mutate_model(std::string_view bytes, std::uint64_t seed);

}  // namespace quern::fuzz
