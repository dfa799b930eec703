// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/cpu/host_context.h"

#include <algorithm>
#include <exception>
#include <functional>

#include "engine/run/unwritten.h"
#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/text_util.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/float_state.h"
#include "kernels/contract/openmp.h"

namespace quern::cpu {

Result<std::unique_ptr<HostContext>> HostContext::create(std::shared_ptr<const Program> program,
                                                         const FlightSeat* seat) {
  std::unique_ptr<HostContext> context(new HostContext(std::move(program)));
  const Program& p = *context->program_;
  context->seat_ = seat;
  std::size_t most_outputs = 0;
  for (const Step& s : p.steps) {
    BoundStep& b = context->steps_.emplace_back();
    b.inputs = static_cast<std::uint32_t>(context->inputs_.size());
    b.outputs = static_cast<std::uint32_t>(context->outputs_.size());
    if (s.kernel) {
      QUERN_ASSIGN(b.state, s.kernel->make_state());
    }
    context->inputs_.resize(b.inputs + s.inputs.size());
    context->outputs_.resize(b.outputs + s.outputs.size());
    most_outputs = std::max(most_outputs, s.outputs.size());
  }
  context->shapes_.resize(most_outputs);
  context->bound_inputs_.resize(p.inputs.size());
  context->bound_outputs_.resize(p.outputs.size());
  context->output_types_ = p.outputs;
  context->output_data_.resize(p.outputs.size());
  return context;
}

std::size_t HostContext::table_bytes() const {
  constexpr std::size_t state_bytes = 5500;  // handles of oneDNN: 2.6 takes 3,000, 3.6 these
  std::size_t bytes = sizeof *this + (inputs_.size() + outputs_.size()) * sizeof(void*);
  for (const BoundStep& s : steps_)
    bytes += sizeof s + (s.state ? s.state->calls() * state_bytes : 0);
  return bytes;
}

bool HostContext::same_bindings(const Call& call) const {
  return is_bound_ && arena_ == call.arena && std::ranges::equal(bound_inputs_, call.inputs) &&
         std::ranges::equal(bound_outputs_, call.outputs);
}

// Converts operands to pointers. Called only if an address differs from the previous run.
void HostContext::bind(const Call& call) {
  arena_ = call.arena;
  std::ranges::copy(call.inputs, bound_inputs_.begin());
  std::ranges::copy(call.outputs, bound_outputs_.begin());
  for (std::size_t i = 0; i < output_data_.size(); ++i)
    output_data_[i] = call.outputs[i] ? call.outputs[i] : arena_ + output_offset(i);
  using Operand = Step::Operand;
  const auto pointer = [&](const Operand& o, std::uint64_t in_arena) -> const std::byte* {
    switch (o.base) {
      case Operand::Base::none: return nullptr;
      case Operand::Base::arena: return arena_ + in_arena;
      case Operand::Base::input: return bound_inputs_[o.index] + o.offset;
      case Operand::Base::output: return output_data_[o.index] + o.offset;
      case Operand::Base::constant: return o.constant;
      case Operand::Base::device_arena:
      case Operand::Base::device_constant: return nullptr;
    }
    return nullptr;
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& s = program_->steps[i];
    for (std::size_t k = 0; k < s.inputs.size(); ++k) {
      const std::size_t at = steps_[i].inputs + k;
      inputs_[at] = pointer(s.inputs[k], seat_ ? seat_->places->inputs[at] : s.inputs[k].offset);
    }
    for (std::size_t k = 0; k < s.outputs.size(); ++k) {
      const std::size_t at = steps_[i].outputs + k;
      outputs_[at] = const_cast<std::byte*>(
          pointer(s.outputs[k], seat_ ? seat_->places->outputs[at] : s.outputs[k].offset));
    }
  }
  is_bound_ = true;
}

// Memory that is an input and an output is that of an update (Program::updates), as a whole: any
// other step could read what has been overwritten.
Status HostContext::check_shared_memory(const Call& call) const {
  const Program& p = *program_;
  for (std::uint32_t o = 0; o < call.outputs.size(); ++o) {
    const std::byte* const out = call.outputs[o];
    const std::size_t out_bytes = out ? p.outputs[o].bytes() : 0;
    for (std::uint32_t i = 0; i < call.inputs.size(); ++i) {
      const std::byte* const in = call.inputs[i];
      if (out_bytes == 0 || !std::less<>()(in, out + out_bytes) ||
          !std::less<>()(out, in + p.inputs[i].bytes()))
        continue;
      const auto is_this = [&](const Update& u) { return u.output == o && u.input == i; };
      if (in == out && std::ranges::any_of(p.updates, is_this)) continue;
      return {Code::invalid_argument,
              cat("an output of ", p.outputs[o].text(), " is bound to memory of an input of ",
                  p.inputs[i].text(), ", and the plan does not make it in place")};
    }
  }
  return {};
}

Status HostContext::run(const Call& call) {
  if (!same_bindings(call)) QUERN_TRY(check_shared_memory(call));
  begin(call);
  return run_steps(call, 0, steps_.size());
}

void HostContext::begin(const Call& call) {
  if (!same_bindings(call)) bind(call);
  if (!call.strings) strings_.clear();
  if (!seat_) mark_unwritten({arena_, program_->arena_bytes});
}

Status HostContext::run_steps(const Call& call, std::size_t first, std::size_t end_step) {
  if (program_->team.threads_of_library() == 1 || !in_openmp_team())
    return run_on_team(call, first, end_step);
  return guarded(
      [&] { return outside_of_team([&] { return run_on_team(call, first, end_step); }); });
}

namespace {

// Returns true if a slow loop, or one with a dozen post-ops, which are not counted, may need more
// than some 20 ms: only then is it cut in blocks.
bool may_take_long(const Cost& cost) {
  return cost.flops > cut_work(1e7) || cost.bytes > cut_work(2e7);
}

}  // namespace

Status HostContext::run_on_team(const Call& call, std::size_t first, std::size_t end_step) {
  const Team team = program_->team;
  const OpenMpThreads threads(team.threads_of_library());
  const FloatState kept = float_state();
  const FloatStatesScope states({kept, kept});
  FlightGate::Passage passage(seat_ ? seat_->gate : nullptr, seat_ ? seat_->run : 0, call.pool);
  const Parallel whole(team.threads, nullptr, call.pool);
  const Parallel in_blocks(team.threads, call.stop, call.pool);
  for (std::size_t i = first; i < end_step; ++i) {
    const Step& s = program_->steps[i];
    const KernelArgs args{{inputs_.data() + steps_[i].inputs, s.inputs.size()},
                          {outputs_.data() + steps_[i].outputs, s.outputs.size()},
                          arena_ + scratch_offset(i),
                          s.is_data_dependent ? shapes_.data() : nullptr,
                          call.strings ? call.strings : &strings_,
                          call.stop};
    QUERN_TRY(passage.step(i, call.stop));
    mark_unwritten({args.scratch, s.scratch_bytes});
    const auto begin =
        call.listener ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    if (call.stop) QUERN_TRY(call.stop->check());
    set_float_state(s.flushes_denormals ? flushing : kept);
    QUERN_TRY(
        s.kernel->run(args, steps_[i].state.get(), may_take_long(s.cost) ? in_blocks : whole));
    if (call.stop) QUERN_TRY(call.stop->check());
    if (call.listener) call.listener->on_step(s, begin, std::chrono::steady_clock::now());
    for (const Step::DynamicOutput& d : s.dynamic_outputs)
      output_types_[d.output].shape = shapes_[d.result];
  }
  return {};
}

}  // namespace quern::cpu
