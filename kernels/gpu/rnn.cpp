// SPDX-License-Identifier: Apache-2.0
// Rnn: the input's contribution to all steps is one product; the steps are one dispatch per
// direction.
#include <algorithm>
#include <array>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/unary_kind.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/matmul.h"

namespace quern::gpu {
namespace {

enum Input : std::uint32_t { in_x, in_w, in_r, in_b, in_lengths, in_h, in_c, in_p };

// True for the activations that rnn.comp computes: sigmoid for gates, tanh for the rest.
bool usual_activations(const Rnn& op) {
  for (std::size_t i = 0; i < op.activations.size(); ++i) {
    const std::size_t each = op.kind == RnnKind::rnn ? 1 : op.kind == RnnKind::gru ? 2 : 3;
    const bool gate = op.kind != RnnKind::rnn && i % each == 0;
    if (op.activations[i].kind != (gate ? UnaryKind::sigmoid : UnaryKind::tanh)) return false;
  }
  return true;
}

Layout units_innermost(const Shape& shape) {
  constexpr std::array<std::int64_t, 3> order = {0, 2, 1};
  return Layout::permuted(shape, order);
}

// The sizes of the layer, for its dispatches.
struct Layer {
  std::int64_t steps, batch, input, directions, wide, hidden;
  std::uint64_t gates_bytes, state_bytes;  // of the parts of scratch memory

  std::uint64_t scratch_bytes() const { return gates_bytes + 2 * state_bytes; }
  BufferUse gates(BufferAccess access) const { return BufferUse::scratch(0, gates_bytes, access); }
  // h and c between two dispatches.
  BufferUse state(int which, BufferAccess access) const {
    return BufferUse::scratch(gates_bytes + static_cast<std::uint64_t>(which) * state_bytes,
                              state_bytes, access);
  }
};

Layer layer_of(const KernelRequest& request) {
  const Shape& x = request.shape(in_x);
  const Shape& r = request.shape(in_r);
  const bool batch_first = request.as<Rnn>().batch_first;
  Layer l{x[batch_first ? 1 : 0], x[batch_first ? 0 : 1], x[2], r[0], r[1], r[2], 0, 0};
  const auto padded = [](std::int64_t floats) {
    return round_up(static_cast<std::uint64_t>(floats) * sizeof(float), 256);
  };
  l.gates_bytes = padded(l.steps * l.batch * l.wide);
  l.state_bytes = padded(l.batch * l.hidden);
  return l;
}

// A dispatch of the input's contribution to the gates of all steps.
std::optional<Dispatch> input_gates(const KernelRequest& request, const Layer& l,
                                    std::int64_t direction) {
  const Product p{.rows = l.steps * l.batch,
                  .columns = l.wide,
                  .depth = l.input,
                  .a_row = l.input,
                  .w_row = l.wide,
                  .w_first = direction * l.wide * l.input,
                  .may_round = request.half_products};
  const Shape shape = {p.rows, p.columns};
  const Layout layout = Layout::row_major(shape);
  const Steps none({shape, layout, l.wide % 4 == 0}, StepSet::few);
  return product_dispatch(p, BufferUse::input(in_x), BufferUse::input(in_w),
                          l.gates(BufferAccess::write), none, *request.gpu);
}

// A dispatch of steps [first, end) of one direction.
Dispatch steps_dispatch(const KernelRequest& request, const Layer& l, std::int64_t direction,
                        std::uint32_t local, std::int64_t first, std::int64_t end) {
  const auto& op = request.as<Rnn>();
  const bool starts = first == 0;
  const bool ends = end == l.steps;
  const bool reverse = op.direction == Direction::reverse || direction == 1;
  const std::uint32_t kind = op.kind == RnnKind::rnn ? 0 : op.kind == RnnKind::gru ? 1 : 2;
  Dispatch d;
  d.shader = "rnn";
  d.constants = {local,
                 kind,
                 word(l.hidden),
                 reverse,
                 request.has(in_b),
                 !starts || request.has(in_h),
                 !starts || request.has(in_c),
                 request.wants(0),
                 !ends || request.wants(1),
                 !ends || request.wants(2),
                 op.linear_before_reset};
  // The offset of this direction in the states and in y, and the strides between sequences of the
  // batch. Between two dispatches the states are stored separately.
  const bool batch_first = op.batch_first;
  const std::int64_t own = direction * l.hidden * (batch_first ? 1 : l.batch);
  const std::int64_t each = l.hidden * (batch_first ? l.directions : 1);
  const std::int64_t y_step = l.directions * l.hidden * (batch_first ? 1 : l.batch);
  const std::int64_t y_batch = batch_first ? l.steps * l.directions * l.hidden : l.hidden;
  for (std::int64_t v : {first, end, l.steps, batch_first ? std::int64_t{1} : l.batch,
                         batch_first ? l.steps : std::int64_t{1}, direction * l.wide * l.hidden,
                         direction * 2 * l.wide, starts ? own : 0, starts ? each : l.hidden,
                         ends ? own : 0, ends ? each : l.hidden, own, y_step, y_batch})
    d.push.push_back(word(v));
  // Absent operands are bound to a buffer that is read anyway, unwanted outputs to one that is
  // written anyway: barriers go by what a shader declares.
  const BufferUse any = BufferUse::input(in_r);
  const BufferUse any_written = BufferUse::output(request.wants(0) ? 0 : request.wants(1) ? 1 : 2);
  const auto begin_state = [&](std::uint32_t i, int which) {
    if (!starts) return l.state(which, BufferAccess::read);
    return request.has(i) ? BufferUse::input(i) : any;
  };
  const auto end_state = [&](std::uint32_t i, int which) {
    if (!ends) return l.state(which, BufferAccess::write);
    return request.wants(i) ? BufferUse::output(i) : any_written;
  };
  d.buffers = {l.gates(BufferAccess::read),
               any,
               request.has(in_b) ? BufferUse::input(in_b) : any,
               begin_state(in_h, 0),
               begin_state(in_c, 1),
               request.wants(0) ? BufferUse::output(0) : any_written,
               end_state(1, 0),
               end_state(2, 1)};
  // Products of one row with weights that each step reads again.
  d.operations =
      8.0 * static_cast<double>((end - first) * l.batch) * static_cast<double>(l.wide * l.hidden);
  d.groups = linear_groups(static_cast<std::uint64_t>(l.batch), 1, *request.gpu);
  return d;
}

bool suits_rnn(const KernelRequest& request) {
  const auto& op = request.as<Rnn>();
  const Shape& x = request.shape(in_x);
  const std::int64_t hidden = request.shape(in_r)[2];
  constexpr std::int64_t most_hidden = 1024;  // of the shared memory that every device has
  return request.dtype(in_x) == DType::f32 && op.clip == 0 && !op.input_forget &&
         usual_activations(op) && !request.has(in_lengths) && !request.has(in_p) &&
         x.elements() > 0 && hidden > 0 && hidden <= most_hidden &&
         x[0] * x[1] * request.shape(in_r)[1] < (std::int64_t{1} << 31);
}

}  // namespace

Selection select_rnn(const KernelRequest& request) {
  if (!suits_rnn(request)) return unsupported();
  const Layer l = layer_of(request);
  const GpuTarget& target = *request.gpu;
  const std::uint32_t local = std::min(target.max_invocations, round_up(word(l.hidden), 8));
  // Of the steps, as many as the loops of an invocation allow; on a device in software, where one
  // processor goes through all lanes of a sequence, no more than end soon.
  std::int64_t at_once = l.steps;
  const std::int64_t each =
      2 * (l.hidden + 2) * ceil_div_word(static_cast<std::uint64_t>(l.hidden), local);
  const std::int64_t lanes = target.software ? ceil_div<std::int64_t>(local, 8) : 1;
  while (at_once > 1 && !can_loop(at_once * each * lanes, target)) at_once = ceil_div(at_once, 2);
  KernelChoice choice;
  for (std::int64_t direction = 0; direction < l.directions; ++direction) {
    auto gates = input_gates(request, l, direction);
    if (!gates) return unsupported();
    choice.on_gpu().dispatches.push_back(std::move(*gates));
    for (std::int64_t first = 0; first < l.steps; first += at_once)
      choice.on_gpu().dispatches.push_back(
          steps_dispatch(request, l, direction, local, first, std::min(first + at_once, l.steps)));
  }
  choice.input_layouts.resize(request.inputs.size());
  choice.input_layouts[in_w] = units_innermost(request.shape(in_w));
  choice.input_layouts[in_r] = units_innermost(request.shape(in_r));
  choice.scratch_bytes = l.scratch_bytes();
  choice.implementation = "recurrent";
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
