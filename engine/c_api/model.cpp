// SPDX-License-Identifier: Apache-2.0
// Models and executables: what they are called and what they take.
#include "engine/c_api/handles.h"
#include "engine/c_api/options.h"

using namespace quern;
using namespace quern::c_api;

namespace quern::c_api {

ValueTable::ValueTable(std::vector<ValueSpec> specs, const char* what)
    : specs_(std::move(specs)), what_(what) {
  for (const ValueSpec& s : specs_) {
    auto& names = symbols_.emplace_back();
    for (const std::string& name : s.symbols) names.push_back(name.c_str());
  }
}

Status ValueTable::info(std::size_t index, quern_value_info* info) const {
  QUERN_NOT_NULL(info);
  if (index >= specs_.size())
    return {Code::invalid_argument, std::string(what_) + " " + std::to_string(index) +
                                        ": the model has " + std::to_string(specs_.size())};
  const ValueSpec& s = specs_[index];
  quern_value_info value{};
  value.name = s.name.c_str();
  value.dtype = static_cast<quern_dtype>(s.dtype);
  value.kind = static_cast<std::int32_t>(s.kind);
  value.has_rank = s.has_rank;
  value.rank = s.dims.size();
  value.dims = s.dims.data();
  value.symbols = symbols_[index].data();
  value.keys = s.keys;
  return write_struct(info, value);
}

Status ValueTable::find(const char* name, std::size_t* index) const {
  QUERN_NOT_NULL(name);
  QUERN_NOT_NULL(index);
  std::string all;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].name == name) {
      *index = i;
      return {};
    }
    all += (i ? ", '" : "'") + specs_[i].name + "'";
  }
  return {Code::not_found,
          std::string("no ") + what_ + " '" + name + "'; the model has: " + all.substr(0, 1000)};
}

}  // namespace quern::c_api

void quern_model_destroy(quern_model* model) {
  delete model;
}

quern_status quern_model_get_info(const quern_model* model, quern_model_info* info) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(model);
    QUERN_NOT_NULL(info);
    const ModelMetadata& m = model->model.metadata();
    quern_model_info value{};
    value.graph_name = m.graph_name.c_str();
    value.producer_name = m.producer_name.c_str();
    value.producer_version = m.producer_version.c_str();
    value.domain = m.domain.c_str();
    value.description = m.description.c_str();
    value.model_version = m.model_version;
    value.ir_version = m.ir_version;
    value.property_count = m.properties.size();
    return write_struct(info, value);
  });
}

quern_status quern_model_property(const quern_model* model, size_t index, const char** key,
                                  const char** value) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(model);
    const auto& properties = model->model.metadata().properties;
    if (index >= properties.size())
      return {Code::invalid_argument, "property " + std::to_string(index) + ": the model has " +
                                          std::to_string(properties.size())};
    if (key) *key = properties[index].first.c_str();
    if (value) *value = properties[index].second.c_str();
    return {};
  });
}

// ---- options -----------------------------------------------------------------------------------

namespace quern::c_api {

OnnxOptions onnx_options(const quern_load_options& o) {
  OnnxOptions options{.max_bytes = o.max_bytes};
  if (o.microseconds) options.deadline = deadline_in(o.microseconds);
  if (o.copy_file) options.files = OnnxOptions::Files::read;
  if (o.custom_ops) options.ops = o.custom_ops->ops;
  if (o.host) options.host = o.host->host;
  return options;
}

Result<std::shared_ptr<Device>> device_of(const quern_compile_options& o) {
  if (o.opened) return std::shared_ptr<Device>(o.opened->device);
  if (!o.device) return std::shared_ptr<Device>();  // the CPU, opened with the options' host
  return open_device(o.device);
}

Result<CompileOptions> compile_options(const quern_compile_options& o) {
  CompileOptions compile;
  compile.threads = o.threads;
  if (o.thread_pool) compile.thread_pool = o.thread_pool->pool;
  compile.strategy = o.strategy ? o.strategy : "";
  compile.pool = o.pool ? o.pool : "";
  if (o.max_plans) compile.max_plans = o.max_plans;
  compile.max_plan_bytes = o.max_plan_bytes;
  compile.memory_limit = o.memory_limit;
  compile.arena_limit = o.arena_limit;
  compile.optimize = !o.no_rewrites;
  compile.scratch = !o.no_scratch;
  compile.stripes = !o.no_stripes;
  QUERN_ASSIGN(compile.math, math_named(o.math ? o.math : "f32"));
  QUERN_ASSIGN(compile.denormals, denormals_named(o.denormals ? o.denormals : "flush"));
  if (o.tuning) {
    QUERN_ASSIGN(Tuning tuning, Tuning::load(o.tuning));
    compile.tuning = std::make_shared<const Tuning>(std::move(tuning));
  }
  if (o.host) compile.host = o.host->host;
  if (o.microseconds) compile.deadline = deadline_in(o.microseconds);
  return compile;
}

}  // namespace quern::c_api

void quern_executable_destroy(quern_executable* executable) {
  delete executable;
}

// ---- inputs and outputs, of both ---------------------------------------------------------------

#define QUERN_VALUES(handle, value)                                                             \
  size_t quern_##handle##_##value##_count(const quern_##handle* handle) {                       \
    return handle ? handle->value##s.size() : 0;                                                \
  }                                                                                             \
  quern_status quern_##handle##_##value##_info(const quern_##handle* handle, size_t index,      \
                                               quern_value_info* info) {                        \
    return guarded([&]() -> Status {                                                            \
      QUERN_NOT_NULL(handle);                                                                   \
      return handle->value##s.info(index, info);                                                \
    });                                                                                         \
  }                                                                                             \
  quern_status quern_##handle##_##value##_index(const quern_##handle* handle, const char* name, \
                                                size_t* index) {                                \
    return guarded([&]() -> Status {                                                            \
      QUERN_NOT_NULL(handle);                                                                   \
      return handle->value##s.find(name, index);                                                \
    });                                                                                         \
  }

QUERN_VALUES(model, input)
QUERN_VALUES(model, output)
QUERN_VALUES(executable, input)
QUERN_VALUES(executable, output)

#undef QUERN_VALUES
