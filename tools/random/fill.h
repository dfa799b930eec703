// SPDX-License-Identifier: Apache-2.0
// Contents of random tensors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/random/builder.h"

namespace quern::tools {

// Floats as `numbers` says; integers small, or of the whole range where they are wild.
Tensor random_tensor(Rng& rng, DType dtype, const Shape& shape, Numbers numbers);
// Element i is value(i), converted.
Tensor tensor_of(DType dtype, const Shape& shape, const std::function<double(std::int64_t)>& value);

// Strings that the tensor owns.
Tensor string_tensor(const Shape& shape, std::vector<std::string> texts);
// A copy that owns its elements, and the texts of strings.
Result<Tensor> owned_copy(const TensorView& from);

}  // namespace quern::tools
