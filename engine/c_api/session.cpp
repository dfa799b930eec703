// SPDX-License-Identifier: Apache-2.0
// Sessions: inputs, runs, outputs, plans and profiles.
#include <chrono>
#include <limits>

#include "engine/c_api/handles.h"

using namespace quern;
using namespace quern::c_api;

quern_status quern_session_create(const quern_executable* executable, int32_t threads,
                                  quern_session** session) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(executable);
    QUERN_NOT_NULL(session);
    QUERN_ASSIGN(auto made, Session::create(executable->executable, {.threads = threads}));
    *session = new quern_session(std::move(made));
    return {};
  });
}

void quern_session_destroy(quern_session* session) {
  if (session && !session->is_of_group) delete session;
}

// ---- inputs ------------------------------------------------------------------------------------

Result<TensorType> quern::c_api::type_of(const quern_tensor* tensor) {
  QUERN_ASSIGN(const quern_tensor t, read_struct(tensor));
  if (t.rank > QUERN_MAX_RANK)
    return Status(Code::invalid_argument, "a tensor of rank " + std::to_string(t.rank) +
                                              ", at most " + std::to_string(QUERN_MAX_RANK) +
                                              " are supported");
  if (quern_dtype_size(t.dtype) == 0)
    return Status(Code::invalid_argument, std::to_string(t.dtype) + " is no element type");
  const TensorType type{static_cast<DType>(t.dtype), Shape(std::span(t.dims, t.rank))};
  const auto elements = type.shape.checked_elements(size_of(type.dtype));
  if (!elements) return Status(Code::invalid_argument, type.text() + " is no size of a tensor");
  if (t.bytes != type.bytes())
    return Status(Code::invalid_argument, type.text() + " takes " + std::to_string(type.bytes()) +
                                              " bytes, not " + std::to_string(t.bytes));
  return type;
}

void quern::c_api::write_type(const TensorType& type, quern_tensor* value) {
  value->dtype = static_cast<quern_dtype>(type.dtype);
  value->rank = static_cast<std::uint32_t>(type.shape.rank());
  std::copy(type.shape.begin(), type.shape.end(), value->dims);
  value->bytes = type.bytes();
}

Result<TensorView> quern::c_api::view_of(const quern_tensor* tensor) {
  QUERN_ASSIGN(const TensorType type, type_of(tensor));
  QUERN_ASSIGN(const quern_tensor t, read_struct(tensor));
  return TensorView{type, static_cast<const std::byte*>(t.data)};
}

namespace {

Status set_copy(quern_session& session, std::size_t index, TensorView view) {
  if (index >= session.copies.size() || !view.data) return session.session->set_input(index, view);
  if (view.type.dtype == DType::string)
    return {Code::invalid_argument, "strings can be borrowed, not copied"};
  auto& [bound, spare] = session.copies[index];
  spare.reserve(view.type.bytes() + 1);  // an address even without elements
  spare.assign(view.data, view.data + view.type.bytes());
  view.data = spare.data();
  QUERN_TRY(session.session->set_input(index, view));
  std::swap(bound, spare);
  return {};
}

}  // namespace

quern_status quern_session_set_input(quern_session* session, size_t index,
                                     const quern_tensor* tensor, quern_input_mode mode) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    QUERN_NOT_NULL(tensor);
    QUERN_ASSIGN(const TensorView view, view_of(tensor));
    if (mode == QUERN_BORROW) return session->session->set_input(index, view);
    if (mode == QUERN_COPY) return set_copy(*session, index, view);
    return {Code::invalid_argument, "no input mode " + std::to_string(mode)};
  });
}

quern_status quern_session_set_input_sequence(quern_session* session, size_t index,
                                              const quern_tensor* tensors, size_t count) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    if (count) QUERN_NOT_NULL(tensors);
    std::vector<TensorView> views;
    for (std::size_t i = 0; i < count; ++i) {
      QUERN_ASSIGN(views.emplace_back(), view_of(tensor_at(tensors, i)));
    }
    return session->session->set_input_sequence(index, views);
  });
}

quern_status quern_session_set_input_none(quern_session* session, size_t index) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    return session->session->set_input_none(index);
  });
}

// ---- running -----------------------------------------------------------------------------------

quern_status quern_session_bind_output(quern_session* session, size_t index, void* data,
                                       size_t capacity) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    return session->session->bind_output(index, static_cast<std::byte*>(data), capacity);
  });
}

quern_status quern_session_request_outputs(quern_session* session, const size_t* indices,
                                           size_t count) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    if (count) QUERN_NOT_NULL(indices);
    return session->session->request_outputs({indices, count});
  });
}

namespace {

using Clock = std::chrono::steady_clock;

Status run(quern_session& s, Clock::time_point deadline) {
  s.profile.clear();
  if (!s.profiling) return s.session->run_until(deadline);
  QUERN_ASSIGN(s.profile, s.session->profile(deadline));
  return {};
}

}  // namespace

quern_status quern_session_run(quern_session* session) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    return run(*session, Clock::time_point::max());
  });
}

quern_status quern_session_run_within(quern_session* session, uint64_t microseconds) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    return run(*session, deadline_in(microseconds));
  });
}

quern_status quern_session_submit(quern_session* session) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    session->profile.clear();
    return session->session->submit();
  });
}

quern_status quern_session_wait(quern_session* session) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    return session->session->wait();
  });
}

quern_status quern_session_wait_within(quern_session* session, uint64_t microseconds) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    return session->session->wait_until(deadline_in(microseconds));
  });
}

quern_status quern_session_output_type(const quern_session* session, size_t index,
                                       quern_tensor* tensor) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    QUERN_NOT_NULL(tensor);
    QUERN_ASSIGN(const TensorType type, session->session->output_type(index));
    quern_tensor value{};
    write_type(type, &value);
    return write_struct(tensor, value);
  });
}

quern_status quern_session_prepare(quern_session* session) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    return session->session->prepare();
  });
}

void quern_session_cancel(quern_session* session) {
  if (session) session->session->cancel();
}
void quern_session_clear_cancel(quern_session* session) {
  if (session) session->session->clear_cancel();
}

// ---- tensors of a device -----------------------------------------------------------------------

quern_status quern_device_tensor_create(const quern_device* device, const quern_tensor* type,
                                        quern_device_tensor** tensor) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(type);
    QUERN_NOT_NULL(tensor);
    QUERN_ASSIGN(const TensorType wanted, type_of(type));
    QUERN_ASSIGN(auto made, DeviceTensor::create(device ? device->device : nullptr, wanted));
    *tensor = new quern_device_tensor{std::move(made)};
    return {};
  });
}

void quern_device_tensor_destroy(quern_device_tensor* tensor) {
  delete tensor;
}

quern_status quern_device_tensor_write(quern_device_tensor* tensor, const quern_tensor* from) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(tensor);
    QUERN_NOT_NULL(from);
    QUERN_ASSIGN(const TensorView view, view_of(from));
    return tensor->tensor->write(view);
  });
}

quern_status quern_device_tensor_read(quern_device_tensor* tensor, quern_tensor* to) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(tensor);
    QUERN_NOT_NULL(to);
    QUERN_ASSIGN(const TensorView view, tensor->tensor->read());
    quern_tensor value{};
    write_type(view.type, &value);
    value.data = view.data;
    return write_struct(to, value);
  });
}

quern_status quern_session_set_input_device(quern_session* session, size_t index,
                                            quern_device_tensor* tensor) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    QUERN_NOT_NULL(tensor);
    return session->session->set_input(index, tensor->tensor);
  });
}

quern_status quern_session_bind_output_device(quern_session* session, size_t index,
                                              quern_device_tensor* tensor) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    return session->session->bind_output(index, tensor ? tensor->tensor : nullptr);
  });
}

// ---- outputs -----------------------------------------------------------------------------------

namespace {

Status write_tensor(const TensorView& view, quern_tensor* tensor) {
  quern_tensor value{};
  write_type(view.type, &value);
  value.data = view.data;
  return write_struct(tensor, value);
}

}  // namespace

quern_status quern_session_output(const quern_session* session, size_t index,
                                  quern_tensor* tensor) {
  return quern_session_output_element(session, index, 0, tensor);
}

quern_status quern_session_output_length(const quern_session* session, size_t index,
                                         size_t* length) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    QUERN_NOT_NULL(length);
    QUERN_ASSIGN(*length, session->session->output_count(index));
    return {};
  });
}

quern_status quern_session_output_element(const quern_session* session, size_t index,
                                          size_t element, quern_tensor* tensor) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    QUERN_NOT_NULL(tensor);
    QUERN_ASSIGN(const TensorView view, session->session->output_element(index, element));
    return write_tensor(view, tensor);
  });
}

quern_status quern_session_output_map(const quern_session* session, size_t index, size_t row,
                                      quern_tensor* keys, quern_tensor* values) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    QUERN_NOT_NULL(keys);
    QUERN_NOT_NULL(values);
    QUERN_ASSIGN(const Session::MapView map, session->session->output_map(index, row));
    QUERN_TRY(write_tensor(map.keys, keys));
    return write_tensor(map.values, values);
  });
}

// ---- plans and profiles ------------------------------------------------------------------------

quern_status quern_session_plan_info(const quern_session* session, quern_plan_info* info) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    QUERN_NOT_NULL(info);
    const PlanInfo plan = session->session->plan_info();
    quern_plan_info value{};
    value.segments = plan.segments;
    value.steps = plan.steps.size();
    value.arena_bytes = plan.arena_bytes;
    value.arena_lower_bound = plan.arena_lower_bound;
    value.unshared_bytes = plan.unshared_bytes;
    value.weight_bytes = plan.weight_bytes;
    value.resident_bytes = session->session->resident_bytes();
    value.session_bytes = plan.memory.total() - plan.memory.weights;
    value.is_complete = plan.memory.is_complete;
    return write_struct(info, value);
  });
}

quern_status quern_session_warning(quern_session* session, const char** warning) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    QUERN_NOT_NULL(warning);
    session->warning = session->session->plan_info().warning;
    *warning = session->warning.c_str();
    return {};
  });
}

quern_status quern_session_trim(quern_session* session) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    session->session->trim();
    return {};
  });
}

quern_status quern_session_enable_profile(quern_session* session, int32_t on) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    session->profiling = on != 0;
    return {};
  });
}

size_t quern_session_profile_count(const quern_session* session) {
  return session ? session->profile.size() : 0;
}

quern_status quern_session_profile_entry(const quern_session* session, size_t index,
                                         quern_profile_entry* entry) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(session);
    QUERN_NOT_NULL(entry);
    if (index >= session->profile.size())
      return {Code::invalid_argument, "profile entry " + std::to_string(index) + ": there are " +
                                          std::to_string(session->profile.size())};
    const Session::Timing& t = session->profile[index];
    quern_profile_entry value{};
    value.node = t.step.node.c_str();
    value.op = t.step.op.c_str();
    value.shapes = t.step.shapes.c_str();
    value.implementation = t.step.implementation.c_str();
    value.begin_us = t.begin_us;
    value.end_us = t.end_us;
    value.flops = t.step.flops;
    value.bytes = t.step.bytes;
    return write_struct(entry, value);
  });
}
