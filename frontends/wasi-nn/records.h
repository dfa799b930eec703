// SPDX-License-Identifier: Apache-2.0
// What both guest ABIs read from memory in the same way. Errors: invalid_argument, if nothing else
// is said.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontends/wasi-nn/guest_memory.h"
#include "frontends/wasi-nn/instance.h"

namespace quern::wasi_nn {

Error out_of_bounds(std::string_view what);

// Hosts disagree about autodetect: 5 in witx, 6 in WIT and WAMR; what is below and not onnx is of
// other engines. Errors: invalid_encoding for a number that is none.
Error read_encoding(std::uint32_t number, std::uint32_t first_autodetect, Encoding* encoding);
// Errors: unsupported_operation for a tpu.
Error read_target(std::uint32_t number, Target* target);
// `rank` u32 numbers.
Error read_shape(const GuestMemory& memory, std::uint32_t at, std::uint32_t rank, Shape* shape);
// A model as a list of {ptr @0, len @4}.
Error read_parts(const GuestMemory& memory, std::uint32_t at, std::uint32_t count,
                 std::vector<Bytes>* parts);
// The name of a model. Errors: not_found when none is as long.
Error read_name(const GuestMemory& memory, std::uint32_t at, std::uint32_t size, std::string* name);

}  // namespace quern::wasi_nn
