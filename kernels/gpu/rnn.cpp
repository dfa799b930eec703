// SPDX-License-Identifier: Apache-2.0
// Rnn: what the input contributes to all steps is one product, the steps one dispatch a direction.
#include <array>

#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/matmul.h"

namespace quern::gpu {
namespace {

enum Input : std::uint32_t { in_x, in_w, in_r, in_b, in_lengths, in_h, in_c, in_p };

// What rnn.comp computes: sigmoid for gates, tanh for the rest.
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

}  // namespace

Selection select_rnn(const KernelRequest& request) {
  const auto& op = request.as<Rnn>();
  const Shape& x = request.shape(in_x);
  const Shape& r = request.shape(in_r);
  if (request.dtype(in_x) != DType::f32 || op.batch_first || op.clip != 0 || op.input_forget ||
      !usual_activations(op) || request.has(in_lengths) || request.has(in_p) || x.elements() == 0)
    return not_for_me();
  const std::int64_t steps = x[0], batch = x[1], input = x[2];
  const std::int64_t directions = r[0], wide = r[1], hidden = r[2];
  constexpr std::int64_t most_hidden = 1024;  // of the shared memory that every device has
  if (hidden == 0 || hidden > most_hidden || steps * batch * wide >= (std::int64_t{1} << 31))
    return not_for_me();
  KernelChoice choice;
  choice.input_layouts.resize(request.inputs.size());
  choice.input_layouts[in_w] = units_innermost(request.shape(in_w));
  choice.input_layouts[in_r] = units_innermost(r);
  const std::uint64_t bytes = static_cast<std::uint64_t>(steps * batch * wide) * sizeof(float);
  choice.scratch_bytes = bytes;
  choice.implementation = "recurrent";
  const Shape gates_shape = {steps * batch, wide};
  const Layout gates_layout = Layout::row_major(gates_shape);
  for (std::int64_t dir = 0; dir < directions; ++dir) {
    const Product p{
        .rows = steps * batch, .columns = wide, .depth = input, .a_row = input, .w_row = wide};
    BufferUse w = BufferUse::input(in_w);
    // Every direction's weights must begin where a binding may.
    w.offset = static_cast<std::uint64_t>(dir * wide * input) * sizeof(float);
    if (w.offset % 256 != 0) return not_for_me();
    w.bytes = static_cast<std::uint64_t>(wide * input) * sizeof(float);
    const Steps none({gates_shape, gates_layout, wide % 4 == 0}, true);
    auto gates = product_dispatch(p, BufferUse::input(in_x), w, BufferUse::scratch(0, bytes, true),
                                  none, *request.gpu);
    if (!gates) return not_for_me();
    choice.gpu.dispatches.push_back(std::move(*gates));

    const bool reverse = op.direction == Direction::reverse || dir == 1;
    Dispatch d;
    d.shader = "rnn";
    const std::uint32_t local =
        std::min(request.gpu->software ? 64U : 256U, (word(hidden) + 7) / 8 * 8);
    d.constants = {local,
                   op.kind == RnnKind::rnn   ? 0U
                   : op.kind == RnnKind::gru ? 1U
                                             : 2U,
                   word(hidden),
                   reverse,
                   request.has(in_b),
                   request.has(in_h),
                   request.has(in_c),
                   request.wants(0),
                   request.wants(1),
                   request.wants(2),
                   op.linear_before_reset};
    for (std::int64_t v : {steps, batch, dir * wide * hidden, dir * 2 * wide, dir * batch * hidden,
                           hidden, dir * batch * hidden, directions * batch * hidden, hidden})
      d.push.push_back(word(v));
    const auto optional = [&](std::uint32_t i) {
      return BufferUse::input(request.has(i) ? i : std::uint32_t{in_r});
    };
    // An output that nobody wants is bound to what is read anyway, and not written.
    const auto wanted = [&](std::uint32_t i) {
      return request.wants(i) ? BufferUse::output(i) : BufferUse::input(in_r);
    };
    d.buffers = {BufferUse::scratch(0, bytes, false),
                 BufferUse::input(in_r),
                 optional(in_b),
                 optional(in_h),
                 optional(in_c),
                 wanted(0),
                 wanted(1),
                 wanted(2)};
    d.groups = linear_groups(static_cast<std::uint64_t>(batch), 1, *request.gpu);
    choice.gpu.dispatches.push_back(std::move(d));
  }
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
