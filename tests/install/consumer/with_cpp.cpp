// SPDX-License-Identifier: Apache-2.0
// Every public header, a graph made by hand and a model from a file.
#include <cstdio>
#include <string>
#include <vector>

#include <quern/c/quern.h>
#include <quern/c/wasi_nn.h>
#include <quern/device.h>
#include <quern/dtype.h>
#include <quern/executable.h>
#include <quern/graph_builder.h>
#include <quern/model.h>
#include <quern/onnx.h>
#include <quern/operand.h>
#include <quern/ops/control_flow.h>
#include <quern/ops/matmul.h>
#include <quern/ops/rearrange.h>
#include <quern/ops/recurrent.h>
#include <quern/session.h>
#include <quern/shape.h>
#include <quern/status.h>
#include <quern/tensor.h>

namespace {

quern::Status run(const char* path) {
  quern::GraphBuilder g("twice");
  const quern::Operand x = g.input("x", quern::DType::f32, {"N"});
  const quern::Operand row = g.unsqueeze(x, {0});
  const quern::Operand square = g.op(quern::MatMul{.transpose_a = true, .alpha = 2}, {row, row});
  g.output("y", g.op(quern::Trilu{.upper = false}, {square}));
  QUERN_ASSIGN(quern::Model model, g.build());
  QUERN_ASSIGN(auto executable, quern::Executable::compile(std::move(model)));
  QUERN_ASSIGN(auto session, quern::Session::create(executable));
  const float one = 1;
  QUERN_TRY(
      session->set_input(0, {{quern::DType::f32, {1}}, reinterpret_cast<const std::byte*>(&one)}));
  QUERN_TRY(session->run());
  QUERN_ASSIGN(const quern::TensorView y, session->output(0));
  if (y.as<float>()[0] != 2) return {quern::Code::internal, "1 times 1, twice, is not 2"};

  QUERN_ASSIGN(quern::Model digits, quern::load_onnx(path));
  std::printf("%zu input\n", digits.inputs().size());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const quern::Status status = run(argc > 1 ? argv[1] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
