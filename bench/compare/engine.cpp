// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/engine.h"

#include <filesystem>

#include "bench/compare/ort.h"
#include "bench/compare/parts.h"
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
    std::vector<bool> is_keys(specs.size(), false);
    for (const ValueSpec& spec : specs)
      if (spec.is_map()) is_keys[spec.keys] = true;
    std::vector<NamedTensor> outputs;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (is_keys[i]) continue;
      if (specs[i].is_map())
        QUERN_TRY(append_maps(i, outputs));
      else
        QUERN_TRY(append_tensors(i, outputs));
    }
    return outputs;
  }

 private:
  static Result<Tensor> copy_of(const TensorView& view) {
    return Tensor::copy_of(view.type, {view.data, view.type.bytes()});
  }

  Status append_tensors(std::size_t i, std::vector<NamedTensor>& to) const {
    const ValueSpec& spec = opened_.executable->outputs()[i];
    QUERN_ASSIGN(const std::size_t count, opened_.session->output_count(i));
    for (std::size_t k = 0; k < count; ++k) {
      QUERN_ASSIGN(const TensorView view, opened_.session->output_element(i, k));
      QUERN_ASSIGN(Tensor t, copy_of(view));
      to.push_back({spec.is_sequence() ? part_name(spec.name, k) : spec.name, std::move(t)});
    }
    return {};
  }

  Status append_maps(std::size_t i, std::vector<NamedTensor>& to) const {
    const std::string& name = opened_.executable->outputs()[i].name;
    QUERN_ASSIGN(const TensorView all, opened_.session->output(i));
    const bool is_one = all.type.shape.rank() == 1;
    const auto rows = is_one ? 1 : static_cast<std::size_t>(all.type.shape[0]);
    for (std::size_t row = 0; row < rows; ++row) {
      QUERN_ASSIGN(const Session::MapView map, opened_.session->output_map(i, row));
      QUERN_ASSIGN(const Tensor keys, copy_of(map.keys));
      QUERN_ASSIGN(const Tensor values, copy_of(map.values));
      QUERN_TRY(append_map(keys, values, is_one ? name : part_name(name, row), to));
    }
    return {};
  }

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
