// SPDX-License-Identifier: Apache-2.0
#include "tools/against/evaluate.h"

#include <quern/onnx.h>
#include <quern/session.h>

namespace quern::tools {
namespace {

// The session, which owns the outputs, and what it was given, which an output may be.
struct Ran {
  std::vector<InputValue> inputs;
  std::unique_ptr<Session> session;
};

Result<InputValue> output_value(const std::shared_ptr<Ran>& ran, std::size_t i) {
  const bool is_sequence = ran->session->executable().outputs()[i].is_sequence();
  InputValue value{.kind = is_sequence ? InputValue::Kind::sequence : InputValue::Kind::tensor};
  QUERN_ASSIGN(const std::size_t count, ran->session->output_count(i));
  for (std::size_t k = 0; k < count; ++k) {
    QUERN_ASSIGN(const TensorView view, ran->session->output_element(i, k));
    value.tensors.emplace_back(view.type, ran, view.data);
  }
  if (count == 0 && !is_sequence) value.kind = InputValue::Kind::none;
  return value;
}

}  // namespace

Evaluator device_evaluator(std::shared_ptr<Device> device, const CompileOptions& options,
                           std::shared_ptr<const CustomOps> ops) {
  return [device = std::move(device), options, ops = std::move(ops)](
             const std::string& model_bytes, const std::string& folder,
             std::span<const InputValue> inputs) -> Result<RunResult> {
    const auto bytes = std::make_shared<std::string>(model_bytes);
    QUERN_ASSIGN(Model model,
                 parse_onnx(std::as_bytes(std::span(*bytes)), bytes, folder, {.ops = ops}));
    QUERN_ASSIGN(const auto executable, Executable::compile(std::move(model), device, options));
    auto ran = std::make_shared<Ran>();
    ran->inputs.assign(inputs.begin(), inputs.end());
    QUERN_ASSIGN(ran->session, Session::create(executable));
    QUERN_TRY(bind_inputs(*ran->session, ran->inputs));
    QUERN_TRY(ran->session->run());
    RunResult e{{}, ran->session->plan_info().steps};
    for (std::size_t i = 0; i < executable->outputs().size(); ++i) {
      QUERN_ASSIGN(e.outputs.emplace_back(), output_value(ran, i));
    }
    return e;
  };
}

CompileOptions options_of_judge(std::string_view device) {
  if (device != "reference") return {};
  return {.optimize = false, .order = false, .alias = false};
}

}  // namespace quern::tools
