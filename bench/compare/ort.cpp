// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/ort.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <dlfcn.h>
#include <utility>

#include "bench/compare/parts.h"
#include "engine/vocabulary/text_util.h"

namespace quern::bench {
namespace {

struct OrtApiBase {
  const void* const* (*get_api)(std::uint32_t version);
  const char* (*version)();
};

constexpr std::uint32_t api_version = 8;  // the first that has every function below

enum class Function : std::size_t {
  get_error_message = 2,
  create_env = 3,
  create_session = 7,
  create_session_from_array = 8,
  run = 9,
  create_session_options = 10,
  set_session_graph_optimization_level = 23,
  set_intra_op_num_threads = 24,
  set_inter_op_num_threads = 25,
  session_get_output_count = 31,
  session_get_output_name = 37,
  create_tensor = 48,
  create_tensor_with_data = 49,
  get_tensor_mutable_data = 51,
  fill_string_tensor = 52,
  get_string_tensor_data_length = 53,
  get_string_tensor_content = 54,
  get_tensor_element_type = 60,
  get_dimensions_count = 61,
  get_dimensions = 62,
  get_tensor_type_and_shape = 65,
  get_value_type = 67,
  create_cpu_memory_info = 69,
  allocator_free = 76,
  get_allocator_with_default_options = 78,
  get_value = 80,
  get_value_count = 81,
  create_value = 82,
  release_env = 92,
  release_status = 93,
  release_memory_info = 94,
  release_session = 95,
  release_value = 96,
  release_tensor_type_and_shape_info = 99,
  release_session_options = 100,
  add_session_config_entry = 130,
};

constexpr int log_errors_only = 3;
constexpr int no_optimisation = 0;
constexpr int all_optimisations = 99;
constexpr int arena_allocator = 1;
constexpr int default_memory = 0;
// Kinds of values.
constexpr int kind_tensor = 1;
constexpr int kind_sequence = 2;
constexpr int kind_map = 3;

// Its numbers for element types are those of TensorProto.
constexpr std::array<std::pair<DType, int>, 18> element_types = {{{DType::f32, 1},
                                                                  {DType::u8, 2},
                                                                  {DType::i8, 3},
                                                                  {DType::u16, 4},
                                                                  {DType::i16, 5},
                                                                  {DType::i32, 6},
                                                                  {DType::i64, 7},
                                                                  {DType::string, 8},
                                                                  {DType::boolean, 9},
                                                                  {DType::f16, 10},
                                                                  {DType::f64, 11},
                                                                  {DType::u32, 12},
                                                                  {DType::u64, 13},
                                                                  {DType::bf16, 16},
                                                                  {DType::f8e4m3fn, 17},
                                                                  {DType::f8e4m3fnuz, 18},
                                                                  {DType::f8e5m2, 19},
                                                                  {DType::f8e5m2fnuz, 20}}};

Result<int> element_type(DType dtype) {
  for (const auto& [ours, theirs] : element_types)
    if (ours == dtype) return theirs;
  return Status(Code::unsupported, cat("inputs of type ", name_of(dtype), " cannot be compared"));
}

Result<DType> dtype_of(int element_type) {
  for (const auto& [ours, theirs] : element_types)
    if (theirs == element_type) return ours;
  return Status(Code::unsupported,
                cat("outputs of element type ", element_type, " cannot be compared"));
}

}  // namespace

Result<OrtLibrary> OrtLibrary::open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return Status(Code::not_found, dlerror());
  auto* get_base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
  if (!get_base) return Status(Code::not_found, cat(printable(path), " is no ONNX Runtime"));
  OrtLibrary library;
  library.api_ = get_base()->get_api(api_version);
  library.version_ = get_base()->version();
  if (!library.api_)
    return Status(Code::unsupported, cat(printable(path), ": ONNX Runtime ", library.version_,
                                         " has no interface of version ", api_version));
  return library;
}

struct OrtSession::Impl {
  using Release = void (*)(void*);

  const void* const* api = nullptr;
  void* env = nullptr;
  void* options = nullptr;
  void* session = nullptr;
  void* memory_info = nullptr;
  std::vector<NamedTensor> inputs;  // whose bytes `values` borrow
  std::vector<const char*> input_names, output_names;
  std::vector<void*> values, results;

  ~Impl() {
    drop_inputs();
    for (void* result : results) release(Function::release_value, result);
    for (const char* name : output_names) free_name(name);
    release(Function::release_session, session);
    release(Function::release_session_options, options);
    release(Function::release_memory_info, memory_info);
    release(Function::release_env, env);
  }

  template <class Signature>
  Signature* function(Function f) const {
    return reinterpret_cast<Signature*>(const_cast<void*>(api[static_cast<std::size_t>(f)]));
  }
  template <class... Args>
  Status call(Function f, Args... args) const {
    void* status = function<void*(Args...)>(f)(args...);
    if (!status) return {};
    Status s(Code::internal, cat("ONNX Runtime: ", function<const char*(const void*)>(
                                                       Function::get_error_message)(status)));
    release(Function::release_status, status);
    return s;
  }
  void release(Function f, void* object) const {
    if (object) function<void(void*)>(f)(object);
  }
  void free_name(const char* name) const {
    void* allocator = nullptr;
    if (call(Function::get_allocator_with_default_options, &allocator).ok())
      (void)call(Function::allocator_free, allocator, const_cast<char*>(name));
  }
  Status configure(const OrtOptions& o);
  Status open_file(const std::string& model, const OrtOptions& o);
  Status open_bytes(std::string_view bytes, const OrtOptions& o);
  Status bind(const Tensor& tensor);
  Status bind_map(const Tensor& keys, const Tensor& list);
  Result<Tensor> copy_of(void* value) const;
  Status append(void* value, const std::string& name, std::vector<NamedTensor>& to) const;
  Result<std::unique_ptr<void, Release>> part_of(void* value, int number) const;
  void drop_inputs();
  Status find_outputs();
  Result<TensorType> type_of(void* value) const;
};

Status OrtSession::Impl::configure(const OrtOptions& o) {
  QUERN_TRY(call(Function::create_env, log_errors_only, "quern-compare", &env));
  QUERN_TRY(call(Function::create_session_options, &options));
  QUERN_TRY(call(Function::set_intra_op_num_threads, options, o.threads));
  QUERN_TRY(call(Function::set_inter_op_num_threads, options, 1));
  const int level =
      o.optimisations == OrtOptions::Optimisations::all ? all_optimisations : no_optimisation;
  QUERN_TRY(call(Function::set_session_graph_optimization_level, options, level));
  QUERN_TRY(call(Function::add_session_config_entry, options, "session.intra_op.allow_spinning",
                 o.spinning ? "1" : "0"));
  return call(Function::create_cpu_memory_info, arena_allocator, default_memory, &memory_info);
}

Status OrtSession::Impl::open_file(const std::string& model, const OrtOptions& o) {
  QUERN_TRY(configure(o));
  QUERN_TRY(call(Function::create_session, env, model.c_str(), options, &session));
  return find_outputs();
}

Status OrtSession::Impl::open_bytes(std::string_view bytes, const OrtOptions& o) {
  QUERN_TRY(configure(o));
  const void* data = bytes.data();
  QUERN_TRY(call(Function::create_session_from_array, env, data, bytes.size(), options, &session));
  return find_outputs();
}

// Appends a value that borrows the tensor's bytes, or holds its strings.
Status OrtSession::Impl::bind(const Tensor& t) {
  QUERN_ASSIGN(const int type, element_type(t.dtype()));
  void*& value = values.emplace_back(nullptr);
  const std::int64_t* dims = t.shape().begin();
  if (t.dtype() != DType::string)
    return call(Function::create_tensor_with_data, memory_info, const_cast<std::byte*>(t.data()),
                t.bytes(), dims, t.shape().rank(), type, &value);
  void* allocator = nullptr;
  QUERN_TRY(call(Function::get_allocator_with_default_options, &allocator));
  QUERN_TRY(call(Function::create_tensor, allocator, dims, t.shape().rank(), type, &value));
  std::vector<std::string> texts;  // that end where C ends them
  for (const StringRef& s : t.span<StringRef>()) texts.emplace_back(s.view());
  std::vector<const char*> pointers;
  for (const std::string& s : texts) pointers.push_back(s.c_str());
  const char* const* first = pointers.data();
  return call(Function::fill_string_tensor, value, first, pointers.size());
}

// Appends a map, which holds copies of keys and values.
Status OrtSession::Impl::bind_map(const Tensor& keys, const Tensor& list) {
  const std::size_t before = values.size();
  Status parts = bind(keys);
  if (parts.ok()) parts = bind(list);
  void* map = nullptr;
  const void* const* first = values.data() + before;
  if (parts.ok()) parts = call(Function::create_value, first, std::size_t{2}, kind_map, &map);
  for (std::size_t i = before; i < values.size(); ++i) release(Function::release_value, values[i]);
  values.resize(before);
  if (map) values.push_back(map);
  return parts;
}

namespace {

// The strings that begin at `offsets` of `bytes`, which they are.
Tensor strings_of(const Shape& shape, std::shared_ptr<const std::string> bytes,
                  const std::vector<std::size_t>& offsets) {
  struct Storage {
    std::shared_ptr<const std::string> bytes;
    std::vector<StringRef> refs;
  };
  auto storage = std::make_shared<Storage>();
  storage->bytes = std::move(bytes);
  storage->refs.reserve(offsets.size() + 1);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const std::size_t end = i + 1 < offsets.size() ? offsets[i + 1] : storage->bytes->size();
    storage->refs.push_back({storage->bytes->data() + offsets[i], end - offsets[i]});
  }
  const auto* data = reinterpret_cast<const std::byte*>(storage->refs.data());
  return {{DType::string, shape}, std::move(storage), data};
}

}  // namespace

Result<Tensor> OrtSession::Impl::copy_of(void* value) const {
  QUERN_ASSIGN(const TensorType type, type_of(value));
  if (type.dtype != DType::string) {
    void* data = nullptr;
    QUERN_TRY(call(Function::get_tensor_mutable_data, value, &data));
    return Tensor::copy_of(type, {static_cast<const std::byte*>(data), type.bytes()});
  }
  std::size_t length = 0;
  QUERN_TRY(call(Function::get_string_tensor_data_length, value, &length));
  auto bytes = std::make_shared<std::string>(length, '\0');
  std::vector<std::size_t> offsets(static_cast<std::size_t>(type.shape.elements()));
  void* to = bytes->data();
  QUERN_TRY(
      call(Function::get_string_tensor_content, value, to, length, offsets.data(), offsets.size()));
  return strings_of(type.shape, std::move(bytes), offsets);
}

// A tensor of a sequence, or the keys (0) or values (1) of a map.
Result<std::unique_ptr<void, OrtSession::Impl::Release>> OrtSession::Impl::part_of(
    void* value, int number) const {
  void* allocator = nullptr;
  QUERN_TRY(call(Function::get_allocator_with_default_options, &allocator));
  void* part = nullptr;
  QUERN_TRY(call(Function::get_value, value, number, allocator, &part));
  return std::unique_ptr<void, Release>(part, function<void(void*)>(Function::release_value));
}

// Appends the tensors of an output, with the names of parts.h.
Status OrtSession::Impl::append(void* value, const std::string& name,
                                std::vector<NamedTensor>& to) const {
  int kind = 0;
  QUERN_TRY(call(Function::get_value_type, value, &kind));
  if (kind == kind_tensor) {
    QUERN_ASSIGN(Tensor t, copy_of(value));
    to.push_back({name, std::move(t)});
    return {};
  }
  if (kind == kind_map) {
    QUERN_ASSIGN(const auto keys, part_of(value, 0));
    QUERN_ASSIGN(const auto values, part_of(value, 1));
    QUERN_ASSIGN(const Tensor k, copy_of(keys.get()));
    QUERN_ASSIGN(const Tensor v, copy_of(values.get()));
    return append_map(k, v, name, to);
  }
  if (kind != kind_sequence) return {Code::unsupported, cat("an output of kind ", kind)};
  std::size_t count = 0;
  QUERN_TRY(call(Function::get_value_count, value, &count));
  for (std::size_t i = 0; i < count; ++i) {
    QUERN_ASSIGN(const auto part, part_of(value, static_cast<int>(i)));
    QUERN_TRY(append(part.get(), part_name(name, i), to));
  }
  return {};
}

void OrtSession::Impl::drop_inputs() {
  for (void* value : values) release(Function::release_value, value);
  values.clear();
  input_names.clear();
  inputs.clear();
}

Status OrtSession::Impl::find_outputs() {
  void* allocator = nullptr;
  QUERN_TRY(call(Function::get_allocator_with_default_options, &allocator));
  std::size_t count = 0;
  QUERN_TRY(call(Function::session_get_output_count, session, &count));
  for (std::size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    QUERN_TRY(call(Function::session_get_output_name, session, i, allocator, &name));
    output_names.push_back(name);
  }
  results.resize(count);
  return {};
}

Result<TensorType> OrtSession::Impl::type_of(void* value) const {
  void* info = nullptr;
  QUERN_TRY(call(Function::get_tensor_type_and_shape, value, &info));
  const std::unique_ptr<void, void (*)(void*)> owner(
      info, function<void(void*)>(Function::release_tensor_type_and_shape_info));
  int element = 0;
  std::size_t rank = 0;
  QUERN_TRY(call(Function::get_tensor_element_type, info, &element));
  QUERN_TRY(call(Function::get_dimensions_count, info, &rank));
  std::vector<std::int64_t> dims(rank);
  QUERN_TRY(call(Function::get_dimensions, info, dims.data(), rank));
  if (rank > Shape::max_rank) return Status(Code::unsupported, cat("an output of rank ", rank));
  QUERN_ASSIGN(const DType dtype, dtype_of(element));
  return TensorType{dtype, Shape(std::span<const std::int64_t>(dims))};
}

OrtSession::OrtSession() : impl_(std::make_unique<Impl>()) {}
OrtSession::~OrtSession() = default;

Result<std::unique_ptr<OrtSession>> OrtSession::create(const OrtLibrary& library,
                                                       const std::string& model,
                                                       const OrtOptions& options) {
  std::unique_ptr<OrtSession> session(new OrtSession());
  session->impl_->api = library.api();
  QUERN_TRY(session->impl_->open_file(model, options));
  return session;
}

Result<std::unique_ptr<OrtSession>> OrtSession::create_from_bytes(const OrtLibrary& library,
                                                                  std::string_view bytes,
                                                                  const OrtOptions& options) {
  std::unique_ptr<OrtSession> session(new OrtSession());
  session->impl_->api = library.api();
  QUERN_TRY(session->impl_->open_bytes(bytes, options));
  return session;
}

Status OrtSession::set_inputs(std::vector<NamedTensor> inputs) {
  Impl& i = *impl_;
  i.drop_inputs();
  i.inputs = std::move(inputs);
  const auto keys_of = [&](const NamedTensor& map) {
    return std::ranges::find(i.inputs, keys_name(map.name), &NamedTensor::name);
  };
  for (const NamedTensor& input : i.inputs) {
    const auto is_map_of = [&](const NamedTensor& map) {
      return keys_name(map.name) == input.name;
    };
    if (std::ranges::any_of(i.inputs, is_map_of)) continue;
    const auto keys = keys_of(input);
    QUERN_TRY(keys == i.inputs.end() ? i.bind(input.tensor)
                                     : i.bind_map(keys->tensor, input.tensor));
    i.input_names.push_back(input.name.c_str());
  }
  return {};
}

// The outputs of the run before are handed back first, as a caller that has read them would.
Status OrtSession::run() {
  Impl& i = *impl_;
  for (void*& result : i.results)
    i.release(Function::release_value, std::exchange(result, nullptr));
  const void* const run_options = nullptr;
  return i.call(Function::run, i.session, run_options, i.input_names.data(), i.values.data(),
                i.values.size(), i.output_names.data(), i.output_names.size(), i.results.data());
}

Result<std::vector<NamedTensor>> OrtSession::outputs() const {
  std::vector<NamedTensor> outputs;
  for (std::size_t k = 0; k < impl_->results.size(); ++k)
    QUERN_TRY(impl_->append(impl_->results[k], impl_->output_names[k], outputs));
  return outputs;
}

}  // namespace quern::bench
