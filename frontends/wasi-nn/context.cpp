// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/context.h"

#include <algorithm>
#include <utility>

namespace quern::wasi_nn {
namespace {

bool is_sequence(const ValueSpec& spec) {
  return spec.kind == ValueSpec::Kind::sequence || spec.kind == ValueSpec::Kind::optional_sequence;
}

bool is_optional(const ValueSpec& spec) {
  return spec.kind == ValueSpec::Kind::optional_tensor ||
         spec.kind == ValueSpec::Kind::optional_sequence;
}

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
  if (is_sequence(spec))
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

// Converts an error of a plan or a run: invalid_argument, invalid_encoding and not_found become
// runtime_error.
Error run_error(const Status& status) {
  Error error(status);
  if (error.code == Errno::invalid_argument || error.code == Errno::invalid_encoding ||
      error.code == Errno::not_found)
    error.code = Errno::runtime_error;
  return error;
}

}  // namespace

Context::Context(std::unique_ptr<Session> session, const std::shared_ptr<Account>& account)
    : session_(std::move(session)),
      account_(account),
      inputs_(session_->executable().inputs().size()),
      tensor_bytes_(account, &Counts::tensor_bytes),
      resident_bytes_(account, &Counts::resident_bytes) {}

Error Context::create(std::shared_ptr<const Executable> executable,
                      const std::shared_ptr<Account>& account, std::unique_ptr<Context>* context) {
  auto session = Session::create(std::move(executable));
  if (!session) return Error(session.error());
  std::unique_ptr<Context> made(new Context(std::move(*session), account));
  QUERN_NN_TRY(made->charge_memory(0));
  *context = std::move(made);
  return {};
}

// Tables, and what a handle takes that holds this.
std::uint64_t Context::own_bytes() const {
  constexpr std::uint64_t handle_bytes = 512;
  const Executable& e = executable();
  return handle_bytes + sizeof *this + session_->table_bytes() +
         256 * (e.inputs().size() + e.outputs().size());
}

Error Context::charge_memory(std::uint64_t arena_bytes) {
  QUERN_NN_TRY(resident_bytes_.set(own_bytes() + input_capacity_ + arena_bytes));
  arena_bytes_ = arena_bytes;
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
  if (Error error = exchange(input, index, type); !error.ok()) {
    (void)tensor_bytes_.set(tensors);
    return error;
  }
  input.adopted.reset();
  take_over(input, type);
  *place = input.place.get();
  return {};
}

void Context::take_over(Input& input, const TensorType& type) {
  if (!input.is_set || input.type != type) is_planned_ = false;
  input.type = type;
  input.is_set = true;
}

// Replaces a place that is too small, or more than four times too large. The session releases the
// old place before it is freed.
Error Context::exchange(Input& input, std::size_t index, const TensorType& type) {
  const std::size_t wanted = place_bytes(type.bytes());
  if (input.place && wanted <= input.capacity && input.capacity / 4 <= wanted)
    return Error(session_->set_input(index, {type, input.place.get()}));

  const std::uint64_t charged = resident_bytes_.amount();
  QUERN_NN_TRY(resident_bytes_.set(charged - input.capacity + wanted));
  Place place;
  Error error = make_place(type.bytes(), &place);
  if (error.ok()) error = Error(session_->set_input(index, {type, place.get()}));
  if (!error.ok()) {
    (void)resident_bytes_.set(charged);
    return error;
  }
  input_capacity_ += wanted - input.capacity;
  input.place = std::move(place);
  input.capacity = wanted;
  return {};
}

Error Context::adopt_input(std::size_t index, std::shared_ptr<const HeldTensor> tensor) {
  const std::vector<ValueSpec>& specs = executable().inputs();
  if (index >= specs.size())
    return {Errno::invalid_argument, sentence("input ", index, ": the model has ", specs.size())};
  TensorType type = tensor->type();
  adopt_scalar(specs[index], type.shape);
  QUERN_NN_TRY(check_input(specs[index], type));
  QUERN_NN_TRY(Error(session_->set_input(index, {type, tensor->bytes().data()})));
  Input& input = inputs_[index];
  if (input.is_set && !input.adopted)
    QUERN_NN_TRY(tensor_bytes_.set(tensor_bytes_.amount() - input.type.bytes()));
  take_over(input, type);
  input.adopted = std::move(tensor);
  return {};
}

void Context::forget_inputs() {
  for (Input& input : inputs_) {
    input.is_set = false;
    input.adopted.reset();
  }
  (void)tensor_bytes_.set(0);
  is_planned_ = is_computed_ = false;
}

// Sets optional inputs that the guest leaves out to empty optionals.
Error Context::settle_optional_inputs() {
  const std::vector<ValueSpec>& specs = executable().inputs();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_set) continue;
    if (!is_optional(specs[i]))
      return {Errno::invalid_argument,
              sentence("input ", i, " (", quoted_name(specs[i].name), ") is not set")};
    QUERN_NN_TRY(Error(session_->set_input_none(i)));
  }
  return {};
}

// ---- running -----------------------------------------------------------------------------------

Error Context::plan() {
  if (!is_planned_) {
    is_computed_ = false;
    QUERN_NN_TRY(settle_optional_inputs());
    if (const Status status = session_->prepare(); !status.ok()) return run_error(status);
    const PlanInfo info = session_->plan_info();
    // Arenas of earlier shapes are still held.
    QUERN_NN_TRY(charge_memory(std::max(info.arena_bytes, session_->resident_bytes())));
    compiled_bytes_ = info.weight_bytes + executable().table_bytes();
    has_one_plan_ = info.memory.is_complete;
    is_planned_ = true;
  }
  return {};
}

Error Context::run(Clock::time_point deadline) {
  is_computed_ = false;
  if (const std::uint64_t left = account_->headroom(&Counts::resident_bytes); left != no_limit)
    session_->limit_memory(
        static_cast<std::size_t>(std::max<std::uint64_t>(left + arena_bytes_, 1)));
  if (const Status status = session_->run_until(deadline); !status.ok()) return run_error(status);
  // Memory that depends on data is known only now.
  const std::uint64_t held = session_->resident_bytes();
  if (!has_one_plan_)
    compiled_bytes_ = session_->plan_info().weight_bytes + executable().table_bytes();
  if (held > arena_bytes_ || !has_one_plan_) {
    if (Error error = charge_memory(std::max(held, arena_bytes_)); !error.ok()) {
      session_->trim();
      is_planned_ = false;
      return error;
    }
  }
  is_computed_ = true;
  return {};
}

Error Context::output(std::size_t index, TensorView* view) const {
  const std::vector<ValueSpec>& specs = executable().outputs();
  if (index >= specs.size())
    return {Errno::invalid_argument, sentence("output ", index, ": the model has ", specs.size())};
  if (!is_computed_)
    return {Errno::runtime_error, "there is no output yet: compute has not succeeded"};
  const auto count = session_->output_count(index);
  if (is_sequence(specs[index]) || specs[index].dtype == DType::string || !count || *count != 1)
    return {Errno::unsupported_operation,
            sentence("output ", quoted_name(specs[index].name), " is no tensor of numbers")};
  const auto output = session_->output(index);
  if (!output) return run_error(output.error());
  *view = *output;
  return {};
}

}  // namespace quern::wasi_nn
