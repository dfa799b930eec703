// SPDX-License-Identifier: Apache-2.0
// Concat: one copy per operand, each to its part of the result.
#include "graph/ops/concat.h"

#include "kernels/gpu/copy.h"
#include "kernels/gpu/kernels.h"

namespace quern::gpu {

Selection select_concat(const KernelRequest& request) {
  const TensorType& out = request.outputs[0];
  const std::size_t rank = out.shape.rank();
  const std::size_t d = positive_axis(request.as<Concat>().axis, rank);
  const TensorDesc& first = request.inputs[0].desc;
  const Layout layout = is_channels_last(first) && !is_row_major(first)
                            ? Layout::channels_last(out.shape)
                            : Layout::row_major(out.shape);
  KernelChoice choice;
  std::int64_t at = 0;
  for (std::uint32_t i = 0; i < request.inputs.size(); ++i) {
    const Shape& shape = request.shape(i);
    choice.input_layouts.push_back(layout == Layout::row_major(out.shape)
                                       ? Layout::row_major(shape)
                                       : Layout::channels_last(shape));
    if (shape.elements() == 0) continue;
    auto copy = copy_dispatch(out.dtype, shape, {choice.input_layouts.back().strides},
                              {layout.strides, at * layout.strides[d]}, *request.gpu);
    if (!copy) return unsupported();
    copy->buffers = {BufferUse::input(i), BufferUse::output(0)};
    choice.on_gpu().dispatches.push_back(std::move(*copy));
    if (same_placement(shape, choice.input_layouts.back(), layout))
      choice.copies.push_back(
          {i, static_cast<std::size_t>(at * layout.strides[d]) * size_of(out.dtype)});
    at += shape[d];
  }
  if (choice.on_gpu().dispatches.empty()) return unsupported();
  choice.implementation = "copy";
  choice.output_layouts = {layout};
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
