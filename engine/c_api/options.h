// SPDX-License-Identifier: Apache-2.0
// Structures of options as those of the C++ API.
#pragma once

#include <memory>

#include <quern/c/quern.h>
#include <quern/decoder.h>
#include <quern/device.h>
#include <quern/executable.h>
#include <quern/onnx.h>
#include <quern/status.h>

namespace quern::c_api {

OnnxOptions onnx_options(const quern_load_options& o);
// The device that is opened, or named; null, which is the CPU, where it is neither. Errors:
// not_found.
Result<std::shared_ptr<Device>> device_of(const quern_compile_options& o);
// Errors: invalid_argument.
Result<CompileOptions> compile_options(const quern_compile_options& o);

DecoderOptions decoder_options(const quern_decoder_options& o);

}  // namespace quern::c_api
