// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/context.h"

#include <cstring>
#include <utility>

#include <quern/processor_time.h>

namespace quern::wasi_nn {
namespace {

std::string wanted_text(const ValueSpec& spec) {
  std::string s(name_of(spec.dtype));
  if (!spec.has_rank) return s + " of any shape";
  s += '[';
  for (std::size_t i = 0; i < spec.dims.size(); ++i) {
    if (i) s += ',';
    s += spec.dims[i] < 0 ? "?" : std::to_string(spec.dims[i]);
  }
  return s += ']';
}

bool fits(const ValueSpec& spec, const Shape& shape) {
  if (!spec.has_rank) return true;
  if (spec.dims.size() != shape.rank()) return false;
  for (std::size_t i = 0; i < shape.rank(); ++i)
    if (spec.dims[i] >= 0 && spec.dims[i] != shape[i]) return false;
  return true;
}

// Guests have no tensors of rank 0: a tensor of shape [1] is accepted for a scalar, and vice versa.
void adopt_scalar(const ValueSpec& spec, Shape& shape) {
  if (!spec.has_rank || shape.rank() + spec.dims.size() != 1 || shape.elements() != 1) return;
  shape = spec.dims.empty() ? Shape{} : Shape{1};
}

Error check_input(const ValueSpec& spec, const TensorType& type) {
  if (spec.is_sequence())
    return {Errno::unsupported_operation,
            sentence("input ", quoted_name(spec.name), " is a sequence; wasi-nn has tensors only")};
  if (type.shape.checked_elements(size_of(type.dtype)) && type.dtype == spec.dtype &&
      fits(spec, type.shape))
    return {};
  // Guests from before August 2023 use 2 for u8 and 3 for i32.
  return {Errno::invalid_argument,
          sentence("input ", quoted_name(spec.name), " is ", type.text(), ", the model wants ",
                   wanted_text(spec),
                   type.dtype == spec.dtype ? ""
                                            : " (guests built before August 2023 number u8 and i32 "
                                              "otherwise)")};
}

}  // namespace

Context::Context(std::shared_ptr<const Executable> executable,
                 const std::shared_ptr<Account>& account)
    : executable_(std::move(executable)),
      account_(account),
      inputs_(executable_->inputs().size()),
      outputs_(executable_->outputs().size()),
      tensor_bytes_(account, &Counts::tensor_bytes),
      resident_bytes_(account) {}

Error Context::create(std::shared_ptr<const Executable> executable,
                      const std::shared_ptr<Account>& account, std::unique_ptr<Context>* context) {
  constexpr std::uint64_t handle_bytes = 512;
  std::unique_ptr<Context> made(new Context(std::move(executable), account));
  QUERN_NN_TRY(made->resident_bytes_.set(
      {Kind::tables, handle_bytes + sizeof *made + made->inputs_.size() * sizeof(Input) +
                         made->outputs_.size() * sizeof(Output)}));
  *context = std::move(made);
  return {};
}

// Replaces a place that is too small, or more than four times too large.
Error Context::make_room(Place& place, std::size_t& capacity, std::size_t bytes) {
  const std::size_t wanted = place_bytes(bytes);
  if (place && wanted <= capacity && capacity / 4 <= wanted) return {};
  const KindBytes charged = resident_bytes_.amount();
  KindBytes changed = charged;
  changed[Kind::tensors] += wanted - capacity;
  QUERN_NN_TRY(resident_bytes_.set(changed));
  Place made;
  if (Error error = make_place(bytes, &made); !error.ok()) {
    (void)resident_bytes_.set(charged);
    return error;
  }
  place = std::move(made);
  capacity = wanted;
  return {};
}

// ---- inputs ------------------------------------------------------------------------------------

Error Context::place_input(std::size_t index, TensorType type, std::byte** place) {
  const std::vector<ValueSpec>& specs = executable().inputs();
  if (index >= specs.size())
    return {Errno::invalid_argument, sentence("input ", index, ": the model has ", specs.size())};
  adopt_scalar(specs[index], type.shape);
  QUERN_NN_TRY(check_input(specs[index], type));

  Input& input = inputs_[index];
  const std::uint64_t tensors = tensor_bytes_.amount();
  const std::size_t before = input.is_set && !input.adopted ? input.type.bytes() : 0;
  QUERN_NN_TRY(tensor_bytes_.set(tensors - before + type.bytes()));
  if (Error error = make_room(input.place, input.capacity, type.bytes()); !error.ok()) {
    (void)tensor_bytes_.set(tensors);
    return error;
  }
  input.adopted.reset();
  input.type = type;
  input.is_set = true;
  *place = input.place.get();
  return {};
}

Error Context::adopt_input(std::size_t index, std::shared_ptr<const HeldTensor> tensor) {
  const std::vector<ValueSpec>& specs = executable().inputs();
  if (index >= specs.size())
    return {Errno::invalid_argument, sentence("input ", index, ": the model has ", specs.size())};
  TensorType type = tensor->type();
  adopt_scalar(specs[index], type.shape);
  QUERN_NN_TRY(check_input(specs[index], type));
  Input& input = inputs_[index];
  input.type = type;
  input.is_set = true;
  input.adopted = std::move(tensor);
  return {};
}

void Context::forget_inputs() {
  for (Input& input : inputs_) {
    input.is_set = false;
    input.adopted.reset();
  }
  (void)tensor_bytes_.set(0);
  is_computed_ = false;
}

// ---- running -----------------------------------------------------------------------------------

InputTypes Context::input_types() const {
  InputTypes types(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].is_set) types[i] = inputs_[i].type;
  return types;
}

// Optional inputs that the guest leaves out are empty optionals.
Error Context::bind(Session& session) const {
  const std::vector<ValueSpec>& specs = executable().inputs();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    if (input.is_set) {
      const std::byte* data = input.adopted ? input.adopted->bytes().data() : input.place.get();
      QUERN_NN_TRY(Error(session.set_input(i, {input.type, data})));
      continue;
    }
    if (!specs[i].is_optional())
      return {Errno::invalid_argument,
              sentence("input ", i, " (", quoted_name(specs[i].name), ") is not set")};
    QUERN_NN_TRY(Error(session.set_input_none(i)));
  }
  return {};
}

Error Context::compute(SessionPool& sessions, Clock::time_point deadline,
                       const std::function<Error(const KindBytes& bytes)>& charge_compiled,
                       std::chrono::nanoseconds* time) {
  is_computed_ = false;
  const InputTypes types = input_types();
  std::unique_ptr<ChargedSession> borrowed;
  QUERN_NN_TRY(sessions.take(executable_, account_, types, &borrowed));
  const auto began = processor_time(borrowed->session());
  const auto run = [&]() -> Error {
    QUERN_NN_TRY(bind(borrowed->session()));
    QUERN_NN_TRY(borrowed->plan(types, deadline));
    QUERN_NN_TRY(charge_compiled(borrowed->compiled_bytes()));
    QUERN_NN_TRY(borrowed->run(deadline));
    QUERN_NN_TRY(charge_compiled(borrowed->compiled_bytes()));
    return keep_outputs(borrowed->session());
  };
  Error error = run();
  *time += processor_time(borrowed->session()) - began;
  sessions.give(std::move(borrowed));
  is_computed_ = error.ok();
  return error;
}

Error Context::keep_outputs(const Session& session) {
  const std::vector<ValueSpec>& specs = executable().outputs();
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = outputs_[i];
    const auto count = session.output_count(i);
    output.is_numbers =
        !specs[i].is_sequence() && specs[i].dtype != DType::string && count && *count == 1;
    if (!output.is_numbers) continue;
    const auto view = session.output(i);
    if (!view) return Error(Errno::runtime_error, std::string(view.error().message()));
    output.type = view->type;
    QUERN_NN_TRY(make_room(output.place, output.capacity, view->type.bytes()));
    if (view->type.bytes() > 0) std::memcpy(output.place.get(), view->data, view->type.bytes());
  }
  return {};
}

Error Context::output(std::size_t index, TensorView* view) const {
  const std::vector<ValueSpec>& specs = executable().outputs();
  if (index >= specs.size())
    return {Errno::invalid_argument, sentence("output ", index, ": the model has ", specs.size())};
  if (!is_computed_)
    return {Errno::runtime_error, "there is no output yet: compute has not succeeded"};
  const Output& output = outputs_[index];
  if (!output.is_numbers)
    return {Errno::unsupported_operation,
            sentence("output ", quoted_name(specs[index].name), " is no tensor of numbers")};
  *view = {output.type, output.place.get()};
  return {};
}

}  // namespace quern::wasi_nn
