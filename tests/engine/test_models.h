// SPDX-License-Identifier: Apache-2.0
// The models of the test data, where somebody has them: QUERN_TEST_MODELS, or shared/models beside
// the checkout.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <quern/onnx.h>

#include "frontends/onnx-parser/onnx_parser.h"
#include "graph/graph.h"
#include "tests/engine/engine_test.h"

namespace quern::testing {

inline std::filesystem::path models_folder() {
  const char* given = std::getenv("QUERN_TEST_MODELS");
  if (given) return given;
  return std::filesystem::path(QUERN_SOURCE_DIR) / ".." / "shared" / "models";
}

// With a model and at least one data set.
inline std::vector<std::filesystem::path> model_folders() {
  std::vector<std::filesystem::path> folders;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(models_folder(), ignored))
    if (std::filesystem::exists(entry.path() / "test_data_set_0")) folders.push_back(entry.path());
  std::ranges::sort(folders);
  return folders;
}

// A session with the first data set bound.
struct OpenedModel {
  std::vector<Tensor> inputs;
  std::unique_ptr<Session> session;
};

inline OpenedModel open_test_model(const std::filesystem::path& folder, int threads = 1) {
  const std::string name = folder.filename().string();
  Model model = must(load_onnx((folder / "model.onnx").string()), name.c_str());
  OpenedModel opened;
  const Graph& graph = model.graph();
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto file = folder / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb");
    const OnnxValue value =
        must(read_tensor_file(file.string(), graph.type(graph.inputs()[i])), name.c_str());
    const Tensor& t = value.tensors.at(0);  // a file aligns nothing
    opened.inputs.push_back(must(Tensor::copy_of(t.type(), {t.data(), t.bytes()})));
  }
  opened.session = session_of(compile(std::move(model)), threads);
  for (std::size_t i = 0; i < opened.inputs.size(); ++i)
    must(opened.session->set_input(i, opened.inputs[i].view()), name.c_str());
  return opened;
}

}  // namespace quern::testing
