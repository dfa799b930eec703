// SPDX-License-Identifier: Apache-2.0
#include <quern/artefact.h>
#include <quern/c/quern.h>

#include "engine/c_api/handles.h"
#include "engine/c_api/options.h"

using namespace quern;
using namespace quern::c_api;

quern_status quern_executable_load(const char* path, const quern_load_options* load,
                                   const quern_compile_options* options,
                                   quern_executable** executable) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(path);
    QUERN_NOT_NULL(executable);
    QUERN_ASSIGN(const quern_load_options l, read_struct(load));
    QUERN_ASSIGN(const quern_compile_options o, read_struct(options));
    QUERN_ASSIGN(auto device, device_of(o));
    const OnnxOptions reading = onnx_options(l);
    LoadOptions how{.files = reading.files, .compile = {}, .ops = reading.ops};
    QUERN_ASSIGN(how.compile, compile_options(o));
    if (!how.compile.host) how.compile.host = reading.host;
    QUERN_ASSIGN(auto loaded, load_artefact(path, std::move(device), how));
    *executable = new quern_executable(std::move(loaded));
    return {};
  });
}
