// SPDX-License-Identifier: Apache-2.0
// What wants the reader of ONNX and the compiler: libquern_run has runner/runner.cpp in its place.
#include <quern/artefact.h>
#include <quern/c/quern.h>
#include <quern/c/tuning.h>
#include <quern/onnx.h>
#include <quern/session.h>
#include <quern/tensor.h>
#include <quern/tuning.h>

#include "engine/c_api/handles.h"
#include "engine/c_api/options.h"

using namespace quern;
using namespace quern::c_api;

namespace {

Status hand_out(Result<Model> loaded, quern_model** model) {
  if (!loaded) return std::move(loaded).error();
  *model = new quern_model(std::move(*loaded));
  return {};
}

}  // namespace

quern_status quern_model_load(const char* path, const quern_load_options* options,
                              quern_model** model) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(path);
    QUERN_NOT_NULL(model);
    QUERN_ASSIGN(const quern_load_options o, read_struct(options));
    return hand_out(load_onnx(path, onnx_options(o)), model);
  });
}

quern_status quern_model_load_bytes(const void* data, size_t bytes,
                                    const quern_load_options* options, quern_model** model) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(data);
    QUERN_NOT_NULL(model);
    QUERN_ASSIGN(const quern_load_options o, read_struct(options));
    std::span<const std::byte> view(static_cast<const std::byte*>(data), bytes);
    std::shared_ptr<const void> owner;
    if (!o.borrow) {
      const auto size = static_cast<std::int64_t>(bytes);
      QUERN_ASSIGN(const Tensor copy, Tensor::copy_of({DType::u8, {size}}, view));
      view = {copy.data(), bytes};
      owner = copy.owner();
    }
    const std::string folder = o.folder ? o.folder : "";
    return hand_out(parse_onnx(view, std::move(owner), folder, onnx_options(o)), model);
  });
}

quern_status quern_executable_compile(const quern_model* model,
                                      const quern_compile_options* options,
                                      quern_executable** executable) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(model);
    QUERN_NOT_NULL(executable);
    QUERN_ASSIGN(const quern_compile_options o, read_struct(options));
    QUERN_ASSIGN(auto device, device_of(o));
    QUERN_ASSIGN(const CompileOptions compile, compile_options(o));
    QUERN_ASSIGN(auto compiled,
                 Executable::compile(model->model.clone(), std::move(device), compile));
    *executable = new quern_executable(std::move(compiled));
    return {};
  });
}

namespace {

// Shapes one after the other, as the caller lists them: of each plan those of all inputs.
Result<std::vector<std::vector<Shape>>> shapes_of(const quern_save_options& o, std::size_t inputs) {
  std::vector<std::vector<Shape>> plans(o.plan_count);
  const int64_t* dims = o.dims;
  std::size_t at = 0;
  for (std::vector<Shape>& plan : plans)
    for (std::size_t i = 0; i < inputs; ++i, ++at) {
      const std::size_t rank = o.ranks[at];
      if (rank > Shape::max_rank)
        return Status(Code::invalid_argument, "shape " + std::to_string(at) + " has rank " +
                                                  std::to_string(rank) + ", at most " +
                                                  std::to_string(Shape::max_rank) + " is possible");
      plan.emplace_back(std::span<const std::int64_t>(dims, rank));
      dims += rank;
    }
  return plans;
}

}  // namespace

quern_status quern_executable_save(const quern_executable* executable, const char* path,
                                   const quern_save_options* options) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(executable);
    QUERN_NOT_NULL(path);
    QUERN_ASSIGN(const quern_save_options o, read_struct(options));
    if (o.plan_count > 0) {
      QUERN_NOT_NULL(o.ranks);
      QUERN_NOT_NULL(o.dims);
    }
    ArtefactOptions save{.shapes = {}, .is_portable = o.portable != 0};
    QUERN_ASSIGN(save.shapes, shapes_of(o, executable->inputs.size()));
    QUERN_ASSIGN(const Artefact artefact, Artefact::make(executable->executable, save));
    return artefact.write(path);
  });
}

quern_status quern_decoder_open(const quern_model* model, const quern_compile_options* compile,
                                const quern_decoder_options* options, quern_decoder** decoder) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(model);
    QUERN_NOT_NULL(decoder);
    QUERN_ASSIGN(const quern_compile_options c, read_struct(compile));
    QUERN_ASSIGN(const quern_decoder_options o, read_struct(options));
    QUERN_ASSIGN(auto device, device_of(c));
    DecoderOptions all = decoder_options(o);
    QUERN_ASSIGN(all.compile, compile_options(c));
    QUERN_ASSIGN(auto made, Decoder::open(model->model.clone(), all, std::move(device)));
    *decoder = new quern_decoder{std::move(made)};
    return {};
  });
}

quern_status quern_model_tune(const quern_model* model, const quern_compile_options* options,
                              const quern_tensor* inputs, size_t count,
                              const quern_tune_options* how, quern_tune_report* report) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(model);
    QUERN_NOT_NULL(how);
    if (count > 0) QUERN_NOT_NULL(inputs);
    QUERN_ASSIGN(quern_compile_options o, read_struct(options));
    QUERN_ASSIGN(const quern_tune_options h, read_struct(how));
    if (!h.file) return null_argument("file of quern_tune_options");
    o.tuning = nullptr;
    QUERN_ASSIGN(const CompileOptions compile, compile_options(o));
    std::vector<TensorView> views;
    for (std::size_t i = 0; i < count; ++i) {
      QUERN_ASSIGN(views.emplace_back(), view_of(tensor_at(inputs, i)));
    }
    const auto bind = [&](Session& session) -> Status {
      for (std::size_t i = 0; i < views.size(); ++i) QUERN_TRY(session.set_input(i, views[i]));
      return {};
    };
    QUERN_ASSIGN(Tuning tuning, Tuning::load(h.file));
    TuneOptions measuring;
    if (h.microseconds) measuring.deadline = deadline_in(h.microseconds);
    QUERN_ASSIGN(const TuneReport done, tune(model->model, compile, bind, tuning, measuring));
    QUERN_TRY(tuning.save(h.file));
    if (!report) return {};
    return write_struct(report, quern_tune_report{0, done.measured, done.changed, done.before_us,
                                                  done.after_us, done.is_complete ? 1 : 0});
  });
}
