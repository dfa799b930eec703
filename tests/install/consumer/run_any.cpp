// SPDX-License-Identifier: Apache-2.0
// The runner in C++: a compiled model on zeros.
#include <cstdio>
#include <string>
#include <vector>

#include <quern/artefact.h>
#include <quern/executable.h>
#include <quern/session.h>

namespace {

quern::Status run(const char* path) {
  QUERN_ASSIGN(auto executable, quern::load_artefact(path));
  QUERN_ASSIGN(auto session, quern::Session::create(executable));
  std::vector<std::vector<std::byte>> inputs;
  for (const quern::ValueSpec& spec : executable->inputs()) {
    std::vector<std::int64_t> dims = spec.dims;
    for (std::int64_t& d : dims) d = d < 0 ? 1 : d;
    const quern::TensorType type{spec.dtype, quern::Shape(dims)};
    inputs.emplace_back(type.bytes());
    QUERN_TRY(session->set_input(inputs.size() - 1, {type, inputs.back().data()}));
  }
  QUERN_TRY(session->run());
  QUERN_ASSIGN(const quern::TensorView out, session->output(0));
  std::printf("%zu bytes\n", out.type.bytes());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const quern::Status status = run(argc > 1 ? argv[1] : "");
  if (!status.ok()) std::printf("%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
