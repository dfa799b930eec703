// SPDX-License-Identifier: Apache-2.0
// The steps that every example takes: open a model, run it on one tensor, look at an output.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <quern/session.h>
#include <quern/status.h>
#include <quern/tensor.h>

namespace examples {

// Loads and compiles for the CPU.
quern::Result<std::unique_ptr<quern::Session>> open_model(const std::string& path);

// Binds `input` as the model's only input and runs. The outputs stay valid until the next run.
quern::Status run(quern::Session& session, const quern::Tensor& input);

// An f32 output by name. Errors: not_found, invalid_argument (another type).
quern::Result<quern::TensorView> output(const quern::Session& session, std::string_view name);

// Writes the error, if there is one; the value is what main() returns.
int finish(const quern::Status& status);

}  // namespace examples
