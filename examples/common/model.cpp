// SPDX-License-Identifier: Apache-2.0
#include "examples/common/model.h"

#include <cstddef>
#include <cstdio>
#include <utility>

#include <quern/executable.h>
#include <quern/onnx.h>

namespace examples {

quern::Result<std::unique_ptr<quern::Session>> open_model(const std::string& path) {
  QUERN_ASSIGN(quern::Model model, quern::load_onnx(path));
  QUERN_ASSIGN(auto executable, quern::Executable::compile(std::move(model)));
  return quern::Session::create(std::move(executable));
}

quern::Status run(quern::Session& session, const quern::Tensor& input) {
  QUERN_TRY(session.set_input(0, input.view()));
  return session.run();
}

quern::Result<quern::TensorView> output(const quern::Session& session, std::string_view name) {
  QUERN_ASSIGN(const std::size_t index, session.output_index(name));
  QUERN_ASSIGN(quern::TensorView view, session.output(index));
  if (view.type.dtype != quern::DType::f32) {
    return quern::Status(quern::Code::invalid_argument, "output '" + std::string(name) + "' is " +
                                                            view.type.text() + ", wanted f32");
  }
  return view;
}

int finish(const quern::Status& status) {
  if (status.ok()) return 0;
  const std::string message(status.message());
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

}  // namespace examples
