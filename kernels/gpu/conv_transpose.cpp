// SPDX-License-Identifier: Apache-2.0
// ConvTranspose over one or two dimensions, channels last, on conv_transpose.comp.
#include "kernels/conv_transpose.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "graph/text_util.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/steps.h"

namespace quern::gpu {
namespace {

// From [channel][output of the group][taps] to [group][tap][channel of the group][output of the
// group, padded to four].
GpuConstant pack(const ConstantSource& source, const Shape& w, std::int64_t groups) {
  const std::int64_t taps = w.elements(2);
  const std::int64_t channels = w[0] / groups;
  const std::int64_t padded = (w[1] + 3) / 4 * 4;
  GpuConstant c;
  c.key = cat("gpu-deconv|", groups, "|", source.key());
  c.bytes = static_cast<std::size_t>(w[0] * taps * padded) * sizeof(float);
  c.fill = [&source, w, taps, channels, padded](std::byte* to) -> Status {
    QUERN_ASSIGN(const Tensor t, source.get());
    const std::byte* from = t.data();
    for (std::int64_t i = 0; i < w[0]; ++i)
      for (std::int64_t o = 0; o < w[1]; ++o)
        for (std::int64_t tap = 0; tap < taps; ++tap, from += 4) {
          const std::int64_t row = (i / channels * taps + tap) * channels + i % channels;
          std::memcpy(to + (row * padded + o) * 4, from, 4);
        }
    return {};
  };
  return c;
}

}  // namespace

Selection select_conv_transpose(const KernelRequest& request) {
  const auto& op = request.as<ConvTranspose>();
  const Shape& x = request.shape(0);
  const Shape& w = request.shape(1);
  const Shape& y = request.outputs[0].shape;
  const std::size_t spatial = x.rank() - 2;
  if (request.dtype(0) != DType::f32 || !request.inputs[1].constant || spatial < 1 || spatial > 2 ||
      x.elements() == 0 || y.elements() == 0 || y.elements() >= (std::int64_t{1} << 31))
    return not_for_me();
  const ResolvedWindow window =
      resolve_transposed_window(op, x.dims().subspan(2), w.dims().subspan(2));
  Dispatch d;
  d.shader = "conv_transpose";
  const auto push_pair = [&](const auto& value, std::int64_t missing) {
    std::array<std::int64_t, 2> hw = {missing, missing};
    for (std::size_t s = 0; s < spatial; ++s) hw[s + 2 - spatial] = value(s);
    d.push.push_back(hw_word(hw));
    return std::ranges::all_of(hw, [](std::int64_t v) { return v >= 0 && v < 65536; });
  };
  const bool small = push_pair([&](std::size_t s) { return x[s + 2]; }, 1) &&
                     push_pair([&](std::size_t s) { return y[s + 2]; }, 1) &&
                     push_pair([&](std::size_t s) { return window.kernel[s]; }, 1) &&
                     push_pair([&](std::size_t s) { return window.strides[s]; }, 1) &&
                     push_pair([&](std::size_t s) { return window.pads_begin[s]; }, 0) &&
                     push_pair([&](std::size_t s) { return window.dilations[s]; }, 1);
  const std::int64_t iterations = w.elements(2) * (w[0] / op.group + 2);
  if (!small || !can_loop(iterations, *request.gpu)) return not_for_me();
  const std::int64_t vectors = (w[1] + 3) / 4;
  const std::int64_t work = y.elements() / y[1] * op.group * vectors;
  for (std::int64_t v : {x[1], x[1] / op.group, y[1], w[1], op.group, work})
    d.push.push_back(word(v));
  const std::uint32_t local = lanes(*request.gpu);
  d.constants = {local, w[1] % 4 == 0};
  d.buffers = {BufferUse::input(0), BufferUse::constant(0), BufferUse::output(0)};
  d.groups = linear_groups(static_cast<std::uint64_t>(work), local, *request.gpu);

  KernelChoice choice;
  choice.input_layouts.resize(request.inputs.size());
  choice.input_layouts[0] = Layout::channels_last(x);
  choice.output_layouts = {Layout::channels_last(y)};
  choice.packed_inputs = {false, true};
  choice.gpu.constants.push_back(pack(*request.inputs[1].constant, w, op.group));
  Steps steps({y, choice.output_layouts[0], w[1] % 4 == 0}, true);
  if (request.has(2)) (void)steps.add_bias(2, y[1]);
  choice.post_ops_taken = steps.add_post_ops(request);
  steps.ask_layouts(choice.input_layouts);
  steps.finish(d);
  choice.implementation = "gathered";
  choice.gpu.dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
