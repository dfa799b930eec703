// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/ort.h"

#include <dlfcn.h>

#include <cstdint>

namespace quern::bench {
namespace {

struct OrtApiBase {
  const void* const* (*get_api)(std::uint32_t version);
  const char* (*version)();
};

// Positions in the table of version 1.
enum Position : int {
  get_error_message = 2,
  create_env = 3,
  create_session = 7,
  run_session = 9,
  create_session_options = 10,
  set_graph_optimization_level = 23,
  set_intra_op_num_threads = 24,
  session_get_input_count = 30,
  session_get_output_count = 31,
  session_get_input_name = 36,
  session_get_output_name = 37,
  create_tensor_with_data = 49,
  create_cpu_memory_info = 69,
  get_allocator_with_default_options = 78,
  release_status = 93,
  release_session = 95,
  release_value = 96,
};

// ONNX Runtime's numbers for element types are those of TensorProto.
int element_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return 1;
    case DType::u8: return 2;
    case DType::i8: return 3;
    case DType::u16: return 4;
    case DType::i16: return 5;
    case DType::i32: return 6;
    case DType::i64: return 7;
    case DType::boolean: return 9;
    case DType::f16: return 10;
    case DType::f64: return 11;
    case DType::u32: return 12;
    case DType::u64: return 13;
    case DType::bf16: return 16;
    default: return 0;
  }
}

}  // namespace

struct OrtSession::Impl {
  const void* const* api = nullptr;
  void* session = nullptr;
  void* allocator = nullptr;
  void* memory_info = nullptr;
  std::vector<std::string> inputs, outputs;
  std::vector<const char*> input_names, output_names;
  std::vector<void*> values, results;
  std::vector<Tensor> kept;

  template <class... Args>
  Status call(Position at, Args... args) const {
    using Function = void* (*)(Args...);
    void* status = reinterpret_cast<Function>(const_cast<void*>(api[at]))(args...);
    if (!status) return {};
    using Message = const char* (*)(const void*);
    Status s(Code::internal, reinterpret_cast<Message>(const_cast<void*>(api[get_error_message]))(status));
    release(release_status, status);
    return s;
  }
  void release(Position at, void* object) const {
    using Function = void (*)(void*);
    if (object) reinterpret_cast<Function>(const_cast<void*>(api[at]))(object);
  }
  Result<std::vector<std::string>> names(Position count_at, Position name_at) const {
    std::size_t count = 0;
    QUERN_TRY(call(count_at, session, &count));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      QUERN_TRY(call(name_at, session, i, allocator, &name));
      names.emplace_back(name);
    }
    return names;
  }
};

OrtSession::OrtSession() : impl_(std::make_unique<Impl>()) {}

OrtSession::~OrtSession() {
  for (void* v : impl_->values) impl_->release(release_value, v);
  for (void* v : impl_->results) impl_->release(release_value, v);
  impl_->release(release_session, impl_->session);
}

Result<std::unique_ptr<OrtSession>> OrtSession::create(const std::string& library,
                                                       const std::string& model, int threads) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return Status(Code::not_found, dlerror());
  auto* base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
  if (!base) return Status(Code::not_found, library + " is no ONNX Runtime");
  std::unique_ptr<OrtSession> s(new OrtSession());
  Impl& i = *s->impl_;
  i.api = base()->get_api(1);
  if (!i.api) return Status(Code::unsupported, "this ONNX Runtime serves no version 1 of its interface");
  void* env = nullptr;
  void* options = nullptr;
  QUERN_TRY(i.call(create_env, 3, "compare", &env));
  QUERN_TRY(i.call(create_session_options, &options));
  QUERN_TRY(i.call(set_intra_op_num_threads, options, threads));
  QUERN_TRY(i.call(set_graph_optimization_level, options, 99));
  QUERN_TRY(i.call(create_session, env, model.c_str(), options, &i.session));
  QUERN_TRY(i.call(get_allocator_with_default_options, &i.allocator));
  QUERN_TRY(i.call(create_cpu_memory_info, 1, 0, &i.memory_info));
  QUERN_ASSIGN(i.inputs, i.names(session_get_input_count, session_get_input_name));
  QUERN_ASSIGN(i.outputs, i.names(session_get_output_count, session_get_output_name));
  for (const std::string& n : i.inputs) i.input_names.push_back(n.c_str());
  for (const std::string& n : i.outputs) i.output_names.push_back(n.c_str());
  i.results.resize(i.outputs.size());
  return s;
}

std::vector<std::string> OrtSession::input_names() const { return impl_->inputs; }
std::vector<std::string> OrtSession::output_names() const { return impl_->outputs; }

Status OrtSession::set_inputs(const std::vector<Tensor>& inputs) {
  impl_->kept = inputs;
  for (const Tensor& t : inputs) {
    void* value = nullptr;
    QUERN_TRY(impl_->call(create_tensor_with_data, impl_->memory_info,
                          const_cast<void*>(static_cast<const void*>(t.data())), t.bytes(),
                          t.shape().begin(), t.shape().rank(), element_type(t.dtype()), &value));
    impl_->values.push_back(value);
  }
  return {};
}

// The outputs of the run before are handed back first, as a caller that has read them would.
Status OrtSession::run() {
  for (void*& v : impl_->results) {
    impl_->release(release_value, v);
    v = nullptr;
  }
  return impl_->call(run_session, impl_->session, static_cast<void*>(nullptr),
                     impl_->input_names.data(), impl_->values.data(), impl_->values.size(),
                     impl_->output_names.data(), impl_->output_names.size(), impl_->results.data());
}

}  // namespace quern::bench
