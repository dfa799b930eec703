// SPDX-License-Identifier: Apache-2.0
// Readers of guest memory that both guest ABIs share. Errors: invalid_argument, unless documented
// otherwise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontends/wasi-nn/guest_memory.h"
#include "frontends/wasi-nn/instance.h"

namespace quern::wasi_nn {

Error out_of_bounds(std::string_view what);

// Hosts disagree about autodetect: 5 in witx, 6 in WIT and WAMR; lower numbers other than onnx
// belong to other engines. Errors: invalid_encoding for an unknown number.
Error read_encoding(std::uint32_t number, std::uint32_t first_autodetect, Encoding* encoding);
// Errors: unsupported_operation for a tpu.
Error read_target(std::uint32_t number, Target* target);
// Reads `rank` u32 numbers.
Error read_shape(const GuestMemory& memory, std::uint32_t at, std::uint32_t rank, Shape* shape);
// Reads a model as a list of {ptr @0, len @4}.
Error read_parts(const GuestMemory& memory, std::uint32_t at, std::uint32_t count,
                 std::vector<Bytes>* parts);
// Reads the name of a model. Errors: not_found if it is longer than any model's name.
Error read_name(const GuestMemory& memory, std::uint32_t at, std::uint32_t size, std::string* name);

}  // namespace quern::wasi_nn
