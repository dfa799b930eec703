// SPDX-License-Identifier: Apache-2.0
// Graphs, contexts and computes for hosts that define their own form of these calls.
#include <optional>
#include <utility>

#include "frontends/wasi-nn/c_api/handles.h"
#include "frontends/wasi-nn/records.h"

using namespace quern;
using namespace quern::wasi_nn;
using namespace quern::wasi_nn::c_api;

namespace {

static_assert(QUERN_MAX_RANK == static_cast<int>(Shape::max_rank));
static_assert(QUERN_U2 + 1 == static_cast<int>(dtype_count));

// The form of most entry points: checks that the instance is not null and runs `body` with it.
template <class F>
quern_nn_errno with(quern_nn_instance* instance, const F& body) noexcept {
  return guarded(instance ? instance->instance.get() : nullptr, [&]() -> Error {
    QUERN_NN_NOT_NULL(instance);
    return body(*instance->instance);
  });
}

// The same with a context of the instance, which is in use during the call.
template <class F>
quern_nn_errno with_context(quern_nn_instance* instance, uint32_t context, const F& body) noexcept {
  return with(instance, [&](Instance& i) -> Error {
    ContextUse use;
    QUERN_NN_TRY(i.use(context, &use));
    return body(use);
  });
}

Error read_type(const quern_tensor* given, quern_tensor* tensor, TensorType* type) {
  QUERN_NN_NOT_NULL(given);
  *tensor = QUERN_TENSOR_INIT;
  QUERN_NN_TRY(read_struct(given, tensor));
  if (tensor->rank > QUERN_MAX_RANK)
    return {Errno::invalid_argument, sentence("a tensor of rank ", tensor->rank, ", at most ",
                                              QUERN_MAX_RANK, " is possible")};
  if (tensor->dtype < 0 || tensor->dtype >= static_cast<int>(dtype_count) ||
      tensor->dtype == QUERN_STRING)
    return {Errno::invalid_argument, sentence(tensor->dtype, " is no type of numbers")};
  *type = {static_cast<DType>(tensor->dtype), Shape(std::span(tensor->dims, tensor->rank))};
  return {};
}

Error read_tensor(const quern_tensor* given, TensorType* type, Bytes* bytes) {
  quern_tensor tensor = QUERN_TENSOR_INIT;
  QUERN_NN_TRY(read_type(given, &tensor, type));
  *bytes = {static_cast<const std::byte*>(tensor.data), tensor.bytes};
  return {};
}

quern_tensor described(const TensorView& view) {
  quern_tensor tensor = QUERN_TENSOR_INIT;
  tensor.dtype = static_cast<quern_dtype>(view.type.dtype);
  tensor.rank = static_cast<std::uint32_t>(view.type.shape.rank());
  std::ranges::copy(view.type.shape, tensor.dims);
  tensor.data = view.data;
  tensor.bytes = view.type.bytes();
  return tensor;
}

Error copy_output(const TensorView& output, std::size_t index, void* buffer, std::size_t capacity,
                  std::size_t* written) {
  if (capacity > 0) QUERN_NN_NOT_NULL(buffer);
  const std::size_t size = output.type.bytes();
  *written = size;
  if (size > capacity)
    return {Errno::too_large,
            sentence("output ", index, " has ", size, " bytes, the buffer ", capacity)};
  if (size > 0) std::memcpy(buffer, output.data, size);
  return {};
}

Error write_info(const std::vector<ValueSpec>& specs, std::size_t index, quern_value_info* info) {
  QUERN_NN_NOT_NULL(info);
  if (index >= specs.size())
    return {Errno::invalid_argument, sentence("number ", index, ": the model has ", specs.size())};
  const ValueSpec& s = specs[index];
  quern_value_info value = QUERN_VALUE_INFO_INIT;
  value.name = s.name.c_str();
  value.dtype = static_cast<quern_dtype>(s.dtype);
  value.kind = static_cast<std::int32_t>(s.kind);
  value.has_rank = s.has_rank;
  value.rank = s.dims.size();
  value.dims = s.dims.data();
  value.keys = s.keys;
  return write_struct(info, value);
}

// A member function of SharedGraph: inputs() or outputs().
using Specs = const std::vector<ValueSpec>& (SharedGraph::*)() const;

quern_nn_errno count_specs(quern_nn_instance* instance, uint32_t graph, Specs specs,
                           size_t* count) {
  return with(instance, [&](Instance& i) -> Error {
    QUERN_NN_NOT_NULL(count);
    std::shared_ptr<ChargedGraph> found;
    QUERN_NN_TRY(i.graph(graph, &found));
    *count = (found->graph().*specs)().size();
    return {};
  });
}

quern_nn_errno describe(quern_nn_instance* instance, uint32_t graph, Specs specs, size_t index,
                        quern_value_info* info) {
  return with(instance, [&](Instance& i) -> Error {
    std::shared_ptr<ChargedGraph> found;
    QUERN_NN_TRY(i.graph(graph, &found));
    return write_info((found->graph().*specs)(), index, info);
  });
}

}  // namespace

// ---- graphs ------------------------------------------------------------------------------------

quern_nn_errno quern_nn_load(quern_nn_instance* instance, const quern_nn_part* parts, size_t count,
                             uint32_t encoding, uint32_t target, uint32_t* graph) {
  return with(instance, [&](Instance& i) -> Error {
    QUERN_NN_NOT_NULL(parts);
    QUERN_NN_NOT_NULL(graph);
    Encoding read_as{};
    Target wanted{};
    QUERN_NN_TRY(read_encoding(encoding, 5, &read_as));
    QUERN_NN_TRY(read_target(target, &wanted));
    std::vector<Bytes> views;
    for (const quern_nn_part& part : std::span(parts, count))
      views.emplace_back(static_cast<const std::byte*>(part.data), part.data ? part.bytes : 0);
    return i.load(views, read_as, wanted, graph);
  });
}

quern_nn_errno quern_nn_load_by_name(quern_nn_instance* instance, const char* name, size_t bytes,
                                     uint32_t* graph) {
  return with(instance, [&](Instance& i) -> Error {
    QUERN_NN_NOT_NULL(name);
    QUERN_NN_NOT_NULL(graph);
    return i.load_by_name({name, bytes}, graph);
  });
}

quern_nn_errno quern_nn_load_by_name_with_config(quern_nn_instance* instance, const char* name,
                                                 size_t bytes, const char* config,
                                                 size_t config_bytes, uint32_t* graph) {
  return with(instance, [&](Instance& i) -> Error {
    QUERN_NN_NOT_NULL(name);
    if (config_bytes > 0) QUERN_NN_NOT_NULL(config);
    QUERN_NN_NOT_NULL(graph);
    return i.load_by_name({name, bytes}, {config, config_bytes}, graph);
  });
}

quern_nn_errno quern_nn_unload(quern_nn_instance* instance, uint32_t graph) {
  return with(instance, [&](Instance& i) { return i.unload(graph); });
}

quern_nn_errno quern_nn_drop_graph(quern_nn_instance* instance, uint32_t graph) {
  return with(instance, [&](Instance& i) { return i.drop_graph(graph); });
}

quern_nn_errno quern_nn_graph_input_count(quern_nn_instance* instance, uint32_t graph,
                                          size_t* count) {
  return count_specs(instance, graph, &SharedGraph::inputs, count);
}

quern_nn_errno quern_nn_graph_output_count(quern_nn_instance* instance, uint32_t graph,
                                           size_t* count) {
  return count_specs(instance, graph, &SharedGraph::outputs, count);
}

quern_nn_errno quern_nn_graph_input_info(quern_nn_instance* instance, uint32_t graph, size_t index,
                                         quern_value_info* info) {
  return describe(instance, graph, &SharedGraph::inputs, index, info);
}

quern_nn_errno quern_nn_graph_output_info(quern_nn_instance* instance, uint32_t graph, size_t index,
                                          quern_value_info* info) {
  return describe(instance, graph, &SharedGraph::outputs, index, info);
}

// ---- contexts ----------------------------------------------------------------------------------

quern_nn_errno quern_nn_init_execution_context(quern_nn_instance* instance, uint32_t graph,
                                               const quern_nn_target* target, uint32_t* context) {
  return with(instance, [&](Instance& i) -> Error {
    QUERN_NN_NOT_NULL(context);
    std::optional<Target> wanted;
    if (target) QUERN_NN_TRY(read_target(static_cast<std::uint32_t>(*target), &wanted.emplace()));
    return i.init_execution_context(graph, wanted, context);
  });
}

quern_nn_errno quern_nn_finalize_execution_context(quern_nn_instance* instance, uint32_t context) {
  return with(instance, [&](Instance& i) { return i.finalize_execution_context(context); });
}

quern_nn_errno quern_nn_set_input(quern_nn_instance* instance, uint32_t context, size_t index,
                                  const quern_tensor* tensor) {
  return with_context(instance, context, [&](ContextUse& use) -> Error {
    TensorType type;
    Bytes bytes;
    QUERN_NN_TRY(read_tensor(tensor, &type, &bytes));
    return use.set_input(index, type, bytes);
  });
}

quern_nn_errno quern_nn_compute(quern_nn_instance* instance, uint32_t context) {
  return with_context(instance, context, [](ContextUse& use) { return use.compute(); });
}

quern_nn_errno quern_nn_get_output(quern_nn_instance* instance, uint32_t context, size_t index,
                                   void* buffer, size_t capacity, size_t* written) {
  return with_context(instance, context, [&](ContextUse& use) -> Error {
    QUERN_NN_NOT_NULL(written);
    TensorView output;
    QUERN_NN_TRY(use.output(index, &output));
    return copy_output(output, index, buffer, capacity, written);
  });
}

quern_nn_errno quern_nn_compute_single(quern_nn_instance* instance, uint32_t context) {
  return with_context(instance, context, [](ContextUse& use) { return use.compute_single(); });
}

quern_nn_errno quern_nn_get_output_single(quern_nn_instance* instance, uint32_t context,
                                          size_t index, void* buffer, size_t capacity,
                                          size_t* written) {
  return with_context(instance, context, [&](ContextUse& use) -> Error {
    QUERN_NN_NOT_NULL(written);
    TensorView output;
    QUERN_NN_TRY(use.output_single(index, &output));
    return copy_output(output, index, buffer, capacity, written);
  });
}

quern_nn_errno quern_nn_fini_single(quern_nn_instance* instance, uint32_t context) {
  return with_context(instance, context, [](ContextUse& use) { return use.fini_single(); });
}

// ---- contexts in use ---------------------------------------------------------------------------

namespace {

template <class F>
quern_nn_errno with_use(const quern_nn_use* use, const F& body) noexcept {
  return guarded(use ? use->instance.get() : nullptr, [&]() -> Error {
    QUERN_NN_NOT_NULL(use);
    return body();
  });
}

}  // namespace

quern_nn_errno quern_nn_use_begin(quern_nn_instance* instance, uint32_t context,
                                  quern_nn_use** use) {
  return with(instance, [&](Instance& i) -> Error {
    QUERN_NN_NOT_NULL(use);
    auto made = std::unique_ptr<quern_nn_use>(new quern_nn_use{instance->instance, {}});
    QUERN_NN_TRY(i.use(context, &made->use));
    *use = made.release();
    return {};
  });
}

void quern_nn_use_end(quern_nn_use* use) {
  delete use;
}

quern_nn_errno quern_nn_use_place_input(quern_nn_use* use, size_t index, const quern_tensor* type,
                                        void** place) {
  return with_use(use, [&]() -> Error {
    QUERN_NN_NOT_NULL(place);
    quern_tensor tensor;
    TensorType read;
    QUERN_NN_TRY(read_type(type, &tensor, &read));
    std::byte* bytes = nullptr;
    QUERN_NN_TRY(use->use.place_input(index, read, &bytes));
    *place = bytes;
    return {};
  });
}

quern_nn_errno quern_nn_use_compute(quern_nn_use* use) {
  return with_use(use, [&] { return use->use.compute(); });
}

quern_nn_errno quern_nn_use_output(const quern_nn_use* use, size_t index, quern_tensor* tensor) {
  return with_use(use, [&]() -> Error {
    QUERN_NN_NOT_NULL(tensor);
    TensorView view;
    QUERN_NN_TRY(use->use.output(index, &view));
    return write_struct(tensor, described(view));
  });
}

quern_nn_errno quern_nn_use_input_index(const quern_nn_use* use, const char* name, size_t* index) {
  return with_use(use, [&]() -> Error {
    QUERN_NN_NOT_NULL(name);
    QUERN_NN_NOT_NULL(index);
    return use->use.input_index(name, index);
  });
}

quern_nn_errno quern_nn_use_output_index(const quern_nn_use* use, const char* name, size_t* index) {
  return with_use(use, [&]() -> Error {
    QUERN_NN_NOT_NULL(name);
    QUERN_NN_NOT_NULL(index);
    return use->use.output_index(name, index);
  });
}

// ---- by names ----------------------------------------------------------------------------------

namespace {

Error read_named(const quern_nn_named_tensor* inputs, std::size_t count,
                 std::vector<NamedTensor>* named) {
  if (count > 0) QUERN_NN_NOT_NULL(inputs);
  for (const quern_nn_named_tensor& input : std::span(inputs, count)) {
    QUERN_NN_NOT_NULL(input.name);
    TensorType type;
    Bytes bytes;
    QUERN_NN_TRY(read_tensor(input.tensor, &type, &bytes));
    if (!type.shape.checked_elements(size_of(type.dtype)) || type.bytes() != bytes.size())
      return {Errno::invalid_argument, sentence("input ", quoted_name(input.name), ": ",
                                                type.text(), " has no ", bytes.size(), " bytes")};
    named->push_back({input.name, {type, bytes.data()}});
  }
  return {};
}

Error compute_anywhere(Instance& instance, Handle handle, std::span<const NamedTensor> inputs,
                       std::vector<NamedOutput>* outputs) {
  std::shared_ptr<ChargedGraph> graph;
  if (instance.graph(handle, &graph).ok()) return instance.compute(handle, inputs, outputs);
  ContextUse use;
  QUERN_NN_TRY(instance.use(handle, &use));
  return use.compute(inputs, outputs);
}

}  // namespace

quern_nn_errno quern_nn_compute_named(quern_nn_instance* instance, uint32_t handle,
                                      const quern_nn_named_tensor* inputs, size_t count,
                                      quern_nn_outputs** outputs) {
  return with(instance, [&](Instance& i) -> Error {
    QUERN_NN_NOT_NULL(outputs);
    std::vector<NamedTensor> named;
    QUERN_NN_TRY(read_named(inputs, count, &named));
    auto made = std::make_unique<quern_nn_outputs>();
    QUERN_NN_TRY(compute_anywhere(i, handle, named, &made->outputs));
    for (const NamedOutput& output : made->outputs)
      made->tensors.push_back(described(output.tensor.view()));
    *outputs = made.release();
    return {};
  });
}

void quern_nn_outputs_destroy(quern_nn_outputs* outputs) {
  delete outputs;
}

size_t quern_nn_outputs_count(const quern_nn_outputs* outputs) {
  return outputs ? outputs->outputs.size() : 0;
}

quern_nn_errno quern_nn_outputs_get(const quern_nn_outputs* outputs, size_t index,
                                    quern_nn_named_tensor* output) {
  return guarded([&]() -> Error {
    QUERN_NN_NOT_NULL(outputs);
    QUERN_NN_NOT_NULL(output);
    if (index >= outputs->outputs.size())
      return {Errno::invalid_argument,
              sentence("output ", index, ": there are ", outputs->outputs.size())};
    *output = {outputs->outputs[index].name.c_str(), &outputs->tensors[index]};
    return {};
  });
}
