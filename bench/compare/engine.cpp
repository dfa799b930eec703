// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/engine.h"

#include <filesystem>

#include "bench/compare/ort.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/onnx_parser.h"
#include "tools/opened.h"

namespace quern::bench {
namespace {

class QuernEngine final : public Engine {
 public:
  static Result<std::unique_ptr<Engine>> open(const EngineOptions& options,
                                              const std::vector<TensorFile>& inputs,
                                              ColdTimes& times) {
    auto engine = std::make_unique<QuernEngine>();
    tools::InputArgs args;
    for (const TensorFile& f : inputs) args.inputs.push_back(cat(f.name, "=", f.path));
    QUERN_ASSIGN(engine->opened_,
                 tools::open_model(
                     options.model, args,
                     {.device = options.device, .threads = options.threads, .math = options.math}));
    const tools::Phases& phases = engine->opened_.phases;
    times.load_ms = phases.load_ms + phases.compile_ms + phases.plan_ms;
    return std::unique_ptr<Engine>(std::move(engine));
  }

  Status run() override { return opened_.session->run(); }

  Result<std::vector<NamedTensor>> outputs() override {
    const auto& specs = opened_.executable->outputs();
    std::vector<NamedTensor> outputs;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      QUERN_ASSIGN(const TensorView view, opened_.session->output(i));
      QUERN_ASSIGN(Tensor t, Tensor::copy_of(view.type, {view.data, view.type.bytes()}));
      outputs.push_back({specs[i].name, std::move(t)});
    }
    return outputs;
  }

 private:
  tools::Opened opened_;
};

class OrtEngine final : public Engine {
 public:
  static Result<std::unique_ptr<Engine>> open(const EngineOptions& options,
                                              const std::vector<TensorFile>& inputs,
                                              ColdTimes& times) {
    std::vector<NamedTensor> tensors;
    for (const TensorFile& f : inputs) {
      QUERN_ASSIGN(tensors.emplace_back(), read_tensor(f));
    }
    auto engine = std::make_unique<OrtEngine>();
    tools::Stopwatch watch;
    QUERN_ASSIGN(const OrtLibrary library, OrtLibrary::open(options.library));
    times.library_ms = watch.lap();
    QUERN_ASSIGN(engine->session_,
                 OrtSession::create(library, options.model,
                                    {.threads = options.threads, .spinning = options.spinning}));
    QUERN_TRY(engine->session_->set_inputs(std::move(tensors)));
    times.load_ms = watch.lap();
    return std::unique_ptr<Engine>(std::move(engine));
  }

  Status run() override { return session_->run(); }
  Result<std::vector<NamedTensor>> outputs() override { return session_->outputs(); }

 private:
  std::unique_ptr<OrtSession> session_;
};

}  // namespace

Result<std::unique_ptr<Engine>> open_engine(const EngineOptions& options,
                                            const std::vector<TensorFile>& inputs,
                                            ColdTimes& times) {
  const auto open = options.engine == "ort" ? OrtEngine::open : QuernEngine::open;
  QUERN_ASSIGN(std::unique_ptr<Engine> engine, open(options, inputs, times));
  tools::Stopwatch watch;
  QUERN_TRY(engine->run());
  times.first_run_ms = watch.lap();
  return engine;
}

Result<NamedTensor> read_tensor(const TensorFile& file) {
  QUERN_ASSIGN(tools::InputValue value, tools::read_value(file.path, {.has_rank = false}));
  return NamedTensor{file.name, std::move(value.tensors[0])};
}

Status write_tensor(const TensorFile& file, const Tensor& tensor) {
  return write_tensor_file(file.path, {.name = file.name, .tensors = {tensor}});
}

}  // namespace quern::bench
