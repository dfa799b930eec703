// SPDX-License-Identifier: Apache-2.0
// What a runner does not do: the calls of compiler/compiler.cpp, each with an error that says what
// does it.
#include <string>

#include <quern/c/quern.h>
#include <quern/c/tuning.h>

#include "engine/c_api/handles.h"

using namespace quern;
using namespace quern::c_api;

namespace {

quern_status refuse(const char* what) {
  return guarded([&]() -> Status {
    return {Code::unsupported,
            std::string("libquern_run ") + what +
                ": it runs compiled models, which `quern compile MODEL -o FILE.quern` writes and "
                "quern_executable_load() takes"};
  });
}

}  // namespace

quern_status quern_model_load(const char*, const quern_load_options*, quern_model**) {
  return refuse("reads no ONNX");
}
quern_status quern_model_load_bytes(const void*, size_t, const quern_load_options*, quern_model**) {
  return refuse("reads no ONNX");
}
quern_status quern_executable_compile(const quern_model*, const quern_compile_options*,
                                      quern_executable**) {
  return refuse("compiles nothing");
}
quern_status quern_model_tune(const quern_model*, const quern_compile_options*, const quern_tensor*,
                              size_t, const quern_tune_options*, quern_tune_report*) {
  return refuse("tunes nothing");
}
quern_status quern_executable_save(const quern_executable*, const char*,
                                   const quern_save_options*) {
  return refuse("writes no compiled models");
}
quern_status quern_decoder_open(const quern_model*, const quern_compile_options*,
                                const quern_decoder_options*, quern_decoder**) {
  return refuse("compiles nothing");
}
