// SPDX-License-Identifier: Apache-2.0
// Load a model, run it, print what it says: the shortest program that does something.
//   minimal examples/digits/digits.onnx
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quern/executable.h>
#include <quern/onnx.h>
#include <quern/session.h>

constexpr std::size_t side = 14;
constexpr std::string_view drawing =
    "              "
    "              "
    "   #######    "
    "   ########   "
    "         ##   "
    "        ##    "
    "        ##    "
    "       ##     "
    "      ###     "
    "      ##      "
    "     ###      "
    "     ##       "
    "              "
    "              ";

quern::Status run(const std::string& path) {
  QUERN_ASSIGN(quern::Model model, quern::load_onnx(path));
  QUERN_ASSIGN(auto executable, quern::Executable::compile(std::move(model)));
  QUERN_ASSIGN(auto session, quern::Session::create(executable));

  std::vector<float> pixels(28 * 28);  // each character becomes 2 x 2 pixels
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = drawing[i / 56 * side + i % 28 / 2] == '#' ? 1.0F : 0.0F;
  }
  const auto input = quern::Tensor::from_values<float>(quern::DType::f32, {1, 1, 28, 28}, pixels);
  QUERN_TRY(session->set_input(0, input.view()));
  QUERN_TRY(session->run());

  QUERN_ASSIGN(const quern::TensorView output, session->output(0));
  for (std::size_t digit = 0; digit < 10; ++digit) {
    std::printf("%zu  %6.2f %%\n", digit, 100 * output.span<float>()[digit]);
  }
  return {};
}

int main(int argc, char** argv) {
  const quern::Status status = run(argc > 1 ? argv[1] : "examples/digits/digits.onnx");
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
